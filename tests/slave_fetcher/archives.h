#pragma once

// Archives and folders for tests.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/check.h"
#include "net/fd.h"
#include "tests/support/temporary_directory.h"

namespace proffer::fetcher {

struct ArchiveItem {
  std::string path = {};
  std::string content = {};
  std::string link = {};       // target of a symbolic link
  std::string hard_link = {};  // target of a hard link
  int mode = 0644;
  int type = AE_IFREG;
};

// `format`: "tar", "tar.gz", "tar.bz2", "tar.xz", "tar.zst" or "zip".
inline void write_archive(const std::string& path, const std::string& format,
                          const std::vector<ArchiveItem>& items) {
  archive* const to = archive_write_new();
  if (format == "zip") {
    archive_write_set_format_zip(to);
  } else {
    archive_write_set_format_pax_restricted(to);
    if (format == "tar.gz") archive_write_add_filter_gzip(to);
    if (format == "tar.bz2") archive_write_add_filter_bzip2(to);
    if (format == "tar.xz") archive_write_add_filter_xz(to);
    if (format == "tar.zst") archive_write_add_filter_zstd(to);
  }
  CHECK(archive_write_open_filename(to, path.c_str()) == ARCHIVE_OK);
  for (const ArchiveItem& item : items) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, item.path.c_str());
    archive_entry_set_filetype(entry, static_cast<unsigned int>(item.type));
    archive_entry_set_perm(entry, static_cast<mode_t>(item.mode));
    archive_entry_set_mtime(entry, 1'000'000'000, 0);
    if (!item.link.empty()) {
      archive_entry_set_filetype(entry, AE_IFLNK);
      archive_entry_set_symlink(entry, item.link.c_str());
    } else if (!item.hard_link.empty()) {
      archive_entry_set_hardlink(entry, item.hard_link.c_str());
    } else if (item.type == AE_IFREG) {
      archive_entry_set_size(entry, static_cast<la_int64_t>(item.content.size()));
    }
    CHECK(archive_write_header(to, entry) == ARCHIVE_OK) << archive_error_string(to);
    if (item.link.empty() && item.hard_link.empty() && !item.content.empty()) {
      CHECK(archive_write_data(to, item.content.data(), item.content.size()) >= 0);
    }
    archive_entry_free(entry);
  }
  CHECK(archive_write_close(to) == ARCHIVE_OK);
  archive_write_free(to);
}

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// A directory that is removed with this object.
class Folder {
 public:
  const std::filesystem::path& path() const { return path_; }
  int fd() const { return fd_.get(); }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  test::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path();
  Fd fd_ = Fd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
};

}  // namespace proffer::fetcher
