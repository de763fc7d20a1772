#pragma once

// Room on the disk of the work directory: how many bytes and files are free, and a file that holds
// some of it for the checkpoint, so that the end of each task can be written down on a disk that
// tasks have filled.

#include <cstdint>
#include <string>

namespace proffer::agent {

// A task's sandbox needs few files; the rest of these is for the tasks that run on.
inline constexpr int64_t kFilesToStayFree = 10'000;

// Of the file system that holds a path, for this user.
struct DiskRoom {
  int64_t bytes = 0;
  int64_t free_bytes = 0;
  int64_t files = 0;       // 0: no fixed number
  int64_t free_files = 0;  // INT64_MAX: no limit
};
DiskRoom disk_room(const std::string& path);
// Files that have to stay free there.
int64_t files_to_stay_free(const DiskRoom& disk);

class DiskReserve {
 public:
  struct Space {
    int64_t free_bytes = 0;  // for this user
    int64_t free_files = 0;  // that can still be created; INT64_MAX: the file system has no limit
    bool is_low = false;     // of bytes
    bool is_low_on_files = false;
  };
  // `to_stay_free`: least number of free bytes. It and the held bytes are at most a 16th of the
  // disk each. Unless it is 0, kFilesToStayFree files can be created, too, or a 16th of all files.
  DiskReserve(const std::string& work_dir, int64_t to_stay_free);

  Space look();
  int64_t to_stay_free() const { return to_stay_free_; }
  int64_t files_to_stay_free() const { return files_to_stay_free_; }
  // Holds some bytes, if there is room for them; nothing if it holds them already.
  void hold();
  // Gives them up; false if it held none.
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
