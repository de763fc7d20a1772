#pragma once

// Several masters on one machine with a real ZooKeeper server: the fixture of tests with failovers.

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/integration/processes.h"
#include "tests/support/zookeeper_server.h"

namespace proffer::test {

class Leaders : public testing::Test {
 protected:
  Leaders() {
    write_file(secret(), "the secret of these tests\n");
    ::chmod(secret().c_str(), 0600);
  }

  std::string secret() const { return home_ / "secret"; }
  std::string dir(int i) const { return home_ / ("m" + std::to_string(i)); }
  std::string socket(int i) const { return dir(i) + ".sock"; }
  Words command(int i, const Words& more = {}) const {
    Words words = {program("proffer-master"),
                   "--socket=" + socket(i),
                   "--data_dir=" + dir(i),
                   "--http_port=0",
                   "--zk=" + zookeeper_.address() + "/proffer",
                   "--zk_secret_file=" + secret(),
                   "--zk_session_timeout=4s",
                   "--heartbeat=500ms",
                   "--agent_timeout=5s"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void start(int i) {
    std::filesystem::remove(dir(i) + "/address.json");
    masters_[i] = std::make_unique<Process>(command(i));
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(dir(i) + "/address.json"); }))
        << masters_[i]->err();
  }
  Exit ask(int i, Words words) const {
    words.insert(words.begin(), program("proffer"));
    return run(words, {{"PROFFER_MASTER", socket(i)}});
  }
  bool leads(int i) const { return ask(i, {"status"}).code == 0; }
  // Waits until one of them leads.
  int leader() const {
    int found = -1;
    EXPECT_TRUE(eventually([&] {
      for (const auto& [i, process] : masters_) {
        if (is_alive(process->pid()) && leads(i)) found = i;
      }
      return found != -1;
    }));
    return found;
  }

  TemporaryDirectory home_;
  ZooKeeperServer zookeeper_;
  std::map<int, std::unique_ptr<Process>> masters_;
};

}  // namespace proffer::test
