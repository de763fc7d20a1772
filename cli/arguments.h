#pragma once

// The command line of a command. Only this file uses CLI11.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proffer::cli {

// The words of one command. The targets must outlive parse().
class Arguments {
 public:
  // `usage` as in "proffer kill TASK".
  Arguments(std::string usage, std::string what);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  void flag(const std::string& names, bool* target, const std::string& help);
  void option(const std::string& names, std::string* target, const std::string& help);
  // Left unset if it is not given.
  void option(const std::string& names, std::optional<std::string>* target,
              const std::string& help);
  void option(const std::string& names, int64_t* target, const std::string& help);
  void option(const std::string& names, std::vector<std::string>* target, const std::string& help);
  // --master, an option of most commands.
  void master(std::string* target) {
    option("--master", target, "master's socket or HOST:PORT (default: see proffer --help)");
  }
  // Any number of words without an option.
  void words(const std::string& name, std::vector<std::string>* target, const std::string& help);
  void required(const std::string& name, std::string* target, const std::string& help);
  // An optional positional argument; it follows the required ones. If it is not given, the target
  // stays unchanged.
  void optional(const std::string& name, std::string* target, const std::string& help);
  // All words from the first that is not an option, or after "--".
  void command_line(std::vector<std::string>* target, const std::string& help);
  // The heading of the options that are added after it, in the help.
  void group(const std::string& name);
  // A paragraph behind the options.
  void note(std::string paragraph);
  // In place of the usual ones: "0 success, 1 …", without the full stop.
  void exit_codes(std::string codes);
  // Command lines that end the help.
  void examples(std::initializer_list<std::string_view> lines);

  // None: continue; else the exit status: 0 after --help, 2 after an error was printed.
  std::optional<int> parse(const std::vector<std::string>& words);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The command line for a shell: one word is already a command line. Several are a program and its
// arguments; the program takes the place of the shell, so that signals reach it and its end is that
// of the command.
std::string shell_command(const std::vector<std::string>& words);

}  // namespace proffer::cli
