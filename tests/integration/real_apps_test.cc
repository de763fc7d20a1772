// Realistic apps from Debian: a redis, and a client that starts after it and finds it.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/service_json.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

using ::testing::HasSubstr;

// Counts requests in the redis from its environment, and answers with the count. Without a redis it
// answers 503 and says so.
constexpr std::string_view kVisits = R"(import http.server, os, socket, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            host, port = os.environ["PROFFER_SERVICE_REDIS"].split(",")[0].rsplit(":", 1)
            with socket.create_connection((host, int(port)), timeout=5) as redis:
                redis.sendall(b"INCR visits\r\n")
                answer, status = redis.recv(100).decode().strip(), 200
        except Exception as e:
            answer, status = "no redis: %s" % e, 503
        body = answer.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
)";

struct RealApps : testing::Test {
  static proto::ServiceStatusPage status(const Cluster& cluster, const std::string& app) {
    const Exit shown = cluster.proffer({"service", "status", app, "--json"});
    auto page = proto::parse_service_status(shown.out);
    return page ? *std::move(page) : proto::ServiceStatusPage();
  }
  // Addresses of the ready instances; empty until they have reported them.
  static std::vector<std::string> addresses(const Cluster& cluster, const std::string& app,
                                            const std::string& port) {
    std::vector<std::string> found;
    const auto page =
        proto::parse_servers(cluster.proffer({"service", "servers", app, "--json"}).out);
    if (!page) return found;
    for (const proto::ServerRow& row : page->servers) {
      if (row.ports.count(port) > 0) found.push_back(text(row.host, ':', row.ports.at(port)));
    }
    return found;
  }

  TemporaryDirectory home_;
};

TEST_F(RealApps, AClientStartsAfterItsRedisAndFindsIt) {
  Cluster cluster({.agents = 2, .resources = "cpus:4;mem:2048", .service = true});
  write_file(home_ / "visits.py", std::string(kVisits));
  const std::string path = home_ / "visits.yaml";
  write_file(path, text("name: visits\ninstances: 2\nafter: [redis]\nfind: [redis]\n"
                        "ports: [http]\nresources: 'cpus:0.1;mem:64'\n"
                        "command: 'exec python3 ",
                        home_ / "visits.py", " $PORT_http'\n---\n",
                        "name: redis\nports: [redis]\nresources: 'cpus:0.5;mem:128'\n"
                        "command: exec redis-server --bind 127.0.0.1 --port $PORT_redis --save ''\n"
                        "health:\n  command: test \"$(redis-cli -p $PORT_redis PING)\" = PONG\n"
                        "  interval: 200ms\n"));
  const Exit applied = cluster.proffer({"service", "apply", path, "--wait"}, Seconds(120));
  ASSERT_EQ(applied.code, 0) << applied.err << cluster.proffer({"service", "logs", "redis"}).out;
  const std::vector<std::string> clients = addresses(cluster, "visits", "http");
  ASSERT_EQ(clients.size(), 2u);
  for (int count = 1; count <= 6; ++count) {
    EXPECT_THAT(get_http(clients.at(static_cast<size_t>(count) % 2), "/"),
                HasSubstr(text("\r\n\r\n:", count)));
  }

  // The redis ends and is replaced by an empty one: the clients run on, with the old address.
  const std::string redis = status(cluster, "redis").instances.at(0).task.str();
  const proto::ServiceStatusPage before = status(cluster, "visits");
  ASSERT_EQ(cluster.proffer({"kill", redis}).code, 0);
  ASSERT_TRUE(eventually([&] {
    const proto::ServiceStatusPage page = status(cluster, "redis");
    return page.app.ready == 1 && page.instances.at(0).task.str() != redis;
  }));
  const proto::ServiceStatusPage after = status(cluster, "visits");
  EXPECT_EQ(after.app.ready, 2);
  EXPECT_EQ(after.instances, before.instances);

  // An instance that starts now gets the new address.
  for (const proto::ServiceInstanceRow& row : after.instances) {
    ASSERT_EQ(cluster.proffer({"kill", row.task.str()}).code, 0);
  }
  ASSERT_TRUE(eventually([&] {
    const proto::ServiceStatusPage page = status(cluster, "visits");
    return page.app.ready == 2 && page.instances.at(0).task != after.instances.at(0).task &&
           page.instances.at(1).task != after.instances.at(1).task;
  }));
  for (const std::string& client : addresses(cluster, "visits", "http")) {
    EXPECT_THAT(get_http(client, "/"), HasSubstr("HTTP/1.0 200 OK"));
  }
}

}  // namespace
}  // namespace proffer::test
