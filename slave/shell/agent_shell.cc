// The handling of an event: one step of the core, its records are written, its actions are carried
// out. Read Impl::step first. Actions follow only written records: if the checkpoint fails, the
// process ends before the actions of that step, and the next life continues from the disk.

#include "slave/shell/agent_shell.h"

#include <deque>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>

#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/local_server.h"
#include "net/metrics_page.h"
#include "net/randomness.h"
#include "net/shared_memory.h"
#include "net/trace_log.h"
#include "net/users.h"
#include "proto/codec/codec.h"
#include "proto/json/json.h"
#include "slave/executor/task_environment.h"
#include "slave/shell/agent_http.h"
#include "slave/shell/agent_report.h"
#include "slave/shell/checkpoint.h"
#include "slave/shell/checkpoint_writer.h"
#include "slave/shell/descriptors.h"
#include "slave/shell/disk_limits.h"
#include "slave/shell/disk_reserve.h"
#include "slave/shell/exec_server.h"
#include "slave/shell/fetches.h"
#include "slave/shell/file_access.h"
#include "slave/shell/file_cache.h"
#include "slave/shell/file_policy.h"
#include "slave/shell/gpus.h"
#include "slave/shell/isolator.h"
#include "slave/shell/machine.h"
#include "slave/shell/master_link.h"
#include "slave/shell/processes.h"
#include "slave/shell/sandboxes.h"
#include "slave/shell/supervisor.h"
#include "store/directory_lock.h"

namespace proffer::agent {
namespace {

// The interval of checks for disk space, in normal operation and while a step waits for it.
constexpr Duration kDiskPoll = seconds(2);
constexpr Duration kFullDiskPoll = seconds(1);
constexpr size_t kWaitingEventsMax = 10'000;  // while the disk is full; beyond it the agent ends
constexpr size_t kSpareConnections = 8;       // for a user with executors

}  // namespace

struct AgentShell::Impl {
  explicit Impl(Loop& l) : loop(l) {}

  Loop& loop;
  AgentShellOptions options;
  std::optional<DirectoryLock> lock;
  std::unique_ptr<Sandboxes> sandboxes;
  RunsInUse in_use;
  DiskLimits disk_limits;
  std::unique_ptr<Isolator> isolator;
  std::unique_ptr<Supervisor> supervisor;
  std::unique_ptr<FileCache> cache;
  std::unique_ptr<Fetches> fetches;
  // Running executors find the socket of the next life at its path.
  std::unique_ptr<LocalServer> executors;
  std::unique_ptr<AgentHttp> http;
  std::unique_ptr<FileAccess> access;
  std::unique_ptr<ExecServer> execs;
  std::unique_ptr<Agent> core;
  std::unique_ptr<Housekeeping> housekeeping;
  std::unique_ptr<DiskWatch> disk_watch;
  std::unique_ptr<Timer> timer;
  std::unique_ptr<DiskReserve> reserve;
  std::unique_ptr<CheckpointWriter> checkpoint;  // no step is taken while it waits for disk space
  std::unique_ptr<Timer> disk_timer;
  bool disk_is_low = false;
  bool is_address_written = false;
  std::unique_ptr<MasterLink> link;
  std::string socket;
  DescriptorShares shares;
  executor::Gpus gpus;  // those of this machine that are in --resources
  bool has_own_memory = false;
  Result<void> outcome;

  proto::Encoder encoder;
  AgentOutbox out;
  TraceLog trace;
  std::deque<AgentEvent> events;
  bool stepping = false;
  bool has_adopted = false;
  bool over = false;
  std::shared_ptr<bool> is_there = std::make_shared<bool>(true);  // used in the loop's thread only
  uint64_t out_of_memory_seen = 0;

  Result<void> start(AgentShellOptions given);
  Result<void> bind();
  size_t connections_of(uint32_t uid) const;
  Result<void> isolate();
  void know_resources();
  void watch_disk();
  // All limits on tasks, by the kernel and by the agent itself.
  std::string limits_words() const;
  FilePolicy file_policy() const {
    return {.agent_uid = geteuid(), .operators_group = options.operators_group};
  }
  Result<void> serve();
  // The address of this agent's files for the machine of its master. On another machine the path of
  // a socket has no meaning.
  std::string files_address() const { return options.keys ? std::string() : http->address(); }
  Result<void> serve_execs();
  Result<pid_t> exec(const ExecRequest& request, const PrincipalPtr& by,
                     std::span<const int> streams);
  void connect();

  void handle(AgentEvent event);
  void step(const AgentEvent& event);
  void carry_out();
  bool persist();
  bool is_written(const Result<bool>& written);
  void end_for_disk(std::string_view what, const Error& why);
  void look_at_disk();
  void write_address();
  void follow(const proto::CheckpointRecord& record);
  void recall(const proto::CheckpointRecord& record);
  void assign(const FrameworkId& framework, std::string_view name, const ExecutorId& executor,
              uint64_t run);
  void end(Result<void> why);

  std::optional<std::span<const std::byte>> encode(const proto::Envelope& envelope);
  void on(const SendToMaster& send) {
    if (const auto frame = encode(send.envelope)) link->send(*frame);
  }
  void on(const ResetMaster&) { link->reset("asked by the core"); }
  void on(const SendToExecutor& send) {
    if (const auto frame = encode(send.envelope)) executors->send(send.peer, *frame);
  }
  void on(const DropExecutorPeer& drop) { executors->drop(drop.peer); }
  void on(const StartExecutor& start);
  void on(const AdoptExecutor& adopt);
  void on(const LimitExecutor& limit) { supervisor->limit(limit); }
  void on(const FetchFiles& fetch) { fetches->start(fetch); }
  void on(const RemoveSandboxes& removal) {
    housekeeping->remove_released(removal.framework, removal.begins);
  }
  void on(const KillExecutor& kill) {
    supervisor->kill(kill);
    fetches->stop(kill);
  }
  void on(const EndLeftover& leftover) { supervisor->end_leftover(leftover.executor); }
  void on(const Exit& exit);

  void on_message(proto::Envelope envelope);
  void on_executor_frame(PeerId peer, std::span<const std::byte> frame);
  void on_request(const HttpRequest& request, HttpResponder responder);
  AgentParts parts() const;
};

// --- start -------------------------------------------------------------------------------------

Result<void> AgentShell::Impl::start(AgentShellOptions given) {
  options = std::move(given);
  const size_t limit = options.descriptors.now;
  shares =
      descriptor_shares(limit > 0 ? limit : std::numeric_limits<int>::max(), kHttpConnectionsMax);
  Result<DirectoryLock> taken = DirectoryLock::take(options.work_dir);
  if (!taken) return std::move(taken).error();
  lock.emplace(*std::move(taken));
  std::error_code failed;
  options.work_dir = std::filesystem::canonical(options.work_dir, failed).string();
  if (failed) return Error::unavailable(text("the work directory: ", failed.message()));

  reserve = std::make_unique<DiskReserve>(options.work_dir, options.housekeeping.disk_reserve);
  if (reserve->look().is_low && reserve->give_up()) {
    LOG(WARNING) << "the disk of the work directory is full; the space reserved for the checkpoint "
                    "is released, so that the agent can start";
  }
  disk_timer = std::make_unique<Timer>(loop, [this] { look_at_disk(); });
  sandboxes = std::make_unique<Sandboxes>(options.work_dir);
  options.core.boot_id = boot_id();
  options.core.place = place_of(options.work_dir, options.core.boot_id);
  options.core.newest_run = sandboxes->newest_run();
  Result<Checkpoint> found =
      open_checkpoint(options.work_dir, options.core.newest_run, options.core.place);
  if (!found) return std::move(found).error();
  checkpoint = std::make_unique<CheckpointWriter>(std::move(found->log), std::move(found->identity),
                                                  *reserve);
  options.core.remembered = found->remembered;
  const AgentSnapshot& snapshot = found->snapshot;
  for (const proto::CheckpointRecord& record : snapshot.records) {
    const auto* identity = std::get_if<proto::AgentIdentity>(&record);
    if (identity == nullptr || identity->agent == options.core.name) continue;
    return Error::failed_precondition(text("the work directory ", quoted(options.work_dir),
                                           " belongs to agent ", quoted(identity->agent.str()),
                                           ", not to ", quoted(options.core.name.str())))
        .with_hint(text("use --name=", identity->agent.str(), " or another --work_dir"));
  }

  options.core.user = user_name(geteuid());
  options.core.is_root = geteuid() == 0;
  if (Result<void> opened = let_others_pass(options.work_dir); !opened) return opened;
  know_resources();
  Result<std::string> path = executor_socket(options.work_dir);
  if (!path) return std::move(path).error();
  socket = *std::move(path);
  if (Result<void> bound = bind(); !bound) return bound;
  lead_former_executors(options.work_dir, socket, names_former_executors(snapshot));
  if (Result<void> isolated = isolate(); !isolated) return isolated;
  supervisor = std::make_unique<Supervisor>(
      loop, *sandboxes, *isolator,
      Supervisor::Options{.agent = options.core.name,
                          .user = options.core.user,
                          .socket = socket,
                          .http_address = http->address(),
                          .https_address = options.core.files.address,
                          .bin_dir = bin_dir(),
                          .work_dir = options.work_dir,
                          .descriptors = options.descriptors.at_start,
                          .gpus = gpus,
                          .has_own_memory = has_own_memory},
      Supervisor::Handlers{
          .on_exited =
              [this](const ExecutorExited& exited) {
                if (exited.out_of_memory) ++out_of_memory_seen;
                handle(exited);
              },
          .on_fetch_ended = [this](const ExecutorExited& exited) { fetches->ended(exited); },
          .on_leftover_ended = [this](const LeftoverEnded& ended) { handle(ended); },
          .on_exec_ended = [this](pid_t pid, int status) { execs->ended(pid, status); }});

  const int64_t to_stay_free = options.housekeeping.disk_reserve;
  cache = std::make_unique<FileCache>(
      options.work_dir,
      FileCache::Options{.bytes_max = options.cache_max, .disk_reserve = to_stay_free});
  fetches = std::make_unique<Fetches>(
      loop, *supervisor, *cache,
      Fetches::Options{.bytes_max = options.fetch_max, .disk_reserve = to_stay_free},
      Fetches::Handlers{.on_fetched = [this](const FilesFetched& fetched) { handle(fetched); },
                        .on_exited = [this](const ExecutorExited& exited) { handle(exited); }});

  options.core.http_address = files_address();
  options.core.executors_max = shares.executors;
  options.core.reuses_executors = isolator->hands_over();
  options.core.checkpoint = checkpoint->mark();
  options.core.fresh_secret = random_secret();
  options.core.seed = static_cast<uint64_t>(getpid());
  options.core.ports_in_use = ports_in_use(options.core.total.ports);
  if (Result<std::vector<Slice>> slices = to_slices(options.core.total, options.core.reserved);
      !slices) {
    return std::move(slices).error().in("--reserved");
  }
  core = std::make_unique<Agent>(options.core, snapshot);
  for (const proto::CheckpointRecord& record : snapshot.records) recall(record);
  if (Result<void> serving = serve_execs(); !serving) return serving;
  options.housekeeping.sockets = std::filesystem::path(socket).parent_path();
  options.housekeeping.make_room = [this] { cache->make_room(); };
  housekeeping =
      std::make_unique<Housekeeping>(options.work_dir, *sandboxes, in_use, options.housekeeping);
  if (options.limits != LimitsWanted::kNone) watch_disk();
  timer = std::make_unique<Timer>(loop, [this] { handle(Tick{}); });
  timer->arm(core->next_deadline());
  write_address();
  look_at_disk();
  connect();
  LOG(INFO) << "agent serves agent=" << options.core.name.str() << " http=" << http->address()
            << " http_port=" << http->port() << " https=" << options.core.files.address
            << " resources=\"" << print_agent_resources(options.core.total)
            << "\" master=" << to_text(options.masters) << " executors_max=" << shares.executors
            << " limits=\"" << limits_words() << '"';
  return {};
}

// It contains the addresses for people and tools. If it cannot be written because the disk is full,
// the agent serves anyway.
void AgentShell::Impl::write_address() {
  const Result<void> written =
      write_file_atomically(options.work_dir + "/address.json",
                            proto::json_line({{"agent", options.core.name.str()},
                                              {"http", http->address()},
                                              {"http_port", http->port()},
                                              {"https", options.core.files.address},
                                              {"socket", socket},
                                              {"pid", static_cast<int64_t>(getpid())}}) +
                                "\n");
  is_address_written = written.has_value();
  if (!written) LOG(WARNING) << written.error().message() << "; tried again later";
}

Result<void> AgentShell::Impl::bind() {
  Result<std::unique_ptr<LocalServer>> bound = LocalServer::bind(
      loop, socket,
      {.on_frame = [this](PeerId peer,
                          std::span<const std::byte> frame) { on_executor_frame(peer, frame); },
       .on_lost = [this](PeerId peer, PeerLoss) { handle(ExecutorPeerLost{peer}); }},
      {.peers_max = shares.executor_peers,
       .connections_of = options.core.is_root ? [this](uint32_t uid) { return connections_of(uid); }
                                              : std::function<size_t(uint32_t)>()});
  if (!bound) return std::move(bound).error();
  executors = *std::move(bound);
  return serve();
}

// The running executors of a user may connect, and each may be replaced by a new connection. There
// is no more room, so that no user can displace the executors of others.
size_t AgentShell::Impl::connections_of(uint32_t uid) const {
  const size_t runs = supervisor == nullptr ? 0 : supervisor->runs_of(uid);
  return runs == 0 ? 0 : 2 * runs + kSpareConnections;
}

std::string AgentShell::Impl::limits_words() const {
  if (options.limits == LimitsWanted::kNone) return isolator->words();
  return text("disk (measured each second)", has_own_memory ? ", shared memory" : "",
              isolator->is_enforcing() ? ", " : "; ", isolator->words());
}

// Calls from its thread after the end of this object are ignored.
void AgentShell::Impl::watch_disk() {
  disk_watch = std::make_unique<DiskWatch>(
      *sandboxes, disk_limits,
      [this, there = std::weak_ptr<bool>(is_there)](const DiskWatch::Over& found) {
        loop.post([this, there, found] {
          if (there.expired()) return;
          handle(OutOfDisk{.framework = found.limit.framework,
                           .task = found.limit.task,
                           .run = found.run,
                           .bytes = found.bytes,
                           .limit_bytes = found.limit.bytes});
        });
      });
}

// Called before anything is started, since it waits for a child.
void AgentShell::Impl::know_resources() {
  gpus = find_gpus();
  Resources& total = options.core.total;
  if (!options.resources) {
    total = detect_resources(options.work_dir, options.system_reserved.value_or(system_reserve()));
    return add_gpus(gpus, total);
  }
  total = *options.resources;
  const bool are_known = !gpus.empty();
  for (const GpuDevice& device : total.gpus) {
    const bool is_new = gpus.try_emplace(device.index).second;
    if (is_new && are_known) {
      LOG(WARNING) << "--resources names a GPU that this machine does not have index="
                   << device.index;
    }
  }
}

// Called before anything is started.
Result<void> AgentShell::Impl::isolate() {
  GroupOptions groups = options.groups;
  groups.agent = hash_of(options.work_dir);
  groups.files_kept_max = shares.group_files;
  groups.agent_cpus_milli = options.core.total.amounts[ResourceKind::kCpus];
  groups.gpu_minors = minors_of(gpus);
  groups.memory_bytes = bytes_for_tasks(options.system_reserved.value_or(system_reserve()));
  Result<std::unique_ptr<Isolator>> chosen = Isolator::choose(options.limits, groups);
  if (!chosen) return std::move(chosen).error();
  isolator = *std::move(chosen);
  has_own_memory = isolator->is_enforcing() && can_have_own_shared_memory();
  options.core.limits = limits_words().substr(0, kLimitsTextBytesMax);
  return {};
}

Result<void> AgentShell::Impl::serve() {
  Result<std::unique_ptr<AgentHttp>> listening = AgentHttp::listen(
      loop,
      {.agent = options.core.name.str(),
       .socket = socket,
       .directory = options.work_dir,
       .port = options.http_port,
       .names = options.http_names,
       .https_port = options.https_port,
       .https_host = options.https_host,
       .masters = options.masters,
       .connections_max = shares.http_connections},
      {.on_request = [this](const HttpRequest& request,
                            HttpResponder responder) { on_request(request, std::move(responder)); },
       .resolve = [this, policy = file_policy()](std::string_view rest,
                                                 const PrincipalPtr& by) -> Result<ServedPath> {
         Result<ServedPath> served = sandboxes->resolve(rest);
         return served ? serve_to(policy, by, *std::move(served), rest) : std::move(served);
       },
       .on_refused =
           [this](RefusedBearer refused) {
             trace.write({std::move(refused)}, loop.now().nanos() / 1'000'000'000);
           }});
  if (!listening) return std::move(listening).error();
  http = *std::move(listening);
  options.core.files = http->files();
  return {};
}

Result<void> AgentShell::Impl::serve_execs() {
  Result<std::unique_ptr<ExecServer>> bound = ExecServer::bind(
      loop, exec_socket_beside(http->address()),
      {.start = [this](const ExecRequest& request, const PrincipalPtr& by,
                       std::span<const int> streams) { return exec(request, by, streams); },
       .signal = [this](pid_t pid, int signal) { supervisor->signal_exec(pid, signal); },
       .kill = [this](pid_t pid) { supervisor->end_exec(pid); }});
  if (!bound) return std::move(bound).error();
  execs = *std::move(bound);
  return {};
}

Result<pid_t> AgentShell::Impl::exec(const ExecRequest& request, const PrincipalPtr& by,
                                     std::span<const int> streams) {
  const Result<RunningTask> task = core->running_task(request.framework, request.task);
  if (!task) return task.error();
  const Result<uint32_t> uid = supervisor->uid_of(*task);
  if (!uid) return uid.error();
  if (Result<void> may =
          permit(file_policy(), by.get(), *uid, "run a command in a task of another user",
                 text(request.framework.str(), "/", request.task.str()));
      !may) {
    return std::move(may).error();
  }
  const executor::Surroundings around{.sandbox = supervisor->sandbox_of(*task),
                                      .agent = options.core.name.str(),
                                      .user = supervisor->name_of(*uid),
                                      .gpus = gpus};
  return supervisor->exec(
      {.task = *task,
       .command = request.command,
       .environment = task_environment(task->framework, task->spec, task->assignment, around),
       .is_terminal = request.is_terminal,
       .streams = streams});
}

void AgentShell::Impl::connect() {
  const MasterReach reach{
      .masters = options.masters,
      .keys = options.keys,
      .keys_now = options.keys_now,
      .may_serve = [trusted = options.master_uid](
                       uint32_t uid) { return uid == 0 || uid == geteuid() || uid == trusted; },
      .seed = options.core.seed};
  access = std::make_unique<FileAccess>(loop, reach);
  link = std::make_unique<MasterLink>(
      loop, reach,
      MasterLink::Handlers{
          .on_connected = [this] { handle(MasterConnected{http->https_address()}); },
          .on_message = [this](proto::Envelope envelope) { on_message(std::move(envelope)); },
          .on_disconnected = [this] { handle(MasterDisconnected{}); }});
}

// --- steps -------------------------------------------------------------------------------------

// If an action causes an event, that event is handled after the step.
void AgentShell::Impl::handle(AgentEvent event) {
  events.push_back(std::move(event));
  if (stepping) return;
  stepping = true;
  while (!events.empty() && !over && !checkpoint->is_waiting()) {
    const AgentEvent next = std::move(events.front());
    events.pop_front();
    step(next);
  }
  stepping = false;
  if (checkpoint->is_waiting() && events.size() > kWaitingEventsMax) {
    end(Error::resource_exhausted("the disk of the work directory is full"));
  }
  if (!over && !checkpoint->is_waiting()) timer->arm(core->next_deadline());
}

void AgentShell::Impl::step(const AgentEvent& event) {
  out.clear();
  const Time now = loop.now();
  core->handle(event, now, out);
  trace.write(out.trace, now.nanos() / 1'000'000'000);
  if (persist()) carry_out();
}

void AgentShell::Impl::carry_out() {
  for (const AgentAction& action : out.actions) {
    std::visit([this](const auto& one) { on(one); }, action);
  }
  // The first step adopts executors.
  if (!std::exchange(has_adopted, true)) supervisor->adopted_all();
}

// Called before messages and actions. If the checkpoint cannot be written, the agent ends, since it
// must not act on unrecorded state. It does wait for disk space.
bool AgentShell::Impl::persist() {
  if (out.records.empty()) return true;
  for (const proto::CheckpointRecord& record : out.records) follow(record);
  return is_written(checkpoint->write(out.records, out.sync));
}

bool AgentShell::Impl::is_written(const Result<bool>& written) {
  if (!written) {
    end_for_disk("written", written.error());
  } else if (!*written) {
    disk_timer->arm(loop.now() + kFullDiskPoll);
  } else if (Result<void> done =
                 checkpoint->compact([this] { return core->snapshot(); }, loop.now());
             !done) {
    end_for_disk("rewritten", done.error());
  }
  return !over && !checkpoint->is_waiting();
}

void AgentShell::Impl::end_for_disk(std::string_view what, const Error& why) {
  LOG(ERROR) << "the checkpoint cannot be " << what
             << ", the agent ends (its tasks run on until it is started again); make room or "
                "correct the disk, then start it: "
             << why.message();
  end(why);
}

// If the disk has room again, carries out the waiting step, and then the queued events.
void AgentShell::Impl::look_at_disk() {
  const bool has_waited = checkpoint->is_waiting();
  if (has_waited) {
    if (!is_written(checkpoint->retry())) return;
    LOG(WARNING) << "the disk has room again, the agent continues";
    stepping = true;
    carry_out();
    stepping = false;
  }
  const DiskReserve::Space space = reserve->look();
  const bool is_low = space.is_low || space.is_low_on_files;
  if (!is_low) reserve->hold();
  if (!is_low && !is_address_written) write_address();
  // An event carries out the queued ones, and arms the core's timer again.
  if (std::exchange(disk_is_low, is_low) != is_low || has_waited) {
    handle(DiskSpace{.is_low = space.is_low,
                     .free_bytes = space.free_bytes,
                     .reserve_bytes = reserve->to_stay_free(),
                     .is_low_on_files = space.is_low_on_files,
                     .free_files = space.free_files,
                     .reserve_files = reserve->files_to_stay_free()});
  }
  if (!over && !checkpoint->is_waiting()) disk_timer->arm(loop.now() + kDiskPoll);
}

// Notes the facts about tasks that readers of files need: their runs, and whether files may still
// grow. The sandbox of an executor is noted when it is made.
void AgentShell::Impl::follow(const proto::CheckpointRecord& record) {
  in_use.follow(record);
  disk_limits.follow(record);
  if (const auto* task = std::get_if<proto::TaskRecord>(&record)) {
    sandboxes->task_began(task->framework, task->spec.id);
    if (task->executor.str() != task->spec.id.str()) {
      assign(task->framework, task->spec.id.str(), task->executor, task->run);
    }
  } else if (const auto* update = std::get_if<proto::UpdateRecord>(&record)) {
    if (proto::is_terminal(update->status.state)) {
      sandboxes->task_ended(update->framework, update->status.task);
      const auto run = in_use.run_of(update->framework, update->status.task);
      if (run && update->status.state == proto::TaskState::kFailed) sandboxes->note_failed(*run);
      if (http != nullptr) {
        http->followed_ended(
            Sandboxes::followed_name(update->framework.str(), update->status.task.str()));
      }
    }
  }
}

// Notes the facts of an earlier life, which may be missing after an upgrade or a power failure.
void AgentShell::Impl::recall(const proto::CheckpointRecord& record) {
  follow(record);
  if (const auto* task = std::get_if<proto::TaskRecord>(&record)) {
    assign(task->framework, task->spec.id.str(), task->executor, task->run);
  } else if (const auto* executor = std::get_if<proto::ExecutorRecord>(&record)) {
    assign(executor->framework, executor->executor.str(), executor->executor, executor->run);
  }
}

void AgentShell::Impl::assign(const FrameworkId& framework, std::string_view name,
                              const ExecutorId& executor, uint64_t run) {
  if (run == 0) return;  // it has not begun yet
  const Result<void> noted = sandboxes->assign(framework, name, executor, run);
  if (noted) return;
  LOG_EVERY_N(WARNING, 30) << noted.error().message();
}

void AgentShell::Impl::end(Result<void> why) {
  over = true;
  outcome = std::move(why);
  loop.stop();
}

// A message that cannot be sent leaves a gap in the sequence, which ends the session.
std::optional<std::span<const std::byte>> AgentShell::Impl::encode(
    const proto::Envelope& envelope) {
  const Result<std::span<const std::byte>> frame = encoder.encode(envelope);
  if (frame) return *frame;
  LOG(ERROR) << "cannot send " << proto::message_name(*envelope.message) << ": "
             << frame.error().message();
  return std::nullopt;
}

void AgentShell::Impl::on(const StartExecutor& start) {
  Result<std::optional<ExecutorStarted>> started = supervisor->start(start);
  if (!started) {
    handle(ExecutorStartFailed{start.framework, start.executor, start.run, started.error()});
  } else if (*started) {
    handle(**std::move(started));
  } else {
    handle(SpareRefused{start.framework, start.executor, start.run, *start.spare});
  }
}

void AgentShell::Impl::on(const AdoptExecutor& adopt) {
  if (std::optional<ExecutorStarted> found = supervisor->adopt(adopt.executor)) {
    handle(*std::move(found));
  }
}

void AgentShell::Impl::on(const Exit& exit) {
  end(exit.reason.empty() ? Result<void>() : Error::failed_precondition(exit.reason));
}

void AgentShell::Impl::on_message(proto::Envelope envelope) {
  MasterFrame event{.envelope = std::move(envelope)};
  if (const auto* run = std::get_if<proto::RunTask>(&*event.envelope.message)) {
    event.spare_token = random_secret();
    event.busy_ports = ports_in_use(run->assignment.resources.ports);
  }
  handle(std::move(event));
}

void AgentShell::Impl::on_executor_frame(PeerId peer, std::span<const std::byte> frame) {
  Result<proto::Envelope> envelope = proto::decode(frame);
  if (!envelope) {
    LOG_EVERY_N(WARNING, 30) << "malformed frame from an executor: " << envelope.error().message();
    executors->drop(peer);
    return handle(ExecutorPeerLost{peer});
  }
  ExecutorFrame event{.peer = peer, .envelope = *std::move(envelope)};
  if (std::holds_alternative<proto::ExecutorHello>(*event.envelope.message)) {
    const std::optional<uint32_t> uid = executors->uid_of(peer);
    if (uid) event.user = supervisor->name_of(*uid);
  } else if (const auto* told = std::get_if<proto::ExecutorUpdate>(&*event.envelope.message)) {
    // Only the kernel knows its resource use, and whether it was killed for lack of memory.
    const auto from = core->executor_of(peer);
    if (proto::is_terminal(told->status.state) && from) {
      const auto& [framework, executor] = *from;
      const bool is_failed = told->status.state == proto::TaskState::kFailed;
      const std::optional<GroupUsage> usage = is_failed ? supervisor->usage(framework, executor)
                                                        : supervisor->used(framework, executor);
      event.usage = final_usage(usage);
      if (is_failed) event.out_of_memory = out_of_memory(usage);
      if (event.out_of_memory) ++out_of_memory_seen;
    }
  }
  handle(std::move(event));
}

// --- HTTP --------------------------------------------------------------------------------------

AgentParts AgentShell::Impl::parts() const {
  return {.core = *core,
          .isolator = *isolator,
          .fetches = *fetches,
          .cache = *cache,
          .executors = *executors,
          .trace = trace,
          .checkpoint_bytes = checkpoint->bytes(),
          .connects_failed = link->attempts_failed(),
          .out_of_memory = out_of_memory_seen};
}

void AgentShell::Impl::on_request(const HttpRequest& request, HttpResponder responder) {
  if (request.path == "/healthz") return responder.respond_text(200, "ok\n");
  if (request.path == "/metrics") {
    return respond_metrics(loop, agent_metrics(parts(), wanted_format(request)),
                           std::move(responder));
  }
  if (request.path == "/v1/status" || request.path.starts_with(kUsagePath)) {
    const auto status = agent_status(*core, *supervisor, request.path);
    return responder.respond_json(200, proto::agent_status_json(status));
  }
  if (request.path.starts_with(kAccessPath)) {
    return answer_access(*access, request, std::move(responder));
  }
  responder.respond_json(
      404,
      proto::error_json(Error::not_found(text("there is nothing at ", quoted(request.path)))
                            .with_hint("try /v1/status, /v1/usage/<framework>, /healthz, /metrics, "
                                       "/v1/files/<framework>/<task>/<path>, /v1/access/…")));
}

// --- outside -----------------------------------------------------------------------------------

Result<std::unique_ptr<AgentShell>> AgentShell::start(Loop& loop, AgentShellOptions options) {
  auto impl = std::make_unique<Impl>(loop);
  if (Result<void> started = impl->start(std::move(options)); !started) {
    return std::move(started).error();
  }
  return std::unique_ptr<AgentShell>(new AgentShell(std::move(impl)));
}

AgentShell::AgentShell(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AgentShell::~AgentShell() = default;
void AgentShell::stop(bool kill_tasks) { impl_->handle(StopAsked{kill_tasks}); }
const Result<void>& AgentShell::outcome() const { return impl_->outcome; }

}  // namespace proffer::agent
