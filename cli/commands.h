#pragma once

// The commands, each in its own file. Input is the words, output the exit status.

#include <string>
#include <vector>

namespace proffer::cli {

using Words = std::vector<std::string>;

int run_status(const Words& words);
int run_debug(const Words& words);
int run_top(const Words& words);
int run_agent(const Words& words);
int run_agents(const Words& words);
int run_frameworks(const Words& words);
int run_role(const Words& words);
int run_drain(const Words& words);
int run_undrain(const Words& words);
int run_backup(const Words& words);
int run_teardown(const Words& words);
int run_reserve(const Words& words);
int run_unreserve(const Words& words);
int run_snapshot(const Words& words);
int run_offers(const Words& words);
int run_explain(const Words& words);
int run_blame(const Words& words);
int run_tasks(const Words& words);
int run_exec(const Words& words);
int run_keys(const Words& words);
int run_secret(const Words& words);
int run_join(const Words& words);
int run_join_token(const Words& words);
int run_accounting(const Words& words);
int run_events(const Words& words);
int run_history(const Words& words);
int run_usage(const Words& words);
int run_logs(const Words& words);
int run_service_logs(const Words& words);
int run_service_autoscale(const Words& words);
int run_service_proxy(const Words& words);
int run_service_servers(const Words& words);
int run_kill(const Words& words);
int run_run(const Words& words);
int run_service(const Words& words);
int run_dev(const Words& words);
int run_conformance(const Words& words);

}  // namespace proffer::cli
