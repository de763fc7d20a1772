#include "common/foreign_variables.h"

#include <algorithm>

#include "common/text.h"

namespace proffer {
namespace {

struct Row {
  std::string_view names;  // with commas between them; one that ends with _ begins a name
  std::string_view here;
};

constexpr std::string_view kIndex = "$PROFFER_ARRAY_INDEX, and {} in the words of the command";
constexpr std::string_view kPort = "$PORT_NAME, for each NAME in `ports`";

constexpr Row kRows[] = {
    {"SLURM_ARRAY_TASK_ID,PBS_ARRAY_INDEX,PBS_ARRAYID,SGE_TASK_ID,LSB_JOBINDEX,"
     "JOB_COMPLETION_INDEX,PARALLEL_SEQ",
     kIndex},
    {"SLURM_PROCID,PMI_RANK,PMIX_RANK,OMPI_COMM_WORLD_RANK", "$PROFFER_RANK, of a gang"},
    {"SLURM_NTASKS,SLURM_NPROCS,OMPI_COMM_WORLD_SIZE", "$PROFFER_SIZE, of a gang"},
    {"SLURM_JOB_NODELIST,SLURM_NODELIST,PBS_NODEFILE,LSB_HOSTS", "$PROFFER_HOSTS, of a gang"},
    {"SLURM_JOB_ID,SLURM_JOBID,SLURM_ARRAY_JOB_ID,PBS_JOBID,LSB_JOBID,NOMAD_ALLOC_ID,"
     "MESOS_TASK_ID",
     "$PROFFER_TASK_ID"},
    {"SLURMD_NODENAME,NOMAD_NODE_NAME,MESOS_AGENT_ENDPOINT", "$PROFFER_AGENT"},
    {"SLURM_RESTART_COUNT", "$PROFFER_ARRAY_ATTEMPT, of an array"},
    {"SLURM_TMPDIR,NOMAD_TASK_DIR,NOMAD_ALLOC_DIR,MESOS_SANDBOX,MESOS_DIRECTORY",
     "$PROFFER_SANDBOX"},
    {"NOMAD_SECRETS_DIR", "the files of `secrets`"},
    {"SLURM_SUBMIT_DIR,PBS_O_WORKDIR,LS_SUBCWD", "the working directory, where the command begins"},
    {"SLURM_CPUS_PER_TASK,SLURM_CPUS_ON_NODE,PBS_NCPUS,NCPUS,MARATHON_APP_RESOURCE_CPUS",
     "what the command's resources say"},
    {"SLURM_MEM_PER_NODE,SLURM_MEM_PER_CPU,NOMAD_MEMORY_LIMIT,MARATHON_APP_RESOURCE_MEM",
     "what the command's resources say"},
    {"NOMAD_PORT_,NOMAD_HOST_PORT_,PORT0,PORT1,PORT2,PORT3,PORTS", kPort},
    {"NOMAD_ADDR_,NOMAD_IP_", "`find`, which gives $PROFFER_SERVICE_NAME for an app NAME"},
    {"MARATHON_APP_ID,NOMAD_JOB_NAME,NOMAD_GROUP_NAME,NOMAD_TASK_NAME", "the app's name"},
};

constexpr std::pair<std::string_view, std::string_view> kSystems[] = {
    {"SLURM", "Slurm"},        {"PBS_", "PBS"},
    {"SGE_", "Grid Engine"},   {"LS", "LSF"},
    {"NOMAD_", "Nomad"},       {"MESOS_", "Mesos"},
    {"MARATHON_", "Marathon"}, {"PORT", "Marathon"},
    {"JOB_", "Kubernetes"},    {"PARALLEL_", "GNU parallel"},
    {"NCPUS", "PBS"}};

std::string_view here_for(std::string_view name) {
  for (const Row& row : kRows) {
    for (const std::string_view one : split(row.names, ',')) {
      if (name == one || (one.ends_with('_') && name.starts_with(one) && name != one)) {
        return row.here;
      }
    }
  }
  return {};
}

std::string_view system_of(std::string_view name) {
  for (const auto& [begin, system] : kSystems) {
    if (name.starts_with(begin)) return system;
  }
  return "MPI";
}

bool is_of_name(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::vector<std::string> foreign_variables(
    std::string_view command, const std::function<bool(const std::string& name)>& is_set) {
  std::vector<std::string> told;
  for (size_t at = command.find('$'); at != command.npos; at = command.find('$', at)) {
    ++at;
    if (at < command.size() && command[at] == '{') ++at;
    size_t end = at;
    while (end < command.size() && is_of_name(command[end])) ++end;
    const std::string name(command.substr(at, end - at));
    at = end;
    const std::string_view here = here_for(name);
    if (here.empty() || is_set(name)) continue;
    std::string one =
        text("$", name, " is a variable of ", system_of(name), " and empty here: use ", here);
    if (std::find(told.begin(), told.end(), one) == told.end()) told.push_back(std::move(one));
  }
  return told;
}

}  // namespace proffer
