#pragma once

// Variables of Slurm, PBS, LSF, Nomad, Mesos, Marathon and Kubernetes in commands: they are empty
// in a task of Proffer, and the command goes on with an empty word.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace proffer {

// For each such variable that `command` names, as $NAME or ${NAME…}, once, what has its value here:
// "$SLURM_ARRAY_TASK_ID is a variable of Slurm: here it is $PROFFER_ARRAY_INDEX". Variables for
// which `is_set` is true are left out.
std::vector<std::string> foreign_variables(
    std::string_view command, const std::function<bool(const std::string& name)>& is_set);

}  // namespace proffer
