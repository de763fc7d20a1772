#pragma once

// What a command takes from its command line. CLI11 stays behind this.

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proffer::cli {

// The words of one command. The targets live longer than parse().
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
  // --master, which most commands take.
  void master(std::string* target) {
    option("--master", target, "master's socket or HOST:PORT (default: see proffer --help)");
  }
  // Any number of words without an option.
  void words(const std::string& name, std::vector<std::string>* target, const std::string& help);
  void required(const std::string& name, std::string* target, const std::string& help);
  // Behind those; left as it is if it is not given.
  void optional(const std::string& name, std::string* target, const std::string& help);
  // Everything from the first word that is no option, or behind "--".
  void command_line(std::vector<std::string>* target, const std::string& help);
  // Heads the options that are added after it, in the help.
  void group(const std::string& name);
  // Command lines that end the help.
  void examples(std::initializer_list<std::string_view> lines);

  // None to go on; else the exit status: 0 after --help, 2 after an error was printed.
  std::optional<int> parse(const std::vector<std::string>& words);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What a shell is given for the words of a command line: one word is that already; of several, each
// is one argument.
std::string shell_command(const std::vector<std::string>& words);

}  // namespace proffer::cli
