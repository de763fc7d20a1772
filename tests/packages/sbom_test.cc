// The bill of materials of a release: a document of SPDX that names all that the programs load, and
// what is linked into them.

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/integration/processes.h"

namespace proffer::sbom_test {
namespace {

using namespace test;
using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

constexpr Seconds kDeadline{240};

std::string build() { return program("") + ".."; }

Exit write_sbom() {
  return run({std::string(PROFFER_SOURCE_DIR) + "/packaging/sbom.py", build()},
             {{"SOURCE_DATE_EPOCH", "1764288000"}}, {}, kDeadline);
}

class Sbom : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const Exit made = write_sbom();
    ASSERT_EQ(made.code, 0) << made.err;
    text_ = made.out;
    document_ = json::parse(text_);
  }

  // Names of the packages that ours have this relationship with.
  static std::set<std::string> related(const std::string& kind) {
    std::set<std::string> names;
    for (const json& one : document_["relationships"]) {
      if (one["relationshipType"] != kind || one["spdxElementId"] != "SPDXRef-proffer") continue;
      for (const json& package : document_["packages"]) {
        if (package["SPDXID"] == one["relatedSpdxElement"]) names.insert(package["name"]);
      }
    }
    return names;
  }

  static std::string text_;
  static json document_;
};
std::string Sbom::text_;
json Sbom::document_;

TEST_F(Sbom, HasTheFieldsThatSpdxRequires) {
  EXPECT_EQ(document_["spdxVersion"], "SPDX-2.3");
  EXPECT_EQ(document_["dataLicense"], "CC0-1.0");
  EXPECT_EQ(document_["SPDXID"], "SPDXRef-DOCUMENT");
  EXPECT_THAT(document_["name"].get<std::string>(), StartsWith("proffer-"));
  EXPECT_THAT(document_["documentNamespace"].get<std::string>(), StartsWith("https://"));
  EXPECT_EQ(document_["creationInfo"]["created"], "2025-11-28T00:00:00Z");
  EXPECT_FALSE(document_["creationInfo"]["creators"].empty());
  std::set<std::string> ids = {"SPDXRef-DOCUMENT"};
  for (const json& package : document_["packages"]) {
    const std::string id = package["SPDXID"];
    EXPECT_TRUE(ids.insert(id).second) << id;
    EXPECT_TRUE(std::all_of(id.begin(), id.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '.' || c == '-';
    })) << id;
    for (const char* field : {"name", "versionInfo", "downloadLocation", "licenseDeclared"}) {
      EXPECT_NE(package.value(field, ""), "") << id << " " << field;
    }
  }
  for (const json& one : document_["relationships"]) {
    EXPECT_TRUE(ids.contains(one["spdxElementId"])) << one;
    EXPECT_TRUE(ids.contains(one["relatedSpdxElement"])) << one;
  }
}

TEST_F(Sbom, DescribesOurPackage) {
  const json& ours = document_["packages"][0];
  EXPECT_EQ(ours["name"], "proffer");
  EXPECT_EQ(ours["licenseDeclared"], "Apache-2.0");
  EXPECT_THAT(ours["sourceInfo"].get<std::string>(), HasSubstr("commit"));
  const std::string version = run({program("proffer"), "--version"}).out;
  EXPECT_THAT(version, HasSubstr(ours["versionInfo"].get<std::string>()));
  EXPECT_EQ(document_["relationships"][0]["relationshipType"], "DESCRIBES");
}

TEST_F(Sbom, IsEqualWhenItIsWrittenAgain) { EXPECT_EQ(write_sbom().out, text_); }

// The loader itself names the libraries of each program: another way than that of the script.
TEST_F(Sbom, NamesThePackageOfEachSharedLibrary) {
  if (run({"which", "dpkg-query"}).code != 0) GTEST_SKIP() << "not run: no Debian here";
  const std::set<std::string> named = related("DYNAMIC_LINK");
  const Exit found = run({"/bin/bash", "-c",
                          "cd \"$0\"; set -o pipefail; readelf -d $(cat packaging-scripts/programs "
                          "| sed 's|^|bin/|') | "
                          "sed -n 's/.*(NEEDED).*\\[\\(.*\\)\\]/\\1/p' | sort -u",
                          build()});
  ASSERT_EQ(found.code, 0) << found.err;
  std::set<std::string> loaded;
  Words search = {"dpkg-query", "--search"};
  std::istringstream lines(found.out);
  for (std::string line; std::getline(lines, line);) {
    loaded.insert(line);
    search.push_back("*/" + line);
  }
  EXPECT_GE(loaded.size(), 20u);
  // PACKAGE:ARCHITECTURE: FILE. Several packages may have a file of this name.
  std::istringstream owners(run(search).out);
  for (std::string line; std::getline(owners, line);) {
    if (named.contains(line.substr(0, line.find(':')))) {
      loaded.erase(line.substr(line.rfind('/') + 1));
    }
  }
  EXPECT_THAT(loaded, testing::IsEmpty());
  for (const json& package : document_["packages"]) {
    if (!named.contains(package["name"])) continue;
    const std::string name = package["name"];
    EXPECT_EQ(run({"dpkg-query", "-W", "-f", "${Version}", name}).out, package["versionInfo"])
        << name;
    EXPECT_THAT(package["externalRefs"][0]["referenceLocator"].get<std::string>(),
                StartsWith("pkg:deb/"));
  }
}

TEST_F(Sbom, NamesWhatIsLinkedStaticallyAndCompiledIn) {
  if (run({"which", "dpkg-query"}).code != 0) GTEST_SKIP() << "not run: no Debian here";
  const std::set<std::string> linked = related("STATIC_LINK");
  for (const char* name : {"libc6-dev", "libcapnp-dev", "libgoogle-glog-dev", "libzmq3-dev"}) {
    EXPECT_THAT(linked, Contains(name));
  }
  const std::set<std::string> compiled_in = related("CONTAINS");
  for (const char* name : {"nlohmann-json3-dev", "libcli11-dev"}) {
    EXPECT_THAT(compiled_in, Contains(name));
  }
}

TEST_F(Sbom, NamesLicencesThatTheSystemKnows) {
  int known = 0;
  for (const json& package : document_["packages"]) {
    if (package["licenseDeclared"] != "NOASSERTION") ++known;
  }
  EXPECT_GE(known, 15);
}

}  // namespace
}  // namespace proffer::sbom_test
