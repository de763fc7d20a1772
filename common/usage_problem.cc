#include "common/usage_problem.h"

#include <algorithm>

#include "common/foreign_words.h"
#include "common/text.h"

namespace proffer {
namespace {

// "--retires" of "--retires=3".
std::string_view option_name(std::string_view word) { return word.substr(0, word.find('=')); }

std::string_view nearest_option(std::string_view name, const std::vector<std::string>& options) {
  // A single letter is near to any other one.
  if (!name.starts_with("--") && name.size() <= 2) return {};
  std::vector<std::string_view> known;
  for (const std::string_view one : options) {
    if (one.starts_with("--")) known.push_back(one);
  }
  const std::string_view bare = name.substr(std::min(name.size(), name.find_first_not_of('-')));
  return nearest(text("--", bare), known);
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string all;
  for (const std::string_view word : words) all += text(all.empty() ? "" : ", ", word);
  return all;
}

}  // namespace

std::string plain_usage_problem(std::string_view reported) {
  constexpr std::string_view kOne = "The following argument was not expected: ";
  constexpr std::string_view kSeveral = "The following arguments were not expected: ";
  if (reported.starts_with(kOne)) {
    return text("unexpected argument ", quoted(reported.substr(kOne.size())));
  }
  if (reported.starts_with(kSeveral)) {
    return text("unexpected arguments ", quoted(reported.substr(kSeveral.size())));
  }
  if (reported == "A subcommand is required") return "a subcommand is missing";
  // "Could not convert: --count = many".
  constexpr std::string_view kConvert = "Could not convert: ";
  if (reported.starts_with(kConvert)) {
    const std::string_view rest = reported.substr(kConvert.size());
    const size_t equals = rest.find(" = ");
    if (equals != rest.npos) {
      return text(rest.substr(0, equals), " must be a whole number, not ",
                  quoted(rest.substr(equals + 3)));
    }
  }
  // "--mem: 1 required TEXT missing".
  constexpr std::string_view kRequired = " required ";
  const size_t colon = reported.find(": ");
  if (colon != reported.npos && reported.find(kRequired, colon) != reported.npos &&
      reported.ends_with(" missing")) {
    return text(reported.substr(0, colon), " needs a value");
  }
  constexpr std::string_view kIsRequired = " is required";
  if (reported.ends_with(kIsRequired)) {
    return text(reported.substr(0, reported.size() - kIsRequired.size()), " is missing");
  }
  return std::string(reported);
}

Error unexpected_words(const std::vector<std::string>& words, const CommandWords& of) {
  const std::string_view word = words.front();
  const std::string help = text(of.command, " --help");
  if (!word.starts_with("-") || word == "-") {
    return Error::invalid_argument(text("unexpected argument ", quoted(word)))
        .with_hint(text("see: ", help));
  }
  const std::string_view name = option_name(word);
  const std::string way = way_of_option(words, of.command, of.options);
  const std::string_view near = way.empty() ? nearest_option(name, of.options) : std::string_view();
  return Error::invalid_argument(text("unknown option ", quoted(name), " of ", of.command,
                                      near.empty() ? "" : text("; did you mean ", near, "?")))
      .with_hint(way.empty() ? text("see: ", help) : text(way, "\nhelp: ", help));
}

Error unknown_verb(std::string_view word, std::string_view group,
                   const std::vector<std::string_view>& verbs) {
  if (word.empty()) {
    return Error::invalid_argument("a subcommand is missing")
        .with_hint(text("the subcommands are ", joined(verbs), "\nhelp: ", group, " --help"));
  }
  if (word.starts_with("-")) {
    return Error::invalid_argument(text("a subcommand is missing before ", quoted(word)))
        .with_hint(text("write ", group, " SUBCOMMAND ", option_name(word),
                        "; the subcommands are ", joined(verbs)));
  }
  std::string_view near = verb_for(word, verbs);
  if (near.empty()) near = nearest(word, verbs);
  std::string hint;
  if (near.empty()) {
    hint = text("the subcommands are ", joined(verbs), "\nhelp: ", group, " --help");
  } else {
    hint = text("did you mean `", group, " ", near, "`? The subcommands are ", joined(verbs),
                "\nhelp: ", group, " ", near, " --help");
  }
  return Error::invalid_argument(text("unknown subcommand ", quoted(word), " of ", group))
      .with_hint(std::move(hint));
}

Error unknown_command(std::string_view word, const std::vector<std::string_view>& commands) {
  std::string_view near = command_for_program(word);
  if (near.empty()) near = nearest(word, commands);
  return Error::invalid_argument(text("unknown command ", quoted(word)))
      .with_hint(near.empty() ? std::string("proffer --help lists the commands")
                              : text("did you mean `proffer ", near,
                                     "`? proffer --help lists the "
                                     "commands"));
}

}  // namespace proffer
