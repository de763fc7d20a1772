// Runs each line of a file (--commands=FILE) once, however often it and the master are killed.
// Restarted with its session file it is the same framework, and continues. Ctrl-C ends it and its
// tasks; SIGHUP leaves them for the next life.
#include <csignal>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "examples/exactly_once_framework/run_once.h"
#include "examples/flags.h"
#include "sdk/scheduler.h"

int main(int argc, char** argv) {
  const std::string path = examples::text_flag(argc, argv, "commands", "");
  std::ifstream file(path);
  if (!file) {
    std::cerr << "error: --commands must be a file with a command in each line, not '" << path
              << "'\n";
    return 2;
  }
  std::vector<std::string> commands;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) commands.push_back(line);
  }

  proffer::sdk::SchedulerOptions options =
      proffer::sdk::options_from(argc, argv, "once", {"commands"});
  if (options.session_file.empty()) options.session_file = "once.session";
  options.remembers_tasks = true;
  proffer::sdk::Scheduler self(options);
  const examples::RunOnce once(self, commands, std::cout);
  self.on_signal(SIGHUP, [&] { self.detach(); });
  return self.run();
}
