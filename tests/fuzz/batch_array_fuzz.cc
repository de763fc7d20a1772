// Texts of arrays, and lines of index.tsv.

#include "common/check.h"
#include "frameworks/batch/core/array.h"
#include "frameworks/batch/core/results.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_batch_array(Input input) {
  const std::string_view text = text_of(input);
  if (const Result<batch::ArrayText> array = batch::parse_array(text)) {
    const uint32_t count = batch::count_of(array->indices);
    CHECK(count > 0 && count <= batch::kElementsMax);
    CHECK_LE(batch::index_at(array->indices, count - 1), batch::kIndexMax);
    const batch::Indices last = batch::slice(array->indices, count / 2, count - count / 2);
    CHECK_EQ(batch::index_at(last, count - count / 2 - 1),
             batch::index_at(array->indices, count - 1));
  } else {
    check_told(array.error());
  }
  // A command with the text as one word, and with the text as one argument.
  const auto words = batch::command_for({std::string(text), "{}"}, text, 7);
  CHECK_EQ(words.size(), 2u);
  CHECK(words[1] == text);
  if (!batch::has_replacement({std::string(text)})) CHECK(words[0] == text);
  const Result<std::optional<batch::ElementResult>> line = batch::parse_results_line(text);
  if (!line) return check_told(line.error());
  if (!*line) return;
  std::string written = batch::results_line(**line);
  written.pop_back();
  const auto again = batch::parse_results_line(written);
  CHECK(again && *again && **again == **line);
}

}  // namespace proffer::fuzz
