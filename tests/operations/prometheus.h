#pragma once

// A Prometheus server that scrapes masters with the shipped rules; its times are shortened to
// seconds.

#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/text.h"
#include "tests/integration/processes.h"

namespace proffer::operations_test {

// A master to scrape: its HTTP address and its token file.
struct ScrapedMaster {
  std::string address = {};
  std::string token_file = {};
};

class Prometheus {
 public:
  using Names = std::set<std::string>;

  explicit Prometheus(const std::vector<ScrapedMaster>& masters) {
    const std::string shipped = std::string(PROFFER_SOURCE_DIR) + "/packaging/prometheus/";
    const std::string rules = test::read_file(shipped + "proffer.rules.yml");
    test::write_file(home_ / "proffer.rules.yml",
                     std::regex_replace(rules, std::regex("for: [0-9]+[a-z]+"), "for: 3s"));
    std::string config =
        "global: {scrape_interval: 1s, evaluation_interval: 200ms}\n"
        "rule_files: [proffer.rules.yml]\n"
        "scrape_configs:\n";
    int number = 0;
    for (const ScrapedMaster& master : masters) {
      // Each master is a separate target, because each has its own token.
      config += text("  - job_name: master-", ++number,
                     "\n    relabel_configs: [{target_label: job, replacement: proffer-master}]\n"
                     "    authorization: {credentials_file: ",
                     master.token_file, "}\n    static_configs: [{targets: [\"", master.address,
                     "\"]}]\n");
    }
    test::write_file(home_ / "prometheus.yml", config);
    process_ = std::make_unique<test::Process>(
        test::Words{"prometheus", "--config.file=" + (home_ / "prometheus.yml"),
                    "--storage.tsdb.path=" + (home_ / "data"), "--web.listen-address=127.0.0.1:0",
                    "--enable-feature=exemplar-storage"});
    const std::string said = "msg=\"Listening on\" address=";
    if (!process_->complains(said)) return;
    const std::string& log = process_->err();
    const size_t at = log.find(said) + said.size();
    address_ = log.substr(at, log.find_first_of(" \n", at) - at);
  }

  bool is_ready() const {
    return test::eventually([&] { return ask("/-/ready").find(" 200 ") != std::string::npos; }) &&
           test::eventually([&] { return samples("up == 1") > 0; });
  }
  // The names of firing alerts.
  Names firing() const {
    Names names;
    const auto alerts = answer("/api/v1/alerts");
    if (!alerts.is_object()) return names;
    for (const auto& alert : alerts.at("data").at("alerts")) {
      if (alert.at("state") == "firing") names.insert(alert.at("labels").at("alertname"));
    }
    return names;
  }
  // All alerts that fire during `times` evaluations of the rules, 200 ms each, or during the time
  // that an alert must hold to fire if that is longer.
  Names firing_for(int times) const {
    Names names;
    const int64_t until = evaluations() + times;
    EXPECT_TRUE(test::eventually([&] {
      names.merge(firing());
      return evaluations() >= until;
    })) << log();
    return names;
  }
  // The value of a label of the newest exemplar of `query`; empty if there is none.
  std::string exemplar(const std::string& query, const std::string& label) const {
    const auto found =
        answer("/api/v1/query_exemplars?start=0&end=9999999999&query=" + escaped(query));
    if (!found.is_object() || found.at("data").empty()) return "";
    return found.at("data").back().at("exemplars").back().at("labels").at(label);
  }
  const std::string& log() const { return process_->err(); }

 private:
  std::string ask(const std::string& target) const { return test::get_http(address_, target); }
  nlohmann::json answer(const std::string& target) const {
    const std::string whole = ask(target);
    const size_t body = whole.find('{');
    if (body == std::string::npos) return {};
    return nlohmann::json::parse(whole.substr(body, whole.rfind('}') + 1 - body), nullptr, false);
  }
  static std::string escaped(const std::string& query) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyz_0123456789";
    std::string all;
    for (const char c : query) {
      all +=
          kPlain.find(c) != std::string_view::npos ? std::string(1, c) : fmt::format("%{:02X}", c);
    }
    return all;
  }
  size_t samples(const std::string& query) const {
    const auto found = answer("/api/v1/query?query=" + escaped(query));
    return found.is_object() ? found.at("data").at("result").size() : 0;
  }
  int64_t evaluations() const {
    std::istringstream lines(ask("/metrics"));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("prometheus_rule_group_iterations_total{")) {
        return std::stoll(line.substr(line.rfind(' ') + 1));
      }
    }
    return 0;
  }

  test::TemporaryDirectory home_;
  std::unique_ptr<test::Process> process_;
  std::string address_;
};

}  // namespace proffer::operations_test
