#include "net/trace_log.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer {
namespace {

constexpr uint64_t kWarningsPerSecond = 10;

Error file_error(std::string_view verb, const std::string& path) {
  return Error::unavailable(text("cannot ", verb, " ", quoted(path), ": ", std::strerror(errno)));
}

}  // namespace

void TraceLog::write(const std::vector<TraceEvent>& events, int64_t now_s) {
  for (const TraceEvent& event : events) {
    ++counts_[event.what()];
    switch (event.level()) {
      case TraceLevel::kLongLived:
        LOG(INFO) << to_text(event);
        break;
      case TraceLevel::kShortLived:
        VLOG(1) << to_text(event);
        break;
      case TraceLevel::kMessage:
        VLOG(2) << to_text(event);
        break;
      case TraceLevel::kMisbehaved:
        warn(event, now_s);
        break;
      case TraceLevel::kOperator:
        LOG(ERROR) << to_text(event);
        break;
    }
  }
}

void TraceLog::warn(const TraceEvent& event, int64_t now_s) {
  // One user's events do not keep those of another out of the log.
  std::string user;
  for (const auto& [key, value] : fields_of(event)) {
    if (key == "user") user = value;
  }
  Limit& limit = limits_[{event.what(), std::move(user)}];
  if (limit.second != now_s) {
    limit.second = now_s;
    limit.in_second = 0;
  }
  if (++limit.in_second > kWarningsPerSecond) {
    ++limit.left_out;
    return;
  }
  if (limit.left_out > 0) {
    LOG(WARNING) << to_text(event) << " left_out=" << limit.left_out;
    limit.left_out = 0;
  } else {
    LOG(WARNING) << to_text(event);
  }
}

void MetricsText::sample(std::string_view type, std::string_view name, std::string_view help,
                         std::string_view value, const Labels& labels) {
  if (last_name_ != name) {
    last_name_ = name;
    text_ += text("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
  }
  line(name, value, labels);
}

void MetricsText::line(std::string_view name, std::string_view value, const Labels& labels) {
  text_ += name;
  for (size_t i = 0; i < labels.size(); ++i) {
    text_ += i == 0 ? "{" : ",";
    text_ += text(labels[i].first, "=\"");
    for (const char c : labels[i].second) {
      if (c == '\\' || c == '"') text_ += '\\';
      if (c == '\n')
        text_ += "\\n";
      else
        text_ += c;
    }
    text_ += '"';
  }
  if (!labels.empty()) text_ += '}';
  text_ += text(" ", value, "\n");
}

void MetricsText::gauge(std::string_view name, std::string_view help, int64_t value,
                        const Labels& labels) {
  sample("gauge", name, help, std::to_string(value), labels);
}

void MetricsText::counter(std::string_view name, std::string_view help, uint64_t value,
                          const Labels& labels) {
  sample("counter", name, help, std::to_string(value), labels);
}

void MetricsText::gauge_milli(std::string_view name, std::string_view help, int64_t milli,
                              const Labels& labels) {
  sample("gauge", name, help, print_milli(milli), labels);
}

void MetricsText::latency(std::string_view name, std::string_view help,
                          const LatencyHistogram& histogram, const Labels& labels) {
  const auto in_seconds = [](Duration duration) {
    return fmt::format("{:.6f}", duration.seconds());
  };
  for (const auto& [permille, quantile] : {std::pair(500, "0.5"), std::pair(900, "0.9"),
                                           std::pair(990, "0.99"), std::pair(999, "0.999")}) {
    Labels of_quantile = labels;
    of_quantile.emplace_back("quantile", quantile);
    sample("summary", name, help, in_seconds(histogram.percentile(permille)), of_quantile);
  }
  line(text(name, "_sum"), in_seconds(histogram.sum()), labels);
  line(text(name, "_count"), std::to_string(histogram.count()), labels);
}

void MetricsText::events(const TraceLog& log) {
  for (const auto& [what, count] : log.counts()) {
    counter("proffer_events_total", "What happened, by kind of event.", count,
            {{"event", std::string(what)}});
  }
}

Result<void> write_file_atomically(const std::string& path, std::string_view bytes, mode_t mode) {
  const std::string temporary = path + ".new";
  ::unlink(temporary.c_str());  // One that was left may have another mode.
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return file_error("write", temporary);
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      const Error error = file_error("write", temporary);
      ::close(fd);
      return error;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (::close(fd) != 0) return file_error("write", temporary);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return file_error("rename to", path);
  return {};
}

}  // namespace proffer
