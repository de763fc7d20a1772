#pragma once

// Files of other systems that are given as a job file or an app file: scripts of Slurm, PBS and
// others, HCL of Nomad, manifests of Kubernetes, files of docker compose, JSON of Marathon and
// Chronos. The errors name the system, and how the same is written here.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "yaml/document.h"

namespace proffer::yaml {

enum class FileFor : uint8_t { kJob, kApp };

// Before the text is parsed: a script, or HCL. Errors: kInvalidArgument with the line.
Result<void> check_is_yaml(std::string_view whole, FileFor what);

// A document that is the file of another system as a whole. Errors: kInvalidArgument.
Result<void> check_is_ours(const Node& document, FileFor what);

// How an unknown key of a table is called here, as in "write instances: NUMBER"; empty if no other
// system is known to have it, or none of `keys` does its work.
std::string way_of_key(std::string_view key, const std::vector<std::string_view>& keys);

}  // namespace proffer::yaml
