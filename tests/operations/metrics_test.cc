// The metrics of masters and agents: their names agree with docs/concepts/metrics.md, and
// Prometheus' own linter accepts them.

#include <csignal>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/integration/processes.h"

namespace proffer::operations_test {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Names = std::set<std::string>;

Names names_served(const std::string& page) {
  constexpr std::string_view kType = "# TYPE ";
  Names names;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kType)) continue;
    names.insert(line.substr(kType.size(), line.find(' ', kType.size()) - kType.size()));
  }
  return names;
}

// The names in the first column of the tables.
Names names_documented() {
  Names names;
  std::istringstream lines(
      read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/concepts/metrics.md"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    std::istringstream cell(line.substr(2, line.find(" | ") - 2));
    for (std::string word; cell >> word;) {
      names.insert(word.substr(1, word.find('`', 1) - 1));
    }
  }
  return names;
}

std::string body_of(const std::string& answer) {
  const size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

Names without(Names names, const Names& others) {
  for (const std::string& name : others) names.erase(name);
  return names;
}

// The linter's complaints about the page; empty if there are none.
std::string lint(const std::string& page, const TemporaryDirectory& home) {
  write_file(home / "page", page);
  const Exit checked = run({"bash", "-c", "promtool check metrics < \"$0\"", home / "page"});
  return checked.code == 0 ? "" : checked.out + checked.err;
}

// Debian's python3-prometheus-client parses the page strictly; returns its complaints.
std::string parse_openmetrics(const std::string& page, const TemporaryDirectory& home) {
  write_file(home / "page", page);
  const Exit parsed =
      run({"/usr/bin/python3", "-c",
           "import sys; from prometheus_client.openmetrics.parser import "
           "text_string_to_metric_families as parse; list(parse(open(sys.argv[1]).read()))",
           home / "page"});
  return parsed.code == 0 ? "" : parsed.out + parsed.err;
}

TEST(Metrics, AreThoseOfTheirPageAndPleasePrometheus) {
  const Cluster cluster;
  ASSERT_EQ(cluster.proffer({"role", "set", "eng", "--guarantee", "cpus:2;mem:1GiB"}).code, 0);
  const auto waits = cluster.start({"run", "--name", "giant", "--cpus", "64", "--", "true"});
  ASSERT_EQ(cluster.proffer({"run", "--", "true"}).code, 0);
  std::string of_master;
  const auto has = [&](const std::string& line) {
    return of_master.find("\n" + line) != std::string::npos;
  };
  ASSERT_TRUE(eventually([&] {
    of_master = body_of(get_http(cluster.http(), "/metrics"));
    return has("proffer_framework_longest_wait_seconds{framework=\"giant-") &&
           has("proffer_conditions{condition=\"AskFitsNowhere\",severity=\"warning\"} 1") &&
           has("proffer_tasks_ended_total{state=\"finished\",reason=\"command_exited\"} 1");
  })) << of_master;
  const std::string of_agent = body_of(get_http(cluster.told_by("agent-1", "http"), "/metrics"));

  const TemporaryDirectory home;
  EXPECT_EQ(lint(of_master, home), "");
  EXPECT_EQ(lint(of_agent, home), "");
  EXPECT_NE(lint("# TYPE proffer_things_total gauge\nproffer_things_total 1\n", home), "");

  // The same in the OpenMetrics format, with another parser.
  const std::string accept = "Accept: application/openmetrics-text; version=1.0.0\r\n";
  for (const std::string& place : {cluster.http(), cluster.told_by("agent-1", "http")}) {
    const std::string answer = get_http(place, "/metrics", accept);
    EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: application/openmetrics-text; version=1.0.0"));
    EXPECT_EQ(parse_openmetrics(body_of(answer), home), "");
  }
  EXPECT_NE(parse_openmetrics("# TYPE a counter\na 1\n# EOF\n", home), "");

  Names served = names_served(of_master);
  served.merge(names_served(of_agent));
  const Names documented = names_documented();
  EXPECT_GT(documented.size(), 60u);
  EXPECT_THAT(without(served, documented), IsEmpty()) << "served, and not in metrics.md";
  EXPECT_THAT(without(documented, served), IsEmpty()) << "in metrics.md, and not served";

  for (const char* line :
       {"proffer_master_leads 1",
        "proffer_conditions{condition=\"AskFitsNowhere\",severity=\"warning\"} 1",
        "proffer_conditions{condition=\"AgentLost\",severity=\"warning\"} 0",
        "proffer_agents{state=\"connected\"} 1",
        "proffer_resources_capacity{kind=\"mem\",unit=\"byte\"} 4294967296",
        "proffer_role_resources_guarantee{role=\"eng\",kind=\"cpus\",unit=\"cpu\"} 2",
        "proffer_role_resources_guarantee{role=\"eng\",kind=\"mem\",unit=\"byte\"} 1073741824",
        "proffer_framework_launches_total{framework=\"other\"} 0",
        "proffer_queue_items_max{queue=\"registry_writes\"} 20000",
        "proffer_connections_refused_total{reason=\"too_often\"} 0"}) {
    EXPECT_TRUE(has(line)) << line << " is not in\n" << of_master;
  }
  // Metrics of the kernel and of the loop.
  for (const std::string& page : {of_master, of_agent}) {
    EXPECT_THAT(page, HasSubstr("\nprocess_open_fds "));
    EXPECT_THAT(page, Not(HasSubstr("process_open_fds 0\n")));
    EXPECT_THAT(page, Not(HasSubstr("process_resident_memory_bytes 0\n")));
    EXPECT_THAT(page, Not(HasSubstr("proffer_loop_turn_seconds_count 0\n")));
  }
}

// Prometheus accepts every expression of the dashboard, and its metrics exist.
TEST(Dashboard, AsksForMetricsThatAreServed) {
  const std::string source = PROFFER_SOURCE_DIR;
  const auto dashboard = nlohmann::json::parse(
      read_file(source + "/packaging/prometheus/grafana-dashboard.json"), nullptr, false);
  ASSERT_TRUE(dashboard.is_object());
  Names documented = names_documented();
  documented.insert("up");
  std::string rules = "groups:\n  - name: dashboard\n    rules:\n";
  const std::regex name("(proffer|process)_[a-z_]+|up\\b");
  int asked = 0;
  for (const auto& panel : dashboard.at("panels")) {
    for (const auto& target : panel.at("targets")) {
      const std::string expression = target.at("expr");
      rules += "      - record: r" + std::to_string(++asked) +
               "\n        expr: " + nlohmann::json(expression).dump() + "\n";
      // A quoted text is the value of a label.
      const std::string bare = std::regex_replace(expression, std::regex("\"[^\"]*\""), "");
      for (std::sregex_iterator at(bare.begin(), bare.end(), name), end; at != end; ++at) {
        const std::string family =
            std::regex_replace((*at)[0].str(), std::regex("_(bucket|sum|count)$"), "");
        EXPECT_TRUE(documented.contains(family)) << family << " in " << expression;
      }
    }
  }
  EXPECT_GE(asked, 20);
  const TemporaryDirectory home;
  write_file(home / "rules.yml", rules);
  const Exit checked = run({"promtool", "check", "rules", home / "rules.yml"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
}

// The value of a sample; -1 if it does not exist.
double value_of(const std::string& page, const std::string& sample) {
  const size_t at = page.find("\n" + sample + " ");
  return at == std::string::npos ? -1 : std::stod(page.substr(at + sample.size() + 2));
}

// In an idle cluster, all three have the same numbers.
TEST(Metrics, SayWhatTheStatusSays) {
  const Cluster cluster({.agents = 2, .resources = "cpus:1.5;mem:1000"});
  const auto held = cluster.start(
      {"run", "--count", "2", "--cpus", "0.25", "--mem", "100", "--", "exec sleep 1000"});
  ASSERT_EQ(cluster.proffer({"run", "--", "true"}).code, 0);
  ASSERT_NE(cluster.proffer({"run", "--", "exit 3"}).code, 0);
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks() == 2; })) << held->err();
  nlohmann::json status;
  std::string page;
  ASSERT_TRUE(eventually([&] {  // the ended frameworks are gone
    status = nlohmann::json::parse(body_of(get_http(cluster.http(), "/v1/status")));
    page = body_of(get_http(cluster.http(), "/metrics"));
    return status.at("offers") == 0 && status.at("tasks_ended") == 2 &&
           value_of(page, "proffer_offers") == 0;
  })) << status;
  EXPECT_EQ(status, [&] {
    auto printed = nlohmann::json::parse(cluster.proffer({"status", "--json"}).out);
    printed["now_s"] = status.at("now_s");
    return printed;
  }());
  const std::map<std::string, std::string> same = {
      {"agents_connected", "proffer_agents{state=\"connected\"}"},
      {"agents_disconnected", "proffer_agents{state=\"disconnected\"}"},
      {"agents_unreachable", "proffer_agents{state=\"unreachable\"}"},
      {"agents_gone", "proffer_agents{state=\"gone\"}"},
      {"agents_awaited", "proffer_agents{state=\"awaited\"}"},
      {"agents_held_back", "proffer_agents_held_back"},
      {"frameworks_connected", "proffer_frameworks{state=\"connected\"}"},
      {"frameworks_disconnected", "proffer_frameworks{state=\"disconnected\"}"},
      {"tasks_staging", "proffer_tasks{state=\"staging\"}"},
      {"tasks_running", "proffer_tasks{state=\"running\"}"},
      {"tasks_killing", "proffer_tasks{state=\"killing\"}"},
      {"tasks_unreachable", "proffer_tasks{state=\"unreachable\"}"},
      {"offers", "proffer_offers"}};
  for (const auto& [member, sample] : same) {
    EXPECT_EQ(value_of(page, sample), status.value(member, -2.0)) << member;
  }
  EXPECT_EQ(status.at("tasks_running"), 2);
  for (const auto& [member, name] :
       std::map<std::string, std::string>{{"total", "capacity"}, {"allocated", "allocated"}}) {
    const std::string family = "proffer_resources_" + name;
    EXPECT_EQ(value_of(page, family + "{kind=\"cpus\",unit=\"cpu\"}"),
              status.at(member).at("cpus").get<double>());
    EXPECT_EQ(value_of(page, family + "{kind=\"mem\",unit=\"byte\"}"),
              status.at(member).at("mem").get<double>() * (1 << 20));
  }
  const auto ended = [&](const std::string& how) {
    return value_of(page, "proffer_tasks_ended_total{" + how + "}");
  };
  EXPECT_EQ(ended("state=\"finished\",reason=\"command_exited\""), 1);
  EXPECT_EQ(ended("state=\"failed\",reason=\"command_exited\""), 1);
}

// The collectors' token persists across restarts, and gives access to metrics only.
TEST(Metrics, AreReadAtThePortWithATokenOfTheirOwn) {
  const TemporaryDirectory home;
  std::string kept;
  for (int life = 1; life <= 2; ++life) {
    std::filesystem::remove(home / "m/address.json");
    Process master({program("proffer-master"), "--data_dir=" + (home / "m"),
                    "--socket=" + (home / "m.sock"), "--http_port=0"});
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(home / "m/address.json"); }));
    const auto told = nlohmann::json::parse(read_file(home / "m/address.json"));
    const std::string place = told.at("http_port");
    const std::string token = read_file(home / "m/metrics_token");
    EXPECT_EQ(token.size(), 33u);
    if (life == 1) {
      kept = token;
      EXPECT_EQ(std::filesystem::status(home / "m/metrics_token").permissions(),
                std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    }
    EXPECT_EQ(token, kept);
    const std::string bearer = "Authorization: Bearer " + token.substr(0, 32) + "\r\n";
    EXPECT_THAT(get_http(place, "/metrics", bearer), HasSubstr("\nproffer_master_leads 1\n"));
    EXPECT_THAT(get_http(place, "/metrics"), HasSubstr(" 401 "));
    for (const char* path : {"/v1/status", "/v1/agents", "/metrics/", "//metrics"}) {
      EXPECT_THAT(get_http(place, path, bearer), HasSubstr(" 401 ")) << path;
    }
    EXPECT_THAT(ask_http(place, "POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n" + bearer +
                                    "Content-Length: 0\r\nConnection: close\r\n\r\n"),
                HasSubstr(" 401 "));
    master.kill(SIGTERM);
    EXPECT_EQ(master.wait().code, 0);
  }
}

}  // namespace
}  // namespace proffer::operations_test
