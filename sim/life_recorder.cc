#include "sim/life_recorder.h"

#include <utility>

namespace proffer::sim {
namespace {

// Steps between two checksums, and records that are passed on together.
constexpr uint64_t kStepsPerSum = 1'000;
constexpr size_t kRecordsKept = 4'000;

}  // namespace

void LifeRecorder::begins(const master::MasterOptions& options,
                          const master::MasterSnapshot& snapshot) {
  ends();
  life_ = std::make_unique<Life>();
  life_->leader = options.leader;
  life_->records = life_->writer.begin(kSimulatedVersion, options, snapshot);
}

void LifeRecorder::hears(const master::MasterEvent& event, Time now) {
  life_->writer.add(event, now, {}, life_->records);
}

void LifeRecorder::says(const master::MasterOutbox& out) {
  life_->hash.add(out);
  if (++life_->steps % kStepsPerSum == 0) {
    life_->records.push_back(life_->writer.sum(life_->steps, life_->hash.value()));
    life_->summed = life_->steps;
  }
  if (life_->records.size() >= kRecordsKept) give();
}

void LifeRecorder::ends() {
  if (life_ == nullptr) return;
  if (life_->summed < life_->steps) {
    life_->records.push_back(life_->writer.sum(life_->steps, life_->hash.value()));
  }
  give();
  life_.reset();
}

void LifeRecorder::give() { keep_(life_->leader, std::exchange(life_->records, {})); }

}  // namespace proffer::sim
