#pragma once

// The fuzz targets: one function for each decoder and parser, which gets any bytes and CHECKs its
// laws. A decoded value must encode to an equal value, a parsed value must print and parse back
// equal, and a refusal must have a message of one readable line.
//
// A target lives in <name>_fuzz.cc, and has seeds in corpus/<name>/ and a row in kTargets.
// libFuzzer generates inputs for it with clang (tools/fuzz); corpus_test.cc runs its corpus with
// any compiler.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace proffer::fuzz {

using Input = std::span<const uint8_t>;

void fuzz_address(Input input);
void fuzz_app_file(Input input);
void fuzz_attributes(Input input);
void fuzz_batch_array(Input input);
void fuzz_batch_call(Input input);
void fuzz_batch_plan(Input input);
void fuzz_batch_record(Input input);
void fuzz_batch_work(Input input);
void fuzz_checkpoint_log(Input input);
void fuzz_constraint(Input input);
void fuzz_duration(Input input);
void fuzz_event_block(Input input);
void fuzz_fetch_uri(Input input);
void fuzz_files(Input input);
void fuzz_frame(Input input);
void fuzz_history(Input input);
void fuzz_http(Input input);
void fuzz_http_answer(Input input);
void fuzz_job_file(Input input);
void fuzz_json(Input input);
void fuzz_local_frames(Input input);
void fuzz_record(Input input);
void fuzz_resources(Input input);
void fuzz_roles(Input input);
void fuzz_row(Input input);
void fuzz_scenario(Input input);
void fuzz_service_record(Input input);
void fuzz_stdin_stream(Input input);
void fuzz_terminal(Input input);
void fuzz_text(Input input);
void fuzz_trace(Input input);

struct Target {
  std::string_view name;
  void (*run)(Input);
  int mutations = 3'000;  // in a normal test run; fewer for slow ones
};

inline constexpr std::array kTargets = {
    Target{"address", fuzz_address},
    Target{"app_file", fuzz_app_file, 1'000},
    Target{"attributes", fuzz_attributes},
    Target{"batch_array", fuzz_batch_array},
    Target{"batch_call", fuzz_batch_call},
    Target{"batch_plan", fuzz_batch_plan},
    Target{"batch_record", fuzz_batch_record},
    Target{"batch_work", fuzz_batch_work},
    Target{"checkpoint_log", fuzz_checkpoint_log, 500},
    Target{"constraint", fuzz_constraint, 1'000},
    Target{"duration", fuzz_duration},
    Target{"event_block", fuzz_event_block},
    Target{"fetch_uri", fuzz_fetch_uri},
    Target{"files", fuzz_files},
    Target{"frame", fuzz_frame},
    Target{"history", fuzz_history},
    Target{"http", fuzz_http, 300},
    Target{"http_answer", fuzz_http_answer},
    Target{"job_file", fuzz_job_file, 1'000},
    Target{"json", fuzz_json},
    Target{"local_frames", fuzz_local_frames},
    Target{"record", fuzz_record},
    Target{"resources", fuzz_resources},
    Target{"roles", fuzz_roles},
    Target{"row", fuzz_row},
    Target{"scenario", fuzz_scenario, 300},
    Target{"service_record", fuzz_service_record},
    Target{"stdin_stream", fuzz_stdin_stream},
    Target{"terminal", fuzz_terminal},
    Target{"text", fuzz_text},
    Target{"trace", fuzz_trace, 1'000},
};

}  // namespace proffer::fuzz
