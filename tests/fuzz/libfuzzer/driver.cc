// libFuzzer calls this for one target, PROFFER_FUZZ_TARGET.

#include <glog/logging.h>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_ERROR;
  google::InitGoogleLogging((*argv)[0]);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  proffer::fuzz::PROFFER_FUZZ_TARGET({data, size});
  return 0;
}
