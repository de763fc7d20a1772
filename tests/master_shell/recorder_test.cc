// A recording on a full disk: how its end is recorded.

#include "master/shell/recorder.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "master/recording/life_replay.h"
#include "store/checkpoint_log.h"
#include "tests/net/support.h"
#include "tests/store/support.h"

namespace proffer::master::recorder_test {
namespace {

// Otherwise a reader would assume that the master was killed, and that no master led afterwards.
TEST(Recorder, TellsThatItsMasterWentOnOnceTheDiskTakesAWordAgain) {
  store_test::TemporaryDirectory directory;
  Loop loop;
  Result<std::unique_ptr<Recorder>> opened = Recorder::open(loop,
                                                            {.directory = directory / "recordings",
                                                             .delay = milliseconds(1),
                                                             .retry = milliseconds(1),
                                                             .version = "1"},
                                                            {.leader = LeaderEpoch(1)}, {});
  ASSERT_TRUE(opened) << opened.error().message();
  Recorder& recorder = **opened;
  const std::string file = std::filesystem::directory_iterator(directory / "recordings")->path();
  const auto size = [&] { return std::filesystem::file_size(file); };
  const auto begun = size();
  {
    const store_test::FullDisk full(begun);
    recorder.add(Tick{}, loop.now(), {});
    recorder.note_outcome({});
    ASSERT_TRUE(net_test::run_until(loop, [&] { return !recorder.ended().empty(); }));
    EXPECT_EQ(size(), begun);
  }
  ASSERT_TRUE(net_test::run_until(loop, [&] { return size() > begun; }));
  const Result<CheckpointLog::Readable> read = CheckpointLog::read(file, size());
  ASSERT_TRUE(read);
  LifeReplay life;
  const Result<void> told = life.take_all(read->records);
  EXPECT_TRUE(!told || life.is_ended_early());
}

}  // namespace
}  // namespace proffer::master::recorder_test
