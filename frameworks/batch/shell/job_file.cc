// Reading a job file. yaml-cpp stays in this file, and its exceptions in parse_job_file. It accepts
// duplicate keys and ignores further documents: both are refused here.

#include "frameworks/batch/shell/job_file.h"

#include <set>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "common/printable.h"
#include "common/text.h"

namespace proffer::batch {
namespace {

Error at(const YAML::Node& node, std::string_view what) {
  return Error::invalid_argument(text("line ", node.Mark().line + 1, ": ", what));
}

Result<std::string> scalar(std::string_view key, const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  return at(node, text("the value of ", quoted(key), " must be one text or number"));
}

// One text, or a list of them.
Result<std::vector<std::string>> list(std::string_view key, const YAML::Node& node) {
  std::vector<std::string> values;
  if (node.IsScalar()) {
    values.push_back(node.Scalar());
    return values;
  }
  if (!node.IsSequence())
    return at(node, text("the value of ", quoted(key), " must be a text or a list"));
  for (const YAML::Node& one : node) {
    Result<std::string> value = scalar(key, one);
    if (!value) return std::move(value).error();
    values.push_back(*std::move(value));
  }
  return values;
}

Result<std::map<std::string, std::string>> table(std::string_view key, const YAML::Node& node) {
  std::map<std::string, std::string> values;
  if (!node.IsMap()) {
    return at(node, text("the value of ", quoted(key), " must be a table of NAME: value"));
  }
  for (const auto& row : node) {
    Result<std::string> name = scalar(key, row.first);
    if (!name) return std::move(name).error();
    Result<std::string> value = scalar(*name, row.second);
    if (!value) return std::move(value).error();
    if (!values.emplace(*name, *std::move(value)).second) {
      return at(row.first, text(quoted(*name), " is given twice in ", quoted(key)));
    }
  }
  return values;
}

// Counts documents without keeping them.
class DocumentCounter : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    ++count_;
    line_ = mark.line + 1;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  int count() const { return count_; }
  int line() const { return line_; }  // of the last one

 private:
  int count_ = 0;
  int line_ = 0;
};

// YAML::LoadAll never ends on some malformed texts (0.7.0: it finds empty documents for ever), so
// the documents are counted one by one, and only the first is loaded.
Result<void> check_one_document(const std::string& yaml) {
  std::istringstream stream(yaml);
  YAML::Parser parser(stream);
  DocumentCounter documents;
  while (documents.count() < 2 && parser.HandleNextDocument(documents)) {
  }
  if (documents.count() == 0) return Error::invalid_argument("the job file is empty");
  if (documents.count() == 1) return {};
  return Error::invalid_argument(
      text("line ", documents.line(), ": a second document begins; a job file has one"));
}

template <class T>
Result<void> keep(Result<T> value, T& place) {
  if (!value) return std::move(value).error();
  place = *std::move(value);
  return {};
}

Result<void> read_row(const std::string& key, const YAML::Node& node, JobText& job) {
  const auto one = [&](std::optional<std::string>& place) -> Result<void> {
    Result<std::string> value = scalar(key, node);
    if (!value) return std::move(value).error();
    place = *std::move(value);
    return {};
  };
  if (key == "name") return one(job.name);
  if (key == "role") return one(job.role);
  if (key == "map") return one(job.map);
  if (key == "reduce") return one(job.reduce);
  if (key == "output") return one(job.output);
  if (key == "reducers") return one(job.reducers);
  if (key == "split") return one(job.split);
  if (key == "resources") return one(job.resources);
  if (key == "input") return keep(list(key, node), job.inputs);
  if (key == "files") return keep(list(key, node), job.files);
  return keep(table(key, node), job.env);
}

Result<JobText> read_document(const YAML::Node& document) {
  static const std::vector<std::string_view> kKeys = {"name",      "role",   "map",      "reduce",
                                                      "input",     "output", "reducers", "split",
                                                      "resources", "files",  "env"};
  if (!document.IsMap()) return at(document, "a job file is a table of KEY: value");
  JobText job;
  std::set<std::string> seen;
  for (const auto& row : document) {
    const Result<std::string> key = scalar("a key", row.first);
    if (!key) return key.error();
    bool known = false;
    for (const std::string_view one : kKeys) known = known || *key == one;
    if (!known) {
      const std::string_view near = nearest(*key, kKeys);
      Error error =
          at(row.first, text("unknown key ", quoted(*key),
                             near.empty() ? "" : text("; did you mean ", quoted(near), "?")));
      return std::move(error).with_hint(
          "the keys are name, role, map, reduce, input, output, reducers, split, resources, files, "
          "env");
    }
    if (!seen.insert(*key).second)
      return at(row.first, text("key ", quoted(*key), " is given twice"));
    if (Result<void> ok = read_row(*key, row.second, job); !ok) return std::move(ok).error();
  }
  return job;
}

}  // namespace

Result<JobText> parse_job_file(std::string_view yaml) {
  if (yaml.size() > kJobFileBytesMax) {
    return Error::invalid_argument(
        text("a job file of ", yaml.size(), " bytes; at most ", kJobFileBytesMax, " are allowed"));
  }
  try {
    const std::string whole(yaml);
    if (Result<void> ok = check_one_document(whole); !ok) return std::move(ok).error();
    return read_document(YAML::Load(whole));
  } catch (const YAML::Exception& e) {
    return Error::invalid_argument(text("line ", e.mark.line + 1, ": ", printable(e.msg)));
  } catch (const std::exception& e) {
    return Error::invalid_argument(text("the job file cannot be read: ", printable(e.what())));
  }
}

}  // namespace proffer::batch
