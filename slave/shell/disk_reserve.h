#pragma once

// Room on the disk of the work directory: how much is free, and a file that holds some of it for
// the checkpoint, so that the end of each task can be written down on a disk that tasks have
// filled.

#include <cstdint>
#include <string>

namespace proffer::agent {

class DiskReserve {
 public:
  struct Space {
    int64_t free_bytes = 0;  // for this user
    bool is_low = false;
  };
  // `to_stay_free`: what is free should not fall below this. It and what is held are bounded by a
  // 16th of the disk each.
  DiskReserve(const std::string& work_dir, int64_t to_stay_free);

  Space look();
  int64_t to_stay_free() const { return to_stay_free_; }
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
  int64_t held_bytes_ = 0;
  bool is_held_ = false;
  bool is_low_ = false;
};

}  // namespace proffer::agent
