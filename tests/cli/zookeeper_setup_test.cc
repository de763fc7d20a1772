// `proffer zookeeper`: the files for one machine of an ensemble, and refused input.

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli/zookeeper/directory.h"
#include "cli/zookeeper/ensemble.h"
#include "cli/zookeeper/install.h"
#include "common/text.h"
#include "net/curve_keys.h"
#include "tests/support/temporary_directory.h"

namespace proffer::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kThree = {"m1.example", "m2.example", "m3.example"};
const EnsembleSecrets kSecrets = {"pem\n", "password\n", "key\n"};

Ensemble ensemble_of(const std::vector<std::string>& hosts) {
  Result<Ensemble> made = plan_ensemble({.hosts = hosts}, std::nullopt);
  EXPECT_TRUE(made) << made.error();
  return made ? *made : Ensemble();
}

std::string content(const Ensemble& ensemble, size_t machine, const SetupFile& file) {
  for (const MachineFile& each : files_of(ensemble, ensemble.machines[machine], kSecrets)) {
    if (each.file.name == file.name) return each.content;
  }
  return "no such file";
}

TEST(ZooKeeperInit, RefusesWrongValuesWithTheReason) {
  struct Case {
    EnsembleRequest request;
    const char* message;
    const char* hint;
  };
  const Case cases[] = {
      {{.hosts = {}}, "at least 3 machines to survive the loss of one, not 0", "--dir cluster m1"},
      {{.hosts = {"a", "b"}}, "not 2", "--dir cluster m1"},
      {{.hosts = std::vector<std::string>(17, "a")}, "at most 16 masters, not 17", "join"},
      {{.hosts = {"a", "b", "a:2888"}}, "without a port, not 'a:2888'", "2888 and 3888"},
      {{.hosts = {"a", "b", "c_d"}}, "a DNS name or an IP address, not 'c_d'", "m1.example"},
      {{.hosts = {"a", "b", ""}}, "not ''", "m1.example"},
      {{.hosts = {"a", "b", ".."}}, "not '..'", "m1.example"},
      {{.hosts = {"a", "b", "c/d"}}, "not 'c/d'", "m1.example"},
      {{.hosts = {"a", "b", "-c"}}, "not '-c'", "m1.example"},
      {{.hosts = {"a", "b", "c\nd"}}, "not 'c\\nd'", "m1.example"},
      {{.hosts = {"a", "b", "10.0.0.256"}}, "not '10.0.0.256'", "m1.example"},
      {{.hosts = {"a", "b", std::string(64, 'c')}}, "not 'ccc", "m1.example"},
      {{.hosts = {"a", "b", "localhost"}}, "cannot reach HOST 'localhost'", "in the network"},
      {{.hosts = {"a", "b", "127.0.0.2"}}, "cannot reach HOST '127.0.0.2'", "in the network"},
      {{.hosts = {"a", "b", "::"}}, "cannot reach HOST '::'", "in the network"},
      {{.hosts = {"a", "b", "A"}}, "'A' is listed twice", "once"},
      {{.hosts = kThree, .path = "proffer"}, "--path must begin with /", "/proffer"},
      {{.hosts = kThree, .path = "/a//b"}, "path of --path", "/proffer"},
      {{.hosts = kThree, .path = "/zookeeper"}, "reserved", "/proffer"},
      {{.hosts = kThree, .port = "0"}, "--port", ""},
      {{.hosts = kThree, .port = "65536"}, "--port", ""},
      {{.hosts = kThree, .port = "many"}, "--port", ""},
  };
  for (const Case& each : cases) {
    const Result<Ensemble> made = plan_ensemble(each.request, std::nullopt);
    ASSERT_FALSE(made) << each.message;
    EXPECT_EQ(made.error().code(), ErrorCode::kInvalidArgument) << made.error();
    EXPECT_THAT(made.error().message(), HasSubstr(each.message));
    EXPECT_THAT(made.error().hint(), HasSubstr(each.hint)) << made.error();
  }
}

TEST(ZooKeeperInit, ListsAllServersAndNamesTheOwnMasterFirst) {
  const Ensemble ensemble = ensemble_of({"m1.example", "10.0.0.2", "fd00::3"});
  EXPECT_THAT(content(ensemble, 1, kZooCfg),
              HasSubstr("\nserver.1=m1.example:2888:3888\nserver.2=10.0.0.2:2888:3888\n"
                        "server.3=[fd00::3]:2888:3888\n"));
  EXPECT_EQ(content(ensemble, 0, kZooCfg), content(ensemble, 2, kZooCfg));
  EXPECT_EQ(content(ensemble, 2, kMyid), "3\n");
  EXPECT_EQ(content(ensemble, 1, kMasterFlags),
            "--zk=127.0.0.1:2181/proffer\n--zk_secret_file=/etc/proffer/zookeeper.secret\n"
            "--port=5050\n--advertise=10.0.0.2,[fd00::3],m1.example\n");
}

TEST(ZooKeeperInit, ServersTalkToEachOtherByTlsAndToClientsOnLoopbackOnly) {
  const std::string cfg = content(ensemble_of(kThree), 0, kZooCfg);
  for (const char* line :
       {"sslQuorum=true", "ssl.quorum.keyStore.location=/etc/zookeeper/quorum.pem",
        "ssl.quorum.trustStore.location=/etc/zookeeper/quorum.pem", "clientPortAddress=127.0.0.1",
        "admin.enableServer=false"}) {
    EXPECT_THAT(cfg, HasSubstr(text("\n", line, "\n")));
  }
}

TEST(ZooKeeperInit, UsesTheGivenPathAndPort) {
  const Result<Ensemble> made =
      plan_ensemble({.hosts = kThree, .path = "/west/proffer", .port = "6000"}, std::nullopt);
  ASSERT_TRUE(made) << made.error();
  const std::string flags = content(*made, 0, kMasterFlags);
  EXPECT_THAT(flags, HasSubstr("--zk=127.0.0.1:2181/west/proffer\n"));
  EXPECT_THAT(flags, HasSubstr("--port=6000\n"));
}

TEST(ZooKeeperInit, ARerunAddsOneMachineWithTheNextId) {
  const Ensemble before = ensemble_of(kThree);
  const Result<Ensemble> after =
      plan_ensemble({.hosts = {"m4.example", "M3.example", "m2.example", "m1.example"}}, before);
  ASSERT_TRUE(after) << after.error();
  ASSERT_EQ(after->machines.size(), 4u);
  EXPECT_EQ(after->machines[3], (EnsembleMachine{4, "m4.example"}));
  EXPECT_EQ(after->machines[2], before.machines[2]);
  EXPECT_THAT(content(*after, 0, kZooCfg), HasSubstr("server.4=m4.example:2888:3888\n"));
  EXPECT_EQ(plan_ensemble({.hosts = kThree}, before).value(), before);
}

TEST(ZooKeeperInit, ARerunChangesNothingElse) {
  const Ensemble before = ensemble_of(kThree);
  std::vector<std::string> two_more = kThree;
  two_more.insert(two_more.end(), {"m4", "m5"});
  struct Case {
    EnsembleRequest request;
    const char* message;
  };
  const Case cases[] = {
      {{.hosts = two_more}, "one machine can be added at a time, not 2: m4, m5"},
      {{.hosts = {"m1.example", "m2.example", "m4"}}, "'m3.example', which is not listed"},
      {{.hosts = kThree, .path = "/other"}, "the path of these machines is /proffer"},
      {{.hosts = kThree, .port = "5051"}, "the port of these masters is 5050"},
  };
  for (const Case& each : cases) {
    const Result<Ensemble> made = plan_ensemble(each.request, before);
    ASSERT_FALSE(made) << each.message;
    EXPECT_EQ(made.error().code(), ErrorCode::kFailedPrecondition);
    EXPECT_THAT(made.error().message(), HasSubstr(each.message));
    EXPECT_NE(made.error().hint(), "");
  }
}

TEST(ZooKeeperInit, ItsRecordParsesBack) {
  const Ensemble ensemble = ensemble_of({"m1.example", "10.0.0.2", "fd00::3"});
  EXPECT_EQ(parse_ensemble(to_text(ensemble)).value(), ensemble);
  const std::string good = to_text(ensemble);
  for (const std::string& wrong :
       {std::string(), good + "more\n", good + "machine 2 m4\n", good + "machine 4 ../m4\n",
        good + "machine 256 m4\n", good.substr(0, good.find("machine 3")), "port 0\n" + good}) {
    const Result<Ensemble> parsed = parse_ensemble(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kCorruption);
  }
}

class ZooKeeperDirectory : public testing::Test {
 protected:
  static std::string read(const std::string& path) {
    std::stringstream bytes;
    bytes << std::ifstream(path).rdbuf();
    return bytes.str();
  }
  static void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path) << bytes;
  }
  static unsigned mode(const std::string& path) {
    struct stat found = {};
    EXPECT_EQ(stat(path.c_str(), &found), 0) << path;
    return found.st_mode & 07777;
  }
  std::string in(const std::string& name) const { return text(dir_, "/", name); }

  const test::TemporaryDirectory home_;
  const std::string dir_ = home_ / "cluster";
  const Ensemble ensemble_ = ensemble_of(kThree);
};

TEST_F(ZooKeeperDirectory, SecretsAreForTheOperatorOnly) {
  const Result<EnsembleSecrets> secrets = make_secrets("");
  ASSERT_TRUE(secrets) << secrets.error();
  ASSERT_TRUE(write_ensemble(dir_, ensemble_, *secrets));
  EXPECT_EQ(mode(dir_), 0700u);
  for (const std::string& host : kThree) {
    EXPECT_EQ(mode(in(host)), 0700u);
    for (const SetupFile& file : kSetupFiles) {
      const std::string path = in(text(host, "/", file.name));
      EXPECT_EQ(mode(path), file.is_private ? 0600u : 0644u) << path;
    }
    EXPECT_TRUE(read_key_file(in(host + "/master.key")));
    EXPECT_EQ(read(in(host + "/zookeeper.secret")), secrets->password);
  }
  EXPECT_THAT(secrets->quorum_pem, HasSubstr("-----BEGIN PRIVATE KEY-----\n"));
  EXPECT_THAT(secrets->quorum_pem, HasSubstr("-----BEGIN CERTIFICATE-----\n"));
  EXPECT_GE(secrets->password.size(), 16u);
  EXPECT_NE(make_secrets("")->password, secrets->password);
}

TEST_F(ZooKeeperDirectory, ARerunKeepsTheSecrets) {
  const EnsembleSecrets secrets = make_secrets("").value();
  ASSERT_TRUE(write_ensemble(dir_, ensemble_, secrets));
  const Result<std::optional<Ensemble>> before = read_ensemble(dir_);
  ASSERT_TRUE(before) << before.error();
  EXPECT_EQ(before.value(), ensemble_);
  EXPECT_EQ(read_secrets(dir_, **before).value(), secrets);

  std::vector<std::string> four = kThree;
  four.emplace_back("m4.example");
  const Ensemble larger = plan_ensemble({.hosts = four}, *before).value();
  ASSERT_TRUE(write_ensemble(dir_, larger, secrets));
  EXPECT_EQ(read(in("m4.example/quorum.pem")), secrets.quorum_pem);
  EXPECT_THAT(read(in("m1.example/zoo.cfg")), HasSubstr("server.4=m4.example"));
  EXPECT_EQ(read_ensemble(dir_).value(), larger);
}

TEST_F(ZooKeeperDirectory, AKeyIsNeverReplaced) {
  ASSERT_TRUE(write_ensemble(dir_, ensemble_, kSecrets));
  EnsembleSecrets others = kSecrets;
  others.password = "other\n";
  const Result<void> written = write_ensemble(dir_, ensemble_, others);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), HasSubstr("m1.example/zookeeper.secret"));
  EXPECT_EQ(read(in("m1.example/zookeeper.secret")), kSecrets.password);
}

TEST_F(ZooKeeperDirectory, ADirectoryWithOtherFilesIsRefused) {
  EXPECT_EQ(read_ensemble(dir_).value(), std::nullopt);
  fs::create_directory(dir_);
  EXPECT_EQ(read_ensemble(dir_).value(), std::nullopt);
  write(in("notes"), "of somebody\n");
  const Result<std::optional<Ensemble>> found = read_ensemble(dir_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(found.error().message(), HasSubstr("is not empty"));
  EXPECT_THAT(found.error().hint(), HasSubstr("--dir"));
}

TEST_F(ZooKeeperDirectory, TheDirectoryAboveMustExist) {
  const Result<void> written = write_ensemble(home_ / "no/cluster", ensemble_, kSecrets);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::kNotFound);
}

TEST_F(ZooKeeperDirectory, ALostSecretIsNamedWithItsPlaceOnTheMachines) {
  ASSERT_TRUE(write_ensemble(dir_, ensemble_, kSecrets));
  fs::remove(in("m1.example/quorum.pem"));
  const Result<EnsembleSecrets> secrets = read_secrets(dir_, ensemble_);
  ASSERT_FALSE(secrets);
  EXPECT_THAT(secrets.error().message(), HasSubstr("m1.example/quorum.pem"));
  EXPECT_THAT(secrets.error().hint(), HasSubstr("/etc/zookeeper/quorum.pem"));
}

TEST_F(ZooKeeperDirectory, AMastersKeyOfBeforeIsUsed) {
  const KeyPair key = make_key_pair();
  ASSERT_TRUE(write_key_file(home_ / "master.key", key));
  EXPECT_EQ(make_secrets(home_ / "master.key")->master_key, read(home_ / "master.key"));
  const Result<EnsembleSecrets> none = make_secrets(home_ / "none");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("--master-key: there is no file"));
}

class ZooKeeperInstall : public testing::Test {
 protected:
  ZooKeeperInstall() {
    for (const MachineFile& each : files_of(ensemble_, ensemble_.machines[1], kSecrets)) {
      given_.emplace(each.file.name, each.content);
    }
  }
  static const InstallStep& step(const std::vector<InstallStep>& steps, const SetupFile& file) {
    return *std::find_if(steps.begin(), steps.end(),
                         [&](const InstallStep& each) { return each.file.name == file.name; });
  }

  const Ensemble ensemble_ = ensemble_of(kThree);
  Contents given_;
};

TEST_F(ZooKeeperInstall, SettingsAreReplacedAndKeysAreNew) {
  const auto steps = plan_install(given_, {{"/etc/zookeeper/conf/zoo.cfg", "of Debian\n"}});
  ASSERT_TRUE(steps) << steps.error();
  EXPECT_EQ(steps->size(), kSetupFiles.size());
  EXPECT_EQ(step(*steps, kZooCfg).before, "of Debian\n");
  EXPECT_EQ(step(*steps, kZooCfg).content, given_["zoo.cfg"]);
  EXPECT_EQ(step(*steps, kQuorumPem).before, std::nullopt);
  EXPECT_EQ(step(*steps, kQuorumPem).content, kSecrets.quorum_pem);
}

TEST_F(ZooKeeperInstall, ASecondCallChangesNothing) {
  Contents present;
  for (const SetupFile& file : kSetupFiles) {
    present.emplace(file.place, given_.find(file.name)->second);
  }
  const auto steps = plan_install(given_, present);
  ASSERT_TRUE(steps) << steps.error();
  for (const InstallStep& each : *steps) EXPECT_EQ(each.before, each.content) << each.file.name;
}

TEST_F(ZooKeeperInstall, AnotherKeyOnTheMachineIsRefused) {
  for (const SetupFile& file : kSetupFiles) {
    if (!file.is_private) continue;
    const auto steps = plan_install(given_, {{std::string(file.place), "another\n"}});
    ASSERT_FALSE(steps) << file.place;
    EXPECT_EQ(steps.error().code(), ErrorCode::kAlreadyExists);
    EXPECT_THAT(steps.error().message(), HasSubstr(std::string(file.place)));
    EXPECT_THAT(steps.error().hint(), HasSubstr("remove " + std::string(file.place)));
  }
}

TEST_F(ZooKeeperInstall, AMissingFileIsNamed) {
  given_.erase("myid");
  const auto steps = plan_install(given_, {});
  ASSERT_FALSE(steps);
  EXPECT_THAT(steps.error().message(), HasSubstr("'myid'"));
}

TEST_F(ZooKeeperInstall, FlagsOfTheOperatorStay) {
  std::string what;
  EXPECT_EQ(merged_flags("--port=5050\n--zk=z\n",
                         "# --zk=\n--port=1\n--operators_group=op\n --port=2\n", what),
            "# --zk=\n--port=5050\n--operators_group=op\n--zk=z\n");
  EXPECT_EQ(what, "--port=5050 instead of --port=2, --zk=z");
  EXPECT_EQ(merged_flags("--zk=z\n", "--zk_secret_file=f", what), "--zk_secret_file=f\n--zk=z\n");
  EXPECT_EQ(merged_flags("--zk=z\n", "--zk=z\n", what), "--zk=z\n");
  EXPECT_EQ(what, "");
}

}  // namespace
}  // namespace proffer::cli
