// From the parser's events to a tree, in one pass. Read Builder first; only this file uses yaml-cpp
// and catches its exceptions. yaml-cpp's own tree accepts duplicate keys and ignores further
// documents, and its LoadAll never ends on some malformed texts (0.7.0).

#include "yaml/document.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "common/printable.h"
#include "common/text.h"

namespace proffer::yaml {
namespace {

size_t nodes_in(const Node& node) {
  size_t count = 1;
  for (const Node& entry : node.entries) count += nodes_in(entry);
  for (const Row& row : node.rows) count += 1 + nodes_in(row.value);
  return count;
}

// It ignores all events after the first error.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(int documents_max) : documents_max_(documents_max) {}

  int documents() const { return documents_; }
  int last_line() const { return last_line_; }    // where the last document began
  int last_quote() const { return last_quote_; }  // where the last quoted or block text began
  const std::optional<Error>& error() const { return error_; }
  std::vector<Node> take() { return std::move(roots_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    ++documents_;
    last_line_ = mark.line + 1;
    anchored_.clear();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (begin(mark, Node::Kind::kNothing, anchor)) end();
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (tag == "!") last_quote_ = mark.line + 1;
    if (!begin(mark, Node::Kind::kText, anchor)) return;
    open_.back().node.text = value;
    end();
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchored_.find(anchor);
    if (known == anchored_.end()) return fail(mark, "an alias of what it is part of");
    if (!begin(mark, known->second.kind, 0)) return;
    count_ += nodes_in(known->second);
    if (count_ > kNodesMax) return fail(mark, text("more than ", kNodesMax, " values"));
    open_.back().node = known->second;
    end();
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, Node::Kind::kList, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, Node::Kind::kTable, anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Open {
    Node node = {};
    YAML::anchor_t anchor = 0;
    std::set<std::string> keys = {};
    bool has_key = false;  // the next value belongs to the last row
  };

  void fail(const YAML::Mark& mark, std::string_view what) {
    if (!error_) error_ = Error::invalid_argument(text("line ", mark.line + 1, ": ", what));
  }
  bool begin(const YAML::Mark& mark, Node::Kind kind, YAML::anchor_t anchor) {
    if (error_ || documents_ > documents_max_) return false;
    if (++count_ > kNodesMax) {
      fail(mark, text("more than ", kNodesMax, " values"));
    } else if (open_.size() > kDepthMax) {
      fail(mark, text("more than ", kDepthMax, " tables and lists within each other"));
    } else {
      open_.push_back(
          {.node = {.kind = kind, .line = mark.line + 1, .rows = {}}, .anchor = anchor});
    }
    return !error_;
  }
  // The last begun node is complete: adds it to its parent.
  void end() {
    if (error_ || documents_ > documents_max_) return;
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.anchor != 0) anchored_[done.anchor] = done.node;
    if (open_.empty()) {
      roots_.push_back(std::move(done.node));
      return;
    }
    Open& into = open_.back();
    if (into.node.kind == Node::Kind::kList) {
      into.node.entries.push_back(std::move(done.node));
    } else if (into.has_key) {
      into.node.rows.back().value = std::move(done.node);
      into.has_key = false;
    } else {
      add_key(into, std::move(done.node));
    }
  }
  void add_key(Open& table, Node key) {
    YAML::Mark mark;
    mark.line = key.line - 1;
    if (key.kind != Node::Kind::kText) return fail(mark, "a key must be one text or number");
    if (!table.keys.insert(key.text).second) {
      return fail(mark, text("key ", quoted(key.text), " is given twice"));
    }
    table.node.rows.push_back({.key = std::move(key.text), .line = key.line});
    table.has_key = true;
  }

  const int documents_max_;
  int documents_ = 0;
  int last_line_ = 0;
  int last_quote_ = 0;
  size_t count_ = 0;
  std::optional<Error> error_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchored_;
  std::vector<Node> roots_;
};

std::vector<std::string_view> lines_of(std::string_view whole) {
  std::vector<std::string_view> lines;
  while (!whole.empty()) {
    const size_t end = std::min(whole.find('\n'), whole.size());
    lines.push_back(whole.substr(0, end));
    whole.remove_prefix(std::min(end + 1, whole.size()));
  }
  return lines;
}

// "a job file" -> "the job file".
std::string the(std::string_view what) {
  for (const std::string_view article : {"a ", "an "}) {
    if (what.starts_with(article)) return text("the ", what.substr(article.size()));
  }
  return std::string(what);
}

// yaml-cpp treats a quote that never ends as ended at the end of a file with a final newline
// (0.7.0). Without blanks at its end such a file is refused.
bool has_open_quote(std::string_view whole, int documents_max) {
  const size_t end = whole.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return false;
  Builder unused(documents_max);
  try {
    std::istringstream stream{std::string(whole.substr(0, end + 1))};
    YAML::Parser parser(stream);
    while (unused.documents() <= documents_max && parser.HandleNextDocument(unused)) {
    }
  } catch (const YAML::Exception&) {
    return true;
  }
  return false;
}

// The first line, up to `last`, that is indented by a TAB; 0 if there is none.
int tab_line(std::string_view whole, int last) {
  int line = 0;
  for (const std::string_view one : lines_of(whole)) {
    if (++line > last) break;
    const size_t begin = one.find_first_not_of(' ');
    if (begin != one.npos && one[begin] == '\t' && one.find_first_not_of(" \t\r") != one.npos) {
      return line;
    }
  }
  return 0;
}

// What yaml-cpp says, in the words of people who do not know its tokens.
Error plain_error(const YAML::Exception& e, std::string_view whole) {
  const int line = e.mark.line + 1;
  if (const int tab = tab_line(whole, line); tab != 0) {
    return Error::invalid_argument(
               text("line ", tab, ": a TAB indents this line; YAML allows only blanks there"))
        .with_hint("replace each TAB with blanks: expand -t 2 FILE >NEW");
  }
  constexpr std::pair<std::string_view, std::string_view> kHints[] = {
      {"illegal map value", "put a value that has ': ' in it into quotes"},
      {"end of map not found",
       "indent the keys of one table alike, and close what [ or { opens; a value that has ': ' in "
       "it needs quotes"},
      {"end of sequence", "close what [ opens, and indent the entries of one list alike"},
      {"end of map flow", "close what { opens"},
      {"unknown token", "put a value that begins with @, ` or % into quotes"},
      {"block entry", "begin each entry of a list with '- ', in a line of its own"}};
  Error error = Error::invalid_argument(text("line ", line, ": not YAML: ", printable(e.msg)));
  for (const auto& [problem, hint] : kHints) {
    if (e.msg.find(problem) == std::string::npos) continue;
    return std::move(error).with_hint(std::string(hint));
  }
  return std::move(error).with_hint("put a value with special characters into quotes");
}

Result<std::vector<Node>> parse(std::string_view whole, std::string_view what, size_t bytes_max,
                                int documents_max) {
  if (whole.size() > bytes_max) {
    return Error::invalid_argument(
        text(what, " of ", whole.size(), " bytes; at most ", bytes_max, " are allowed"));
  }
  Builder builder(documents_max);
  try {
    std::istringstream stream{std::string(whole)};
    YAML::Parser parser(stream);
    while (builder.documents() <= documents_max && parser.HandleNextDocument(builder)) {
    }
    if (builder.documents() == 0) {
      return Error::invalid_argument(text(the(what), " is empty"));
    }
    if (builder.documents() > documents_max) {
      return Error::invalid_argument(
          documents_max == 1
              ? text("line ", builder.last_line(), ": a second document begins; ", what, " has one")
              : text("line ", builder.last_line(), ": document ", builder.documents(), " begins; ",
                     what, " has at most ", documents_max));
    }
    if (builder.error()) return *builder.error();
    if (has_open_quote(whole, documents_max)) {
      return Error::invalid_argument(
                 text("line ", builder.last_quote(), ": a quote begins here and never ends"))
          .with_hint(
              text("close it, and look at what stands behind it: ", the(what), " may be cut off"));
    }
    return builder.take();
  } catch (const YAML::Exception& e) {
    // The parser continues after an error of ours, until it stops by itself.
    if (builder.error()) return *builder.error();
    return plain_error(e, whole);
  } catch (const std::exception& e) {
    return Error::invalid_argument(text(the(what), " cannot be read: ", printable(e.what())));
  }
}

}  // namespace

Result<Node> parse_document(std::string_view whole, std::string_view what, size_t bytes_max) {
  Result<std::vector<Node>> documents = parse(whole, what, bytes_max, 1);
  if (!documents) return std::move(documents).error();
  return std::move(documents->front());
}

Result<std::vector<Node>> parse_documents(std::string_view whole, std::string_view what,
                                          size_t bytes_max, int documents_max) {
  Result<std::vector<Node>> documents = parse(whole, what, bytes_max, documents_max);
  if (!documents) return documents;
  std::erase_if(*documents, [](const Node& document) { return document.is_nothing(); });
  if (documents->empty()) return Error::invalid_argument(text(the(what), " is empty"));
  return documents;
}

}  // namespace proffer::yaml
