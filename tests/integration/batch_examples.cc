#include "tests/integration/batch_examples.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "common/check.h"
#include "common/text.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

const std::string kExamples = std::string(PROFFER_SOURCE_DIR) + "/examples/";

std::string sorted_lines(const std::string& content) {
  std::vector<std::string> lines;
  std::istringstream in(content);
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line;
  return all;
}

std::vector<std::string> files_of(const std::string& directory) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(directory)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

void each_line(const std::string& path, const std::function<void(const std::string&)>& take) {
  std::istringstream in(read_file(path));
  for (std::string line; std::getline(in, line);) take(line);
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  for (const std::string_view field : split(line, '\t')) fields.emplace_back(field);
  return fields;
}

// The licence texts of Debian: real text on every machine.
std::string index_of(const std::string& directory) {
  std::map<std::string, std::map<std::string, int>> words;
  for (const std::string& path : files_of(directory)) {
    std::string word;
    for (const char c : read_file(path) + "\n") {
      const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      if (low >= 'a' && low <= 'z') {
        word += low;
      } else if (!word.empty()) {
        ++words[word][fs::path(path).filename()];
        word.clear();
      }
    }
  }
  std::string lines;
  for (const auto& [word, files] : words) {
    lines += word;
    char before = '\t';
    for (const auto& [file, count] : files) {
      lines += before + file + ":" + std::to_string(count);
      before = ' ';
    }
    lines += "\n";
  }
  return sorted_lines(lines);
}

std::string all_in_order(const std::string& directory) {
  std::vector<std::string> lines;
  for (const std::string& path : files_of(directory)) {
    each_line(path, [&](const std::string& line) { lines.push_back(line + "\n"); });
  }
  const auto key = [](const std::string& line) { return line.substr(0, line.find('\t')); };
  std::stable_sort(lines.begin(), lines.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::string all;
  for (const std::string& line : lines) all += line;
  return all;
}

std::string joined(const std::string& directory) {
  std::map<std::string, std::string> names;
  each_line(directory + "/customers.tsv", [&](const std::string& line) {
    const std::vector<std::string> fields = fields_of(line);
    names[fields.at(0)] = fields.at(1);
  });
  std::string lines;
  each_line(directory + "/orders.tsv", [&](const std::string& line) {
    const std::vector<std::string> order = fields_of(line);
    const auto name = names.find(order.at(0));
    if (name == names.end()) return;
    lines += text(order.at(0), "\t", name->second, "\t", order.at(1), "\t", order.at(2), "\n");
  });
  return sorted_lines(lines);
}

std::string by_shell(const std::string& script, const std::string& directory) {
  const Exit done =
      run({"bash", "-c", "set -o pipefail; export LC_ALL=C; " + script}, {}, directory);
  CHECK_EQ(done.code, 0) << done.err;
  CHECK(!done.out.empty());
  return done.out;
}

// The requests in the logs: lines with ten fields.
constexpr const char* kRequests = "{ cat *.log; zcat *.gz; } | awk 'NF == 10' | ";

std::string hours_of(const std::string& directory) {
  return by_shell(std::string(kRequests) + R"(awk '{
      key = substr($4, 2, 14) " " $7; n[key]++; e[key] += $9 ~ /^5/; b[key] += $10
    } END { for (key in n) print key "\t" n[key] " " e[key] " " b[key] }' | sort)",
                  directory);
}

std::string top_clients_of(const std::string& directory) {
  return by_shell(std::string(kRequests) +
                      R"(awk '{ b[$1] += $10 } END { for (c in b) print b[c] "\t" c }' | )"
                      "sort -t '\t' -k1,1nr -k2,2 | sed -n 1,10p",
                  directory);
}

// Words in lower case, as the pipeline of the licences makes them.
constexpr const char* kWords =
    "cat * | tr -cs A-Za-z '\\n' | tr A-Z a-z | sed '/^$/d' | sort | uniq -c | ";

std::string counts_of(const std::string& directory) {
  return by_shell(std::string(kWords) + R"(awk '{ print $2 "\t" $1 }' | sort)", directory);
}

std::string top_words_of(const std::string& directory) {
  return by_shell(std::string(kWords) + "sort -k1,1nr -k2 | sed -n 1,10p", directory);
}

std::string cycles() {
  std::string lines;
  for (int64_t c = 1; c <= 60; ++c) {
    std::map<int64_t, int64_t> seen;
    int64_t x = 2;
    int64_t step = 0;
    while (seen.emplace(x, step).second) {
      x = (x * x + c) % 1'000'003;
      ++step;
    }
    lines += text("c=", c, " start=", seen[x], " length=", step - seen[x], "\n");
  }
  return lines;
}

std::string generated(const std::string& kind, const std::string& directory, int lines) {
  const std::string input = directory + "/" + kind;
  const Exit made = run({kExamples + "batch/generate.py", kind, input, std::to_string(lines)});
  CHECK_EQ(made.code, 0) << made.err;
  return input;
}

Words reads(const std::string& input) { return {"-p", "in=" + input}; }

}  // namespace

Words BatchExample::run(const std::string& out) const {
  Words words = {"batch", is_schedule ? "submit" : "run",
                 kExamples + (file.empty() ? "batch/" + name + ".yaml" : file)};
  for (const std::string& word :
       has_out_parameter ? Words{"-p", "out=" + out} : Words{"--output", out}) {
    words.push_back(word);
  }
  words.insert(words.end(), parameters.begin(), parameters.end());
  return words;
}

std::string BatchExample::given(const std::string& out, const std::string& id,
                                const std::function<Exit(const Words&)>& proffer) const {
  if (result == Result::kBatchResults) return proffer({"batch", "results", id + stage}).out;
  std::string parts;
  for (const std::string& path : files_of(out + suffix)) {
    if (fs::path(path).filename().string().starts_with("part-")) parts += read_file(path);
  }
  return result == Result::kParts ? parts : sorted_lines(parts);
}

std::vector<BatchExample> batch_examples(const std::string& directory, int lines) {
  const std::string texts = directory + "/texts";
  fs::create_directory(texts);
  for (int copy = 0; copy <= lines / 10'000; ++copy) {
    for (const char* licence : {"Apache-2.0", "Artistic", "BSD", "GPL-2"}) {
      fs::copy_file(std::string("/usr/share/common-licenses/") + licence,
                    text(texts, "/", licence, ".", copy));
    }
  }
  const std::string rows = generated("rows", directory, lines);
  const std::string orders = generated("orders", directory, lines);
  const std::string requests = generated("requests", directory, lines);
  using Result = BatchExample::Result;
  return {
      {.name = "inverted_index",
       .job = "index",
       .parameters = reads(texts),
       .expected = index_of(texts)},
      {.name = "total_order",
       .job = "order",
       .parameters = reads(rows),
       .expected = all_in_order(rows),
       .result = Result::kParts},
      {.name = "join", .job = "join", .parameters = reads(orders), .expected = joined(orders)},
      {.name = "requests",
       .job = "requests",
       .parameters = reads(requests),
       .expected = hours_of(requests)},
      {.name = "clients",
       .job = "clients",
       .parameters = reads(requests),
       .expected = top_clients_of(requests),
       .result = Result::kParts,
       .suffix = "-top"},
      {.name = "wordcount",
       .file = "wordcount/job.yaml",
       .job = "wordcount",
       .parameters = {"--input", texts, "--split", "64KiB"},
       .has_out_parameter = false,
       .expected = counts_of(texts)},
      {.name = "pipeline",
       .file = "pipeline/licences.yaml",
       .job = "licences",
       .parameters = {"-p", "texts=" + texts},
       .expected = top_words_of(texts),
       .result = Result::kBatchResults,
       .suffix = "-report",
       .stage = ".report"},
      {.name = "sweep", .job = "sweep", .expected = cycles(), .result = Result::kBatchResults},
  };
}

BatchExample schedule_example(const std::string& directory) {
  const std::string input = directory + "/requests";
  Words parameters = reads(input);
  // Many maps, so that it takes as long as the other examples.
  parameters.insert(parameters.end(), {"-p", "when=* * * * *", "--split", "8KiB"});
  return {.name = "nightly",
          .job = "nightly",
          .parameters = std::move(parameters),
          .expected = sorted_lines(
              by_shell(std::string(kRequests) + "awk '{ print $9 }' | sort | uniq -c", input)),
          .is_schedule = true};
}

std::string why_no_mpi() {
  for (const char* program : {"mpirun", "mpicc"}) {
    if (run({"sh", "-c", std::string("command -v ") + program}).code != 0) {
      return std::string("not run: no ") + program +
             " of Open MPI here; tools/setup.sh --long installs it";
    }
  }
  return "";
}

BatchExample mpi_example(const std::string& directory) {
  const std::string compiled = directory + "/pi";
  const Exit made = run({"mpicc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", compiled,
                         kExamples + "batch/mpi/pi.c"});
  CHECK_EQ(made.code, 0) << made.err;
  BatchExample example{.name = "mpi",
                       .job = "mpi",
                       .parameters = {"-p", "meet=" + directory, "-p", "program=" + compiled},
                       .expected = "pi is 3.1415926536\n",
                       .result = BatchExample::Result::kBatchResults};
  for (int rank = 0; rank < 4; ++rank) {
    example.expected += text("rank ", rank, " runs in gang rank ", rank, "\n");
  }
  return example;
}

std::string without_groups(const std::string& lines) {
  std::string shorter;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    shorter += line.substr(0, line.find(", cgroup ")) + "\n";
  }
  return shorter;
}

}  // namespace proffer::test
