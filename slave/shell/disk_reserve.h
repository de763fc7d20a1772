#pragma once

// Disk space of the work directory: the free bytes and files, and a file that reserves some bytes
// for the checkpoint, so that the end of each task can be recorded on a full disk.

#include <cstdint>
#include <string>

namespace proffer::agent {

// A new sandbox needs few files; the rest is for running tasks.
inline constexpr int64_t kFilesToStayFree = 10'000;

// The file system of a path, as seen by this user.
struct DiskRoom {
  int64_t bytes = 0;
  int64_t free_bytes = 0;
  int64_t files = 0;       // 0: no fixed number
  int64_t free_files = 0;  // INT64_MAX: no limit
};
DiskRoom disk_room(const std::string& path);
// The number of files that must stay free.
int64_t files_to_stay_free(const DiskRoom& disk);

class DiskReserve {
 public:
  struct Space {
    int64_t free_bytes = 0;  // for this user
    int64_t free_files = 0;  // that can still be created; INT64_MAX: the file system has no limit
    bool is_low = false;     // too few free bytes
    bool is_low_on_files = false;
  };
  // `to_stay_free`: minimum of free bytes. It and the reserved bytes are at most a 16th of the disk
  // each. Unless it is 0, kFilesToStayFree files, or a 16th of all files, must also be free.
  DiskReserve(const std::string& work_dir, int64_t to_stay_free);

  Space look();
  int64_t to_stay_free() const { return to_stay_free_; }
  int64_t files_to_stay_free() const { return files_to_stay_free_; }
  // Reserves the bytes, if there is room and they are not reserved already.
  void hold();
  // Releases the reserved bytes; false if there were none.
  bool give_up();

  int64_t held_bytes() const { return held_bytes_; }

  static constexpr int64_t kHeldBytesMax = int64_t{8} << 20;

 private:
  std::string work_dir_;
  std::string path_;
  int64_t to_stay_free_ = 0;
  int64_t files_to_stay_free_ = 0;
  int64_t held_bytes_ = 0;
  bool is_held_ = false;
  bool is_low_ = false;
  bool is_low_on_files_ = false;
};

}  // namespace proffer::agent
