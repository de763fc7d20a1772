#include "common/trace.h"

#include "common/printable.h"

namespace proffer {
namespace {

class Line : public TraceFields {
 public:
  explicit Line(std::string_view what) : text_(what) {}

  void word(std::string_view key, std::string_view value) override {
    begin(key);
    text_ += value;
  }
  void number(std::string_view key, int64_t value) override {
    begin(key);
    text_ += std::to_string(value);
  }
  void free_text(std::string_view key, std::string_view value) override {
    begin(key);
    text_ += log_value(value);
  }

  std::string take() { return std::move(text_); }

 private:
  void begin(std::string_view key) {
    text_ += ' ';
    text_ += key;
    text_ += '=';
  }

  std::string text_;
};

class Pairs : public TraceFields {
 public:
  void word(std::string_view key, std::string_view value) override { all.emplace_back(key, value); }
  void number(std::string_view key, int64_t value) override {
    all.emplace_back(key, std::to_string(value));
  }
  void free_text(std::string_view key, std::string_view value) override { word(key, value); }

  std::vector<std::pair<std::string_view, std::string>> all = {};
};

}  // namespace

std::string to_text(const TraceEvent& event) {
  Line line(event.what());
  event.fields(line);
  return line.take();
}

std::vector<std::pair<std::string_view, std::string>> fields_of(const TraceEvent& event) {
  Pairs pairs;
  event.fields(pairs);
  return std::move(pairs.all);
}

}  // namespace proffer
