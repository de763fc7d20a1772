// proffer accounting: the use of each role in a month.

#include "cli/accounting.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/history.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

constexpr Thousandths kSecondsPerHour = 3600;
constexpr Thousandths kMebibytesPerGibibyte = 1024;

Time begin_of(std::chrono::year_month month) {
  const std::chrono::sys_days day(month / std::chrono::day(1));
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(day.time_since_epoch());
  return Time::from_nanos(since.count());
}

Thousandths sum_of(const UseSum& sums, ResourceKind kind) {
  return sums[static_cast<size_t>(kind)];
}

// CPU and GPU hours; GiB hours of memory and disk.
std::string hours_of(const UseSum& sums, ResourceKind kind) {
  const bool is_bytes = kind == ResourceKind::kMem || kind == ResourceKind::kDisk;
  return decimal(sum_of(sums, kind) / kSecondsPerHour / (is_bytes ? kMebibytesPerGibibyte : 1));
}
std::string seconds_of(const UseSum& sums, ResourceKind kind) {
  return decimal(sum_of(sums, kind));
}

constexpr std::array<std::pair<ResourceKind, std::string_view>, 4> kColumns = {
    {{ResourceKind::kCpus, "cpu"},
     {ResourceKind::kMem, "mem_gib"},
     {ResourceKind::kDisk, "disk_gib"},
     {ResourceKind::kGpus, "gpu"}}};
constexpr std::array<std::pair<ResourceKind, std::string_view>, 4> kExactColumns = {
    {{ResourceKind::kCpus, "cpu"},
     {ResourceKind::kMem, "mem_mib"},
     {ResourceKind::kDisk, "disk_mib"},
     {ResourceKind::kGpus, "gpu"}}};

std::string json_of(std::string_view begin, const UseSum& sums) {
  std::string out(begin);
  for (const auto& [kind, name] : kColumns) {
    out += text(",\"", name, "_hours\":", hours_of(sums, kind));
  }
  for (const auto& [kind, name] : kExactColumns) {
    out += text(",\"", name, "_seconds\":", seconds_of(sums, kind));
  }
  return out + "}";
}

int64_t whole_seconds(Time time) { return time.nanos() / 1'000'000'000; }

}  // namespace

Result<Month> parse_month(std::string_view text) {
  const auto wrong = [&] {
    return Error::invalid_argument(
        proffer::text("a month must be YYYY-MM from 1970-01 to 2200-12, not ", quoted(text)));
  };
  if (text.size() != 7 || text[4] != '-') return wrong();
  const Result<int64_t> year = parse_whole("year", text.substr(0, 4), 1970, 2200);
  const Result<int64_t> month = parse_whole("month", text.substr(5), 1, 12);
  if (!year || !month) return wrong();
  const std::chrono::year_month first{std::chrono::year(static_cast<int>(*year)),
                                      std::chrono::month(static_cast<unsigned>(*month))};
  return Month{.name = std::string(text),
               .from = begin_of(first),
               .until = begin_of(first + std::chrono::months(1))};
}

void add(const proto::HistoryPage& page, Accounting& accounting) {
  const Month& month = accounting.month;
  for (const proto::RoleUse& use : page.roles) {
    accounting.known_from = std::min(accounting.known_from.value_or(use.from), use.from);
    if (use.from < month.from || use.from >= month.until) continue;
    UseSum& sums = accounting.roles[use.role];
    for (const ResourceKind kind : kResourceKinds) {
      sums[static_cast<size_t>(kind)] += use.seconds[kind];
      accounting.total[static_cast<size_t>(kind)] += use.seconds[kind];
    }
  }
  for (const proto::HistoryGap& gap : page.gaps) {
    if (gap.from < month.until && gap.until > month.from) accounting.gaps.push_back(gap);
  }
}

std::string decimal(Thousandths value) {
  const auto whole = static_cast<int64_t>(value / 1000);
  std::string digits = std::to_string(static_cast<int64_t>(value % 1000));
  digits.insert(0, 3 - digits.size(), '0');
  return text(whole, ".", digits);
}

std::string accounting_csv(const Accounting& accounting) {
  std::string out = "month,role";
  for (const auto& [kind, name] : kColumns) out += text(",", name, "_hours");
  for (const auto& [kind, name] : kExactColumns) out += text(",", name, "_seconds");
  out += '\n';
  for (const auto& [role, sums] : accounting.roles) {
    out += text(accounting.month.name, ",", role.str());
    for (const auto& [kind, name] : kColumns) out += text(",", hours_of(sums, kind));
    for (const auto& [kind, name] : kExactColumns) out += text(",", seconds_of(sums, kind));
    out += '\n';
  }
  return out;
}

std::string accounting_json(const Accounting& accounting) {
  const Month& month = accounting.month;
  std::string out = text("{\"month\":\"", month.name, "\",\"from_s\":", whole_seconds(month.from),
                         ",\"until_s\":", whole_seconds(month.until), ",\"roles\":[");
  std::string_view comma = "";
  for (const auto& [role, sums] : accounting.roles) {
    // A role's name needs no escapes.
    out += text(std::exchange(comma, ","), json_of(text("{\"role\":\"", role.str(), "\""), sums));
  }
  out += text(
      "],",
      json_of("\"total\":{\"roles\":" + std::to_string(accounting.roles.size()), accounting.total),
      ",\"gaps\":[");
  comma = "";
  for (const proto::HistoryGap& gap : accounting.gaps) {
    out += text(std::exchange(comma, ","), "{\"from_s\":", whole_seconds(gap.from),
                ",\"until_s\":", whole_seconds(gap.until), "}");
  }
  out += ']';
  if (accounting.known_from) {
    out += text(",\"known_from_s\":", whole_seconds(*accounting.known_from));
  }
  return out + "}";
}

int run_accounting(const Words& words) {
  std::string master_flag;
  std::string month_name;
  bool csv = false;
  bool json = false;
  Arguments arguments("proffer accounting YYYY-MM [--csv | --json]",
                      "show the resources that roles used in a month (UTC), from the history");
  arguments.master(&master_flag);
  arguments.flag("--csv", &csv, "print comma-separated values");
  arguments.flag("--json", &json, "print one JSON object");
  arguments.required("YYYY-MM", &month_name, "month, as in 2026-11");
  arguments.note(
      "The numbers are CPU hours, GPU hours, and GiB hours of memory and disk. --csv and --json "
      "also have seconds and MiB seconds.");
  arguments.examples({"proffer accounting 2026-11 --csv > november.csv"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const Result<Month> month = parse_month(month_name);
  if (!month) return usage_error(month.error(), json);
  if (csv && json)
    return usage_error(Error::invalid_argument("--csv and --json exclude each other"), json);

  Accounting accounting{.month = *month};
  const Result<std::vector<proto::MasterRow>> missing =
      sdk::visit_history(*master, {.since = month->from - kDaysBefore, .roles = true},
                         [&](const proto::HistoryPage& page) { add(page, accounting); });
  if (!missing) return print_error(missing.error(), json);
  if (json) {
    print_json(accounting_json(accounting));
  } else if (csv) {
    const std::string lines = accounting_csv(accounting);
    print_lines(lines);
  } else {
    Table table({"ROLE", "CPU HOURS", "MEM GiB HOURS", "DISK GiB HOURS", "GPU HOURS"});
    const auto add_row = [&](const std::string& name, const UseSum& sums) {
      std::vector<std::string> cells = {name};
      for (const auto& [kind, column] : kColumns) cells.push_back(hours_of(sums, kind));
      table.row(std::move(cells));
    };
    for (const auto& [role, sums] : accounting.roles) add_row(role.str(), sums);
    add_row("all", accounting.total);
    table.print();
  }
  // Gaps in the history make a bill too low, so each one is a warning.
  const auto warn = [](const std::string& words_of_it) { print_warning_text(words_of_it); };
  for (const proto::HistoryGap& gap : accounting.gaps) {
    warn(text("the history has a gap from ", local_time(gap.from), " to ", local_time(gap.until),
              ": use in the gap may be missing"));
  }
  if (!accounting.known_from || *accounting.known_from > month->from) {
    warn(text("no use is recorded",
              accounting.known_from ? " before " + local_time(*accounting.known_from) : "",
              ": either nothing ran, or the history has expired (the master's --history_age and "
              "--history_mib)"));
  }
  for (const proto::MasterRow& one : *missing) warn(missing_words(one));
  return 0;
}

}  // namespace proffer::cli
