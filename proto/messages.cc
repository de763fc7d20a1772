#include "proto/messages.h"

#include <array>

namespace proffer::proto {
namespace {

constexpr std::array kMessageNames = {
    std::string_view("unknown"),
    std::string_view("subscribe"),
    std::string_view("declare_asks"),
    std::string_view("accept"),
    std::string_view("decline"),
    std::string_view("suppress"),
    std::string_view("revive"),
    std::string_view("kill_task"),
    std::string_view("acknowledge"),
    std::string_view("reconcile"),
    std::string_view("framework_message"),
    std::string_view("teardown"),
    std::string_view("subscribed"),
    std::string_view("offers"),
    std::string_view("rescind"),
    std::string_view("update"),
    std::string_view("ask_report"),
    std::string_view("failure"),
    std::string_view("error"),
    std::string_view("register_agent"),
    std::string_view("register_tasks"),
    std::string_view("unregister_agent"),
    std::string_view("agent_registered"),
    std::string_view("run_task"),
    std::string_view("shutdown_framework"),
    std::string_view("executor_hello"),
    std::string_view("executor_welcome"),
    std::string_view("executor_update"),
    std::string_view("executor_shutdown"),
    std::string_view("heartbeat"),
    std::string_view("call"),
    std::string_view("reply"),
};
static_assert(kMessageNames.size() == std::variant_size_v<Message>);

}  // namespace

std::string_view message_name(const Message& message) { return kMessageNames[message.index()]; }

}  // namespace proffer::proto
