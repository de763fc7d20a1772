// The main of every test binary: glog to standard error, then GoogleTest.

#include <glog/logging.h>
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_ERROR;
  google::InitGoogleLogging(argv[0]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
