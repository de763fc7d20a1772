#include "cli/arguments.h"

#include <algorithm>
#include <cstdio>

#include <CLI/CLI.hpp>

#include "common/cli11_problem.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "net/terminal.h"

namespace proffer::cli {

namespace {

constexpr size_t kHelpColumns = 100;
constexpr const char* kUsualExitCodes =
    "0 success, 1 failed or refused, 2 wrong usage, 3 the master cannot be reached";

// The description contains the usage. CLI11's own usage line knows neither the command nor its
// arguments.
class HelpText : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override { return ""; }
};

}  // namespace

struct Arguments::Impl {
  CLI::App app;
  std::string usage;
  std::string command_help;  // the text about the command's words
  std::vector<std::string> notes;
  std::string exit_codes = kUsualExitCodes;
  std::string examples;
  std::vector<std::string>* command = nullptr;

  // "proffer role set" from "proffer role set ROLE …".
  std::string name() const {
    std::string out;
    for (const std::string_view word : split(usage, ' ')) {
      const bool is_name = std::all_of(word.begin(), word.end(),
                                       [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
      if (word.empty() || word.starts_with("-") || !is_name) break;
      out += text(out.empty() ? "" : " ", word);
    }
    return out;
  }
  std::string footer() const {
    std::string out;
    const auto add = [&out](const std::string& paragraph) {
      if (!paragraph.empty()) out += text(out.empty() ? "" : "\n\n", paragraph);
    };
    add(command_help);
    for (const std::string& note : notes) add(wrapped(note, kHelpColumns));
    add(wrapped(text("Exit codes: ", exit_codes, "."), kHelpColumns));
    add(examples);
    return out;
  }
};

Arguments::Arguments(std::string usage, std::string what) : impl_(std::make_unique<Impl>()) {
  impl_->usage = std::move(usage);
  impl_->app.formatter(std::make_shared<HelpText>());
  impl_->app.description("usage: " + impl_->usage + "\n\n" + what);
}
Arguments::~Arguments() = default;

void Arguments::flag(const std::string& names, bool* target, const std::string& help) {
  impl_->app.add_flag(names, *target, help);
}

void Arguments::option(const std::string& names, std::string* target, const std::string& help) {
  impl_->app.add_option(names, *target, help);
}

void Arguments::option(const std::string& names, std::optional<std::string>* target,
                       const std::string& help) {
  impl_->app.add_option_function<std::string>(
      names, [target](const std::string& value) { *target = value; }, help);
}

void Arguments::option(const std::string& names, int64_t* target, const std::string& help) {
  impl_->app.add_option(names, *target, help);
}

void Arguments::option(const std::string& names, std::vector<std::string>* target,
                       const std::string& help) {
  impl_->app.add_option(names, *target, help)->allow_extra_args(false);
}

void Arguments::words(const std::string& name, std::vector<std::string>* target,
                      const std::string& help) {
  impl_->app.add_option(name, *target, help);
}

void Arguments::required(const std::string& name, std::string* target, const std::string& help) {
  impl_->app.add_option(name, *target, help)->required();
}

void Arguments::optional(const std::string& name, std::string* target, const std::string& help) {
  impl_->app.add_option(name, *target, help);
}

void Arguments::command_line(std::vector<std::string>* target, const std::string& help) {
  impl_->app.prefix_command();
  impl_->command_help = "CMD…  " + help;
  impl_->command = target;
}

void Arguments::group(const std::string& name) { impl_->app.option_defaults()->group(name); }

void Arguments::examples(std::initializer_list<std::string_view> lines) {
  impl_->examples = lines.size() == 1 ? "Example:" : "Examples:";
  for (const std::string_view line : lines) impl_->examples.append("\n  ").append(line);
}

void Arguments::note(std::string paragraph) { impl_->notes.push_back(std::move(paragraph)); }

void Arguments::exit_codes(std::string codes) { impl_->exit_codes = std::move(codes); }

std::optional<int> Arguments::parse(const std::vector<std::string>& words) {
  const auto fail = [this](Error error) {
    std::string hint = error.hint();
    constexpr std::string_view kSee = "see: ";
    if (hint.starts_with(kSee)) {
      hint = text("usage: ", impl_->usage, "\nhelp: ", hint.substr(kSee.size()));
    }
    print_error_text(std::move(error).with_hint(std::move(hint)));
    return 2;
  };
  auto end = words.end();
  if (impl_->command != nullptr) end = std::find(words.begin(), words.end(), "--");
  // CLI11 wants the arguments in reverse order.
  std::vector<std::string> reversed(words.begin(), end);
  std::reverse(reversed.begin(), reversed.end());
  try {
    impl_->app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    impl_->app.footer(impl_->footer());
    print_lines(impl_->app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    return fail(cli11_problem(impl_->app, impl_->name(), error.what()));
  }
  if (impl_->command == nullptr) return std::nullopt;
  *impl_->command = impl_->app.remaining();
  if (!impl_->command->empty() && impl_->command->front().starts_with("-")) {
    return fail(unexpected_words(*impl_->command, {impl_->name(), option_names(impl_->app)}));
  }
  // Behind the first word of a command, "--" is one of its arguments.
  if (end != words.end() && impl_->command->empty()) ++end;
  impl_->command->insert(impl_->command->end(), end, words.end());
  return std::nullopt;
}

std::string shell_command(const std::vector<std::string>& words) {
  if (words.size() == 1) return words.front();
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
  // A shell that is bash takes a name like -x for an option of exec.
  std::string out = words.front().starts_with('-') ? "" : "exec";
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) {
      if (c == '\'')
        out += "'\\''";
      else
        out += c;
    }
    out += '\'';
  }
  return out;
}

}  // namespace proffer::cli
