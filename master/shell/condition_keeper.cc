#include "master/shell/condition_keeper.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace proffer::master {
namespace {

constexpr Duration kFresh = seconds(1);
// Examinations take at most this part (1/200) of the loop's time.
constexpr int64_t kPartOnTime = 200;
constexpr int64_t kPartWhenAsked = 20;

}  // namespace

ConditionKeeper::ConditionKeeper(Loop& loop, Duration every, Read read)
    : loop_(loop), every_(every), read_(std::move(read)), timer_(loop, [this] { look_again(); }) {
  timer_.arm(loop_.now());
}

const ConditionWatch& ConditionKeeper::current() {
  if (loop_.now() - looked_at_ > std::max(kFresh, took_ * kPartWhenAsked)) look();
  return watch_;
}

void ConditionKeeper::look() {
  const Time begin = loop_.now();
  Circumstances now = read_();
  now.pid = ::getpid();
  now.descriptors = open_descriptors(loop_);
  now.descriptors_max = read_process_figures().descriptors_max.value_or(0);
  watch_.look(now);
  looked_at_ = loop_.now();
  took_ = looked_at_ - begin;
}

void ConditionKeeper::look_again() {
  look();
  timer_.arm(looked_at_ + std::max(every_, took_ * kPartOnTime));
}

}  // namespace proffer::master
