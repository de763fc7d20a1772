#pragma once

// From what CLI11 refuses to errors of Proffer, for the programs that use CLI11.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/usage_problem.h"

namespace proffer {

// All names of a command's options: "--follow", "-f".
inline std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  for (const CLI::App* group :
       command.get_subcommands([](const CLI::App* one) { return one->get_name().empty(); })) {
    for (std::string& name : option_names(*group)) names.push_back(std::move(name));
  }
  return names;
}

// The error for what CLI11 reports. `app` has parsed the words; `name` is how it was called, as in
// "proffer batch". The chosen subcommand is the one whose words are wrong.
inline Error cli11_problem(const CLI::App& app, std::string name, std::string_view reported) {
  const std::vector<std::string> left = app.remaining(true);
  const CLI::App* command = &app;
  while (true) {
    const std::vector<CLI::App*> chosen = command->get_subcommands();
    if (chosen.empty()) break;
    command = chosen.front();
    name += " " + command->get_name();
  }
  // Behind an unknown option its value may have been taken for an argument: the option is first.
  const auto option = std::find_if(left.begin(), left.end(), [](const std::string& word) {
    return word.size() > 1 && word.starts_with("-");
  });
  const auto first = option == left.end() ? left.begin() : option;
  std::vector<std::string_view> verbs;
  for (const CLI::App* verb :
       command->get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); })) {
    verbs.emplace_back(verb->get_name());
  }
  if (first != left.end() && !verbs.empty()) return unknown_verb(*first, name, verbs);
  if (first != left.end()) {
    return unexpected_words({first, left.end()}, {name, option_names(*command)});
  }
  if (!verbs.empty()) return unknown_verb("", name, verbs);
  return Error::invalid_argument(plain_usage_problem(reported))
      .with_hint("see: " + name + " --help");
}

}  // namespace proffer
