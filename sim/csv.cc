// Reads a table of comma-separated values; its header gives the position of each column.

#include "sim/csv.h"

#include <algorithm>
#include <optional>
#include <string>

#include "common/text.h"

namespace proffer::sim {
namespace {

// The position of each requested column in a line.
using Places = std::vector<std::optional<size_t>>;

std::string names_of(const std::vector<CsvColumn>& columns) {
  std::string names;
  for (const CsvColumn& column : columns) {
    names += text(names.empty() ? "" : ",", column.name);
  }
  return names;
}

Result<Places> read_head(std::string_view head, const std::vector<CsvColumn>& columns,
                         bool others) {
  const auto wrong = [&](const std::string& what) {
    return Error::invalid_argument(what).with_hint(
        text("the first line names the columns: ", names_of(columns)));
  };
  Places places(columns.size());
  const std::vector<std::string_view> names = split(head, ',');
  for (size_t place = 0; place < names.size(); ++place) {
    const auto column = std::find_if(columns.begin(), columns.end(), [&](const CsvColumn& one) {
      return one.name == names[place];
    });
    if (column == columns.end()) {
      if (others) continue;
      std::vector<std::string_view> known;
      for (const CsvColumn& one : columns) known.push_back(one.name);
      const std::string_view near = nearest(names[place], known);
      return wrong(text("unknown column ", quoted(names[place]),
                        near.empty() ? std::string() : text("; did you mean ", near, "?")));
    }
    std::optional<size_t>& of = places[static_cast<size_t>(column - columns.begin())];
    if (of) return wrong(text("two columns are named ", quoted(names[place])));
    of = place;
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].required && !places[i]) {
      return wrong(text("there is no column ", quoted(columns[i].name)));
    }
  }
  return places;
}

}  // namespace

Result<void> read_csv(std::string_view table, const std::vector<CsvColumn>& columns, bool others,
                      const std::function<Result<void>(const CsvValues& values)>& read) {
  std::optional<Places> places;
  size_t width = 0;
  CsvValues values(columns.size());
  for (size_t number = 1; !table.empty(); ++number) {
    const auto at_line = [&](Error error) { return std::move(error).in(text("line ", number)); };
    const size_t end = std::min(table.find('\n'), table.size());
    const std::string_view line = trimmed(table.substr(0, end));
    table.remove_prefix(std::min(end + 1, table.size()));
    if (line.empty()) continue;
    if (line.find('"') != std::string_view::npos) {
      return at_line(Error::invalid_argument("values must not have quotes or commas"));
    }
    const std::vector<std::string_view> parts = split(line, ',');
    if (!places) {
      Result<Places> head = read_head(line, columns, others);
      if (!head) return at_line(std::move(head).error());
      places = *std::move(head);
      width = parts.size();
      continue;
    }
    if (parts.size() != width) {
      return at_line(Error::invalid_argument(
          text("there are ", parts.size(), " values, but the first line names ", width)));
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      values[i] = (*places)[i] ? parts[*(*places)[i]] : std::string_view();
    }
    if (Result<void> ok = read(values); !ok) return at_line(std::move(ok).error());
  }
  if (places) return {};
  return Error::invalid_argument("no line names the columns")
      .with_hint(text("the first line must be ", names_of(columns)));
}

}  // namespace proffer::sim
