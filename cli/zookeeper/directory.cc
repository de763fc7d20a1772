// The files of `proffer zookeeper init` on disk. Read write_ensemble() first: it decides which
// files may be replaced.

#include "cli/zookeeper/directory.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "net/curve_keys.h"
#include "net/durable_files.h"
#include "net/fd.h"
#include "net/randomness.h"
#include "net/tls_identity.h"

namespace proffer::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFileBytesMax = 1 << 20;

Error cannot(std::string_view what, const std::string& path, int error) {
  return Error::unavailable(text("cannot ", what, " ", quoted(path), ": ", std::strerror(error)));
}

// Creates it with mode 0700, or keeps an existing one.
Result<void> make_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return cannot("make directory", path, errno);
}

Result<void> write_machine(const std::string& dir, const std::vector<MachineFile>& files) {
  if (Result<void> made = make_directory(dir); !made) return made;
  for (const MachineFile& each : files) {
    const std::string path = text(dir, "/", each.file.name);
    if (!each.file.is_private) {
      if (Result<void> written = write_file_durably(path, each.content, kPublicMode); !written) {
        return written;
      }
      continue;
    }
    const Result<std::optional<OpenedFile>> before = read_if_exists(path);
    if (!before) return before.error();
    if (*before && (*before)->bytes == each.content) continue;
    if (*before) {
      return Error::failed_precondition(
                 text(quoted(path), " differs from the file of the first machine"))
          .with_hint("all machines need the same; remove the wrong one, and run this again");
    }
    if (Result<void> made = make_file_durably(path, each.content, kPrivateMode); !made) return made;
  }
  return {};
}

}  // namespace

Result<std::optional<OpenedFile>> read_if_exists(const std::string& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (fd.get() < 0 && errno == ENOENT) return std::optional<OpenedFile>();
  struct stat found = {};
  if (fd.get() < 0 || fstat(fd.get(), &found) != 0) return cannot("open", path, errno);
  if (!S_ISREG(found.st_mode)) {
    return Error::failed_precondition(text(quoted(path), " is not a regular file"));
  }
  OpenedFile file{.bytes = std::string(kFileBytesMax + 1, '\0'), .mode = found.st_mode};
  const ssize_t got = pread(fd.get(), file.bytes.data(), file.bytes.size(), 0);
  if (got < 0) return cannot("read", path, errno);
  if (static_cast<size_t>(got) > kFileBytesMax) {
    return Error::corruption(text(quoted(path), " has more than ", kFileBytesMax, " bytes"));
  }
  file.bytes.resize(static_cast<size_t>(got));
  return std::optional(std::move(file));
}

Result<std::optional<Ensemble>> read_ensemble(const std::string& dir) {
  const Result<std::optional<OpenedFile>> file = read_if_exists(text(dir, "/", kEnsembleFile));
  if (!file) return file.error();
  if (*file) {
    Result<Ensemble> ensemble = parse_ensemble((*file)->bytes);
    if (!ensemble) return std::move(ensemble).error().in(text("reading ", dir));
    return std::optional(*std::move(ensemble));
  }
  std::error_code failed;
  const bool has_entries = fs::exists(dir, failed) && !fs::is_empty(dir, failed);
  if (failed) return cannot("read directory", dir, failed.value());
  if (!has_entries) return std::optional<Ensemble>();
  return Error::failed_precondition(
             text("directory ", quoted(dir), " is not empty, and has no complete cluster"))
      .with_hint("name a new directory with --dir; keys in this one are not overwritten");
}

Result<EnsembleSecrets> make_secrets(const std::string& master_key_file) {
  EnsembleSecrets secrets;
  const Result<TlsIdentity> quorum = make_tls_identity("zookeeper");
  if (!quorum) return quorum.error();
  secrets.quorum_pem = quorum->key_pem + quorum->certificate_pem;
  secrets.password = random_secret().str() + "\n";
  KeyPair master = make_key_pair();
  if (!master_key_file.empty()) {
    Result<KeyPair> given = read_key_file(master_key_file);
    if (!given) {
      return Error(given.error().code(), given.error().message())
          .with_hint(text("a master's key is ", kSetupMasterKey.place,
                          "; copy it for yourself first: sudo install -o $USER -m 600 FILE COPY"))
          .in("--master-key");
    }
    master = *std::move(given);
  }
  secrets.master_key = to_key_file_text(master);
  return secrets;
}

Result<EnsembleSecrets> read_secrets(const std::string& dir, const Ensemble& ensemble) {
  EnsembleSecrets secrets;
  for (const auto& [file, target] :
       {std::pair(kQuorumPem, &secrets.quorum_pem), std::pair(kPassword, &secrets.password),
        std::pair(kSetupMasterKey, &secrets.master_key)}) {
    Result<std::string> bytes =
        read_secret_file(text(dir, "/", ensemble.machines.front().host, "/", file.name));
    if (!bytes && bytes.error().code() == ErrorCode::kNotFound) {
      return std::move(bytes).error().with_hint(
          text("restore it from any machine of the cluster: ", file.place));
    }
    if (!bytes) return std::move(bytes).error();
    *target = *std::move(bytes);
  }
  return secrets;
}

// The record of the ensemble comes last: without it the directory is not complete.
Result<void> write_ensemble(const std::string& dir, const Ensemble& ensemble,
                            const EnsembleSecrets& secrets) {
  std::error_code failed;
  const std::string parent = fs::path(dir).parent_path().string();
  if (!parent.empty() && !fs::is_directory(parent, failed)) {
    return Error::not_found(text("there is no directory ", quoted(parent)))
        .with_hint("--dir makes one directory, in one that exists");
  }
  if (Result<void> made = make_directory(dir); !made) return made;
  for (const EnsembleMachine& machine : ensemble.machines) {
    if (Result<void> written =
            write_machine(text(dir, "/", machine.host), files_of(ensemble, machine, secrets));
        !written) {
      return written;
    }
  }
  return write_file_durably(text(dir, "/", kEnsembleFile), to_text(ensemble), kPublicMode);
}

}  // namespace proffer::cli
