// Files of other systems, and files with several defects.

#include "yaml/foreign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "yaml/read.h"
#include "yaml/schema.h"

namespace proffer::yaml::foreign_test {
namespace {

using testing::HasSubstr;

TEST(ForeignFile, ScriptsAndHclAreNamedBeforeTheyAreParsed) {
  const struct {
    std::string file;
    std::string message;
    std::string hint;
  } rows[] = {
      {"#!/bin/bash\n#SBATCH --array=1-9%2\n#SBATCH -J sweep --time=90\n#SBATCH --mem=4G\n./x\n",
       "a script with directives of Slurm (line 2), not a job file",
       "proffer batch array 1-9%2 --name sweep --time-limit 90m --resources 'cpus:1;mem:4G' "
       "--detach -- bash FILE"},
      {"#!/bin/sh\n#PBS -N x\n", "directives of PBS", "proffer batch array 1 --detach -- sh FILE"},
      {"#!/usr/bin/env python3\nprint(1)\n", "a script (line 1: '#!/usr/bin/env python3')",
       "-- python3 FILE"},
      {"# my job\njob \"web\" {\n}\n", "line 2: this is HCL of Nomad", "run: LINE"},
  };
  for (const auto& [file, message, hint] : rows) {
    const Result<void> checked = check_is_yaml(file, FileFor::kJob);
    ASSERT_FALSE(checked) << file;
    EXPECT_THAT(checked.error().message(), HasSubstr(message));
    EXPECT_THAT(checked.error().hint(), HasSubstr(hint));
  }
  EXPECT_TRUE(check_is_yaml("#!/usr/bin/env -S proffer batch run\nname: x\n", FileFor::kJob));
  EXPECT_TRUE(check_is_yaml("# yaml-language-server: x\nname: x\njobs: {\n}\n", FileFor::kJob));
}

TEST(ForeignFile, DocumentsOfOtherSystemsAreNamed) {
  const auto error = [](std::string_view file) {
    const Result<Node> node = parse_document(file, "an app file", 1'000);
    const Result<void> checked = check_is_ours(*node, FileFor::kApp);
    return checked ? std::string() : checked.error().message();
  };
  EXPECT_THAT(error("apiVersion: apps/v1\nkind: Deployment\n"),
              HasSubstr("a manifest of Kubernetes (apiVersion, kind: Deployment)"));
  EXPECT_THAT(error("services:\n  web: {image: nginx}\n"), HasSubstr("docker compose"));
  EXPECT_THAT(error("{\"Job\": {\"ID\": \"x\"}}"), HasSubstr("Nomad in JSON"));
  EXPECT_EQ(error("name: web\ncommand: x\n"), "");
}

TEST(ForeignFile, KeysAreCalledOtherwiseHere) {
  EXPECT_EQ(way_of_key("count", {"name", "instances"}), "write instances: NUMBER");
  EXPECT_EQ(way_of_key("count", {"name", "array"}), "write array: 1-NUMBER");
  EXPECT_EQ(way_of_key("mapper", {"map"}), "write map: LINE");
  EXPECT_EQ(way_of_key("mapper", {"name"}), "");
  EXPECT_THAT(way_of_key("image", {}), HasSubstr("without container images"));
}

TEST(YamlErrors, AllOfADocumentAreTold) {
  const Schema schema(R"({"title": "a file", "type": "object", "additionalProperties": false,
      "properties": {"count": {"$ref": "#/$defs/whole", "minimum": 1, "maximum": 9},
                     "on": {"type": ["boolean", "string"], "format": "truth"},
                     "wait": {"type": "string", "format": "duration"},
                     "takes": {"type": "string", "format": "resources"}},
      "$defs": {"whole": {"type": ["integer", "string"], "format": "whole"}}})");
  const auto check = [&](std::string_view file) {
    return schema.check(*parse_document(file, "a file", 1'000));
  };
  EXPECT_TRUE(check("count: 9\non: true\nwait: 5s\ntakes: cpus:1\n"));
  const Result<void> both = check("count: many\nwait: 5s\ncuont: 3\n");
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().message(),
            "line 1: count must be a whole number from 1 to 9, not 'many'\n"
            "line 3: unknown key 'cuont' in a file; did you mean 'count'?");
  EXPECT_EQ(both.error().hint(), "the keys of a file are count, on, wait, takes");
  for (const auto& [file, says] :
       {std::pair("on: maybe", "line 1: on must be true or false, not 'maybe'"),
        {"wait: long", "line 1: wait: "},
        {"takes: cpu:1", "line 1: takes: "},
        {"takes: {cpus: 2, memory: 4}", "line 1: the value of 'takes' must be one text"}}) {
    const Result<void> one = check(file);
    ASSERT_FALSE(one) << file;
    EXPECT_THAT(one.error().message(), testing::StartsWith(says));
  }
  EXPECT_EQ(check("takes: {cpus: 2, memory: 4}").error().hint(), "write resources: 'cpus:2;mem:4'");
}

TEST(YamlErrors, ATabIsNamed) {
  for (const std::string_view file : {"a:\n\tb: 1\n", "a:\n  b: 1\n\tc: 2\n"}) {
    const Result<Node> node = parse_document(file, "a file", 1'000);
    ASSERT_FALSE(node) << file;
    EXPECT_THAT(node.error().message(), HasSubstr("a TAB indents this line")) << file;
    EXPECT_THAT(node.error().hint(), HasSubstr("expand"));
  }
  EXPECT_TRUE(parse_document("run: |\n  all:\n  \tmake\n", "a file", 1'000));
}

}  // namespace
}  // namespace proffer::yaml::foreign_test
