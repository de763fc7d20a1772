// Read open_checkpoint first; `remembered` describes the missing parts.

#include "slave/shell/checkpoint.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <sys/stat.h>

#include "common/check.h"
#include "common/text.h"
#include "proto/codec/records.h"

namespace proffer::agent {
namespace {

// Also for a damaged log, without its unreadable parts.
Result<void> read_records(const std::vector<std::string>& all, bool is_damaged,
                          const std::string& path, AgentSnapshot& snapshot) {
  for (const std::string& bytes : all) {
    Result<proto::CheckpointRecord> record = proto::decode_record(bytes);
    if (record) {
      snapshot.records.push_back(*std::move(record));
    } else if (!is_damaged) {
      return std::move(record).error().in(text("reading ", path));
    }
  }
  return {};
}

Result<void> open_log(const std::string& path, Checkpoint& checkpoint) {
  Result<CheckpointLog::Opened> opened = CheckpointLog::open(path);
  if (opened || opened.error().code() != ErrorCode::kCorruption) {
    if (!opened) return std::move(opened).error();
    checkpoint.log = std::move(opened->log);
    if (opened->cut_bytes > 0) {
      LOG(WARNING) << "half-written end of the checkpoint cut off bytes=" << opened->cut_bytes
                   << " file=" << path;
      checkpoint.remembered = Remembered::kToItsEnd;
    }
    return read_records(opened->records, false, path, checkpoint.snapshot);
  }
  LOG(ERROR) << "the checkpoint is damaged; the agent continues with the readable part, and the "
                "damaged file is kept for inspection: "
             << opened.error().message();
  checkpoint.remembered = Remembered::kWithGaps;
  opened = CheckpointLog::open(path);
  if (!opened) return std::move(opened).error();
  checkpoint.log = std::move(opened->log);
  const Result<std::vector<std::string>> left = CheckpointLog::salvage(path);
  return left ? read_records(*left, true, path, checkpoint.snapshot) : Result<void>();
}

// As the second file has it: a loss is noted in the log alone.
std::string kept_bytes(proto::AgentIdentity identity) {
  identity.records = 0;
  identity.remembered = Remembered::kAll;
  return proto::encode_record(identity);
}

struct IdentityFile {
  std::unique_ptr<CheckpointLog> file = {};
  std::vector<proto::AgentIdentity> identities = {};
};

Result<IdentityFile> open_identity(const std::string& path) {
  Result<CheckpointLog::Opened> opened = CheckpointLog::open(path);
  if (!opened && opened.error().code() == ErrorCode::kCorruption) {
    LOG(WARNING) << "the file of the agent's identity is damaged: " << opened.error().message();
    opened = CheckpointLog::open(path);
  }
  if (!opened) return std::move(opened).error();
  IdentityFile file{.file = std::move(opened->log)};
  for (const std::string& bytes : opened->records) {
    Result<proto::CheckpointRecord> record = proto::decode_record(bytes);
    if (!record) return std::move(record).error().in(text("reading ", path));
    auto* const identity = std::get_if<proto::AgentIdentity>(&*record);
    if (identity != nullptr) file.identities.push_back(std::move(*identity));
  }
  return file;
}

// If one of the two files has lost the identity, it gets the other's. Returns whether the log has
// lost it: the snapshot has it then, and the log does not have it yet.
bool compare_identities(const std::string& path, const std::vector<proto::AgentIdentity>& kept,
                        Checkpoint& checkpoint) {
  const proto::AgentIdentity* named = nullptr;
  for (const proto::CheckpointRecord& record : checkpoint.snapshot.records) {
    if (const auto* identity = std::get_if<proto::AgentIdentity>(&record)) named = identity;
  }
  if (named != nullptr) {
    const std::string known = kept_bytes(*named);
    if (kept.size() == 1 && kept_bytes(kept.front()) == known) return false;
    LOG(WARNING) << "the file of the agent's identity is missing, empty or older: it is written "
                    "again from the checkpoint file="
                 << path;
    // The checkpoint has it, so the agent may start on a full disk.
    const Result<void> written = keep_identity(*checkpoint.identity, {known});
    if (!written) {
      LOG(ERROR) << "the second file of the agent's identity cannot be written: "
                 << written.error().message();
    }
    return false;
  }
  if (kept.empty()) return false;
  LOG(WARNING) << "the checkpoint has lost the agent's identity, which is read from " << path;
  checkpoint.snapshot.records.insert(checkpoint.snapshot.records.begin(), kept.front());
  return true;
}

// "BOOT DEVICE:INODE": as the first word, the boot.
std::string_view boot_of(std::string_view place) { return place.substr(0, place.find(' ')); }

// Two agents with one work directory would both adopt its executors.
Result<void> refuse_copy(const AgentSnapshot& snapshot, const std::string& work_dir,
                         const std::string& place) {
  std::string_view known;
  for (const proto::CheckpointRecord& record : snapshot.records) {
    if (const auto* identity = std::get_if<proto::AgentIdentity>(&record)) known = identity->place;
  }
  if (known.empty() || known == place || boot_of(known) != boot_of(place)) return {};
  return Error::failed_precondition(text("the work directory ", quoted(work_dir),
                                         " is a copy of the work directory of another agent that "
                                         "has run since this machine was started"))
      .with_hint(
          "start the agent in the original directory; or remove checkpoint.log and identity from "
          "this one, and start the agent as a new one, with another --name if the original runs");
}

// Without the records that could not be read, and with a note of the loss: a crash before the core
// has acted on it does not hide it.
Result<void> renew(Checkpoint& checkpoint) {
  std::vector<std::string> records;
  for (const proto::CheckpointRecord& record : checkpoint.snapshot.records) {
    records.push_back(proto::encode_record(record));
  }
  Result<void> renewed = checkpoint.log->renew(records);
  if (renewed) renewed = checkpoint.log->sync();
  const bool is_full = !renewed && renewed.error().code() == ErrorCode::kResourceExhausted;
  if (!is_full || checkpoint.remembered == Remembered::kWithGaps) return renewed;
  // Records that a crash has cut were not acted on, and the agent must start on a full disk, too.
  LOG(WARNING) << "the cut checkpoint cannot be renewed and stays marked: "
               << renewed.error().message();
  return {};
}

Result<void> append_identity(Checkpoint& checkpoint) {
  const Result<void> written =
      checkpoint.log->append({proto::encode_record(checkpoint.snapshot.records.front())});
  return written ? checkpoint.log->sync() : written;
}

}  // namespace

Result<Checkpoint> open_checkpoint(const std::string& work_dir, uint64_t newest_run,
                                   const std::string& place) {
  Checkpoint checkpoint;
  if (Result<void> read = open_log(work_dir + "/checkpoint.log", checkpoint); !read) {
    return std::move(read).error();
  }
  AgentSnapshot& snapshot = checkpoint.snapshot;
  const std::string gap = take_gap(snapshot, newest_run);
  if (checkpoint.remembered != Remembered::kWithGaps && !gap.empty()) {
    LOG(ERROR) << gap
               << "; the agent ends tasks and executors that it does not name file=" << work_dir
               << "/checkpoint.log";
    checkpoint.remembered = Remembered::kWithGaps;
  }
  if (Result<void> same = refuse_copy(snapshot, work_dir, place); !same) {
    return std::move(same).error();
  }
  const std::string identity_path = work_dir + "/identity";
  Result<IdentityFile> kept = open_identity(identity_path);
  if (!kept) return std::move(kept).error();
  checkpoint.identity = std::move(kept->file);
  const bool has_lost_identity = compare_identities(identity_path, kept->identities, checkpoint);
  const bool is_loss_new = checkpoint.remembered != Remembered::kAll;
  checkpoint.remembered = note_loss(snapshot, checkpoint.remembered);
  Result<void> written = is_loss_new         ? renew(checkpoint)
                         : has_lost_identity ? append_identity(checkpoint)
                                             : Result<void>();
  if (!written) return std::move(written).error();
  return checkpoint;
}

bool names_former_executors(const AgentSnapshot& snapshot) {
  return std::any_of(snapshot.records.begin(), snapshot.records.end(),
                     [](const proto::CheckpointRecord& record) {
                       const auto* executor = std::get_if<proto::ExecutorRecord>(&record);
                       return executor != nullptr && executor->user.empty();
                     });
}

Result<void> keep_identity(CheckpointLog& file, const std::vector<std::string>& records) {
  if (Result<void> written = file.rewrite(records); !written) return written;
  return file.sync();
}

std::string place_of(const std::string& directory, const std::string& boot_id) {
  struct stat found {};
  if (stat(directory.c_str(), &found) != 0) return {};
  return text(boot_id, " ", found.st_dev, ":", found.st_ino);
}

}  // namespace proffer::agent
