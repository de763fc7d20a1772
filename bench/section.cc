// A section of bench/RESULTS.md from standard input, for the scripts here.
//
//   build/bin/bench_section RESULTS.md NAME COMMAND <BODY

#include <cstdio>
#include <iostream>
#include <sstream>

#include "bench/results.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_section RESULTS.md NAME COMMAND <BODY\n");
    return 2;
  }
  std::stringstream body;
  body << std::cin.rdbuf();
  proffer::bench::write_section(argv[1], argv[2], argv[3], body.str());
  return 0;
}
