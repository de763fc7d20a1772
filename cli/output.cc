#include "cli/output.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "common/foreign_variables.h"
#include "common/printable.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

// Width in terminal columns; UTF-8 continuation bytes have none.
size_t width(std::string_view cell) {
  return static_cast<size_t>(std::count_if(cell.begin(), cell.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// tenths/10 with one decimal, or without decimals if it is whole.
std::string one_decimal(int64_t tenths) {
  if (tenths % 10 == 0) return std::to_string(tenths / 10);
  return text(tenths / 10, ".", tenths % 10);
}

}  // namespace

int print_error(const Error& error, bool json) {
  if (json) {
    print_json(proto::error_json(error), stderr);
  } else {
    print_error_text(error);
  }
  if (error.code() == ErrorCode::kUnavailable) return kExitUnreachable;
  return error.code() == ErrorCode::kInvalidArgument ? kExitUsage : kExitRefused;
}

void print_variable_notes(std::string_view command, const std::vector<std::string>& env) {
  // A variable that the command or the file sets itself is named without a $.
  const auto is_set = [&](const std::string& name) {
    if (std::getenv(name.c_str()) != nullptr) return true;
    for (const std::string& one : env) {
      if (one.starts_with(name + "=")) return true;
    }
    for (size_t at = command.find(name); at != command.npos; at = command.find(name, at + 1)) {
      const char before = at == 0 ? ' ' : command[at - 1];
      const size_t end = at + name.size();
      const char behind = end < command.size() ? command[end] : ' ';
      if (before != '$' && before != '{' && (behind == ':' || behind == '=')) return true;
    }
    return false;
  };
  for (const std::string& one : foreign_variables(command, is_set)) print_note_text(one);
}

int usage_error(const Error& error, bool json) {
  print_error(error, json);
  return kExitUsage;
}

void Table::row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable_line(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::string> Table::lines() const {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::vector<std::string> lines;
  for (const std::vector<std::string>& row : rows_) {
    std::string& line = lines.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - width(row[i]) + 2, ' ');
    }
  }
  return lines;
}

void Table::print() const {
  std::string out;
  for (const std::string& line : lines()) out += line + "\n";
  print_lines(out);
}

int after_output(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  print_error(Error::unavailable("cannot write all of the output to standard output")
                  .with_hint("check whether it was closed or its disk is full"),
              false);
  return code == 0 ? kExitRefused : code;
}

std::string help_row(std::string_view name, std::string_view what, size_t columns) {
  const size_t blanks = columns - std::min(columns, name.size());
  return text("  ", name, std::string(blanks, ' '), " ", what, "\n");
}

std::string mebibytes(int64_t milli) {
  const int64_t mib = milli / 1000;
  if (mib < 1024) return text(print_milli(milli), " MiB");
  if (mib < 1024 * 1024) return text(one_decimal(mib * 10 / 1024), " GiB");
  return text(one_decimal(mib * 10 / 1024 / 1024), " TiB");
}

std::string use_of(const ResourceVector& used, const ResourceVector& total) {
  std::string out;
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] == 0 && used[kind] == 0) continue;
    if (!out.empty()) out += ", ";
    if (kind == ResourceKind::kMem || kind == ResourceKind::kDisk) {
      out += text(to_text(kind), " ", mebibytes(used[kind]), " of ", mebibytes(total[kind]));
    } else {
      out += text(to_text(kind), " ", print_milli(used[kind]), " of ", print_milli(total[kind]));
    }
  }
  return out;
}

std::string age(Duration duration) {
  const int64_t seconds = std::max<int64_t>(0, duration.nanos() / 1'000'000'000);
  if (seconds < 120) return text(seconds, "s");
  if (seconds < 7200) return text(seconds / 60, "m");
  if (seconds < 48 * 3600) return text(seconds / 3600, "h");
  return text(seconds / 86400, "d");
}

std::string percent(int64_t millionths) {
  return text(millionths / 10000, ".", millionths / 1000 % 10, "%");
}

}  // namespace proffer::cli
