// The frameworks' store: results of requests, and the content after a restart.

#include "master/core/framework_store.h"
#include "tests/master/cluster.h"

namespace proffer::master::store_test {
namespace {

using proto::StoreOperation;
using proto::StoreResult;
using Kind = StoreOperation::Kind;

StoreOperation put(const std::string& key, const std::string& value,
                   std::optional<uint64_t> expected = {}) {
  return {.kind = Kind::kPut, .key = key, .value = value, .expected = expected};
}
StoreOperation get(const std::string& key) { return {.kind = Kind::kGet, .key = key}; }
StoreOperation erase(const std::string& key, std::optional<uint64_t> expected = {}) {
  return {.kind = Kind::kDelete, .key = key, .expected = expected};
}
StoreOperation list(const std::string& prefix, const std::string& after = "") {
  return {.kind = Kind::kList, .key = prefix, .after = after};
}

// One line per operation: the value of a get, the keys of a list joined by commas, "" for others;
// or the error.
Lines said(const StoreResult& result) {
  if (result.error) return {text(to_text(result.error->code), ": ", result.error->message)};
  Lines lines;
  for (const StoreResult::Outcome& outcome : result.outcomes) {
    std::string line = outcome.value;
    for (const StoreResult::Entry& entry : outcome.entries) {
      line += text(line.empty() ? "" : ",", entry.key);
    }
    if (outcome.more) line += ",…";
    lines.push_back(line);
  }
  return lines;
}

TEST(Store, EachOperationSeesWhatThoseBeforeItDid) {
  struct Row {
    std::vector<StoreOperation> operations;
    Lines expected;
  };
  const Row rows[] = {
      {{get("a")}, {""}},
      {{put("a", "1"), get("a")}, {"", "1"}},
      {{put("a", "1"), put("a", "2"), get("a")}, {"", "", "2"}},
      {{put("a", "1"), erase("a"), get("a")}, {"", "", ""}},
      {{erase("kept"), get("kept"), list("")}, {"", "", "kept/2"}},
      {{erase("nothing")}, {""}},
      {{erase("nothing", 0), put("new", "x", 0), get("new")}, {"", "", "x"}},
      {{erase("kept"), put("kept", "again", 0), get("kept")}, {"", "", "again"}},
      {{put("kept/1", ""), put("keptx", ""), list("kept/"), list("kept")},
       {"", "", "kept/1,kept/2", "kept,kept/1,kept/2,keptx"}},
      {{list("", "kept"), list("x"), list("kept/", "kept/2")}, {"kept/2", "", ""}},
      {{put("b", ""), put("a", ""), erase("kept/2"), list("")}, {"", "", "", "a,b,kept"}},
  };
  for (const Row& row : rows) {
    MasterScenario s;
    TestScheduler& f = s.subscribed("f");
    f.stores({put("kept", "old"), put("kept/2", "")});
    EXPECT_EQ(said(f.stores(row.operations)), row.expected);
  }
}

TEST(Store, AnOutcomeTellsTheVersionOfTheEntryAsItIsThen) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  const StoreResult result =
      f.stores({get("a"), put("a", "1"), get("a"), put("a", "2"), list(""), erase("a")});
  ASSERT_EQ(result.outcomes.size(), 6u);
  EXPECT_EQ(result.outcomes[0].version, 0u);
  const uint64_t first = result.outcomes[1].version;
  EXPECT_GT(first, 0u);
  EXPECT_EQ(result.outcomes[2].version, first);
  EXPECT_GT(result.outcomes[3].version, first);
  ASSERT_EQ(result.outcomes[4].entries.size(), 1u);
  EXPECT_EQ(result.outcomes[4].entries[0].version, result.outcomes[3].version);
  EXPECT_EQ(result.outcomes[5].version, 0u);
}

TEST(Store, AnotherVersionThanExpectedRefusesAllOfIt) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  const uint64_t version = f.stores({put("a", "1")}).outcomes[0].version;
  for (const StoreOperation& wrong :
       {put("a", "x", 0), put("a", "x", version + 1), put("new", "x", version),
        erase("a", version + 1), erase("a", 0)}) {
    const size_t records = s.records.size();
    const StoreResult result = f.stores({put("b", "2"), wrong, put("c", "3")});
    ASSERT_TRUE(result.error.has_value());
    EXPECT_EQ(result.error->code, ErrorCode::kFailedPrecondition);
    EXPECT_TRUE(result.outcomes.empty());
    EXPECT_EQ(s.records.size(), records);
    EXPECT_EQ(said(f.stores({list("")})), Lines{"a"});
  }
  const StoreResult result = f.stores({put("a", "x", version + 7)});
  // The message has both versions.
  EXPECT_THAT(result.error->message, testing::HasSubstr(std::to_string(version)));
  EXPECT_THAT(result.error->message, testing::HasSubstr(std::to_string(version + 7)));
  EXPECT_FALSE(f.stores({put("a", "2", version)}).error.has_value());
}

TEST(Store, IsFoundAgainByARestartedMasterAndAnotherSession) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  f.stores({put("a", "1"), put("b", "2")});
  const StoreResult before = f.stores({put("c", "3"), erase("a"), list("")});
  s.restart_master();
  f.subscribes();
  const StoreResult after = f.stores({list(""), get("b"), get("c")});
  EXPECT_EQ(said(after), (Lines{"b,c", "2", "3"}));
  EXPECT_EQ(after.outcomes[0], before.outcomes[2]);
}

TEST(Store, AVersionIsNeverUsedTwiceWhateverIsErasedInBetween) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  TestScheduler& g = s.subscribed("g");
  uint64_t last = 0;
  for (int life = 0; life < 3; ++life) {
    for (TestScheduler* one : {&f, &g, &f}) {
      const StoreResult result = one->stores({put("a", "x"), erase("a")});
      EXPECT_GT(result.outcomes[0].version, last);
      last = result.outcomes[0].version;
    }
    // All entries are erased, so no durable entry has the last version.
    s.restart_master();
    f.subscribes();
    g.subscribes();
  }
}

TEST(Store, IsEachFrameworksOwn) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  TestScheduler& g = s.subscribed("g");
  f.stores({put("a", "of f")});
  g.stores({put("a", "of g"), put("b", "")});
  EXPECT_EQ(said(f.stores({get("a"), list("")})), (Lines{"of f", "a"}));
  EXPECT_EQ(said(g.stores({get("a"), list("")})), (Lines{"of g", "a,b"}));
}

TEST(Store, OfAFrameworkWithoutAFailoverTimeoutThereIsNone) {
  MasterScenario s;
  TestScheduler& f = s.scheduler("f");
  f.subscribe.failover_timeout = Duration();
  f.subscribes();
  const StoreResult result = f.stores({get("a")});
  ASSERT_TRUE(result.error.has_value());
  EXPECT_EQ(result.error->code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(result.error->hint, testing::HasSubstr("failover timeout above zero"));
  EXPECT_TRUE(f.is_connected());
}

TEST(Store, EndsWithItsFrameworkInTheSameStep) {
  for (const bool by_time : {false, true}) {
    MasterScenario s;
    TestScheduler& f = s.subscribed("f");
    TestScheduler& g = s.subscribed("g");
    f.stores({put("a", "1"), put("b", "2")});
    g.stores({put("a", "1")});
    const size_t before = s.records.size();
    if (by_time) {
      f.lose();
      s.advance(hours(1));
    } else {
      f.sends(proto::Teardown{});
    }
    std::set<std::string> erased;
    for (size_t i = before; i < s.records.size(); ++i) {
      EXPECT_TRUE(s.records[i].erase);
      const auto* entry = std::get_if<proto::StoreRecord>(&s.records[i].row);
      if (entry != nullptr) erased.insert(entry->key);
    }
    EXPECT_EQ(erased, (std::set<std::string>{"a", "b"}));
    EXPECT_EQ(s.records.size(), before + 3);  // and one for the framework itself
    s.restart_master();
    g.subscribes();
    EXPECT_EQ(said(g.stores({list("")})), Lines{"a"});
  }
}

TEST(Store, EndsWhenItsFrameworkGivesUpItsFailoverTimeout) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  f.stores({put("a", "1")});
  f.subscribe.failover_timeout = Duration();
  f.subscribes();
  EXPECT_TRUE(f.stores({get("a")}).error.has_value());
  f.subscribe.failover_timeout = hours(1);
  f.subscribes();
  EXPECT_EQ(said(f.stores({get("a")})), Lines{""});
  s.restart_master();
}

TEST(Store, WhatIsLeftOfAFrameworkThatNobodyKnowsIsErased) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  f.stores({put("a", "1")});
  MasterSnapshot snapshot = s.master->snapshot();
  const proto::StoreRecord orphan{
      .framework = FrameworkId("gone-1-1"), .key = "k", .value = "v", .version = 9};
  snapshot.rows.insert(snapshot.rows.begin(), orphan);
  Master master(s.options, snapshot);
  MasterOutbox out;
  master.handle(Tick{}, s.now, out);
  ASSERT_EQ(out.records.size(), 1u);
  EXPECT_TRUE(out.records[0].erase);
  EXPECT_EQ(std::get<proto::StoreRecord>(out.records[0].row).framework, orphan.framework);
  EXPECT_EQ(master.snapshot().rows, s.master->snapshot().rows);
  EXPECT_TRUE(master.violations().empty());
}

TEST(StoreQuota, SaysWhatThereIsWhatIsWantedAndWhatIsAllowed) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  const std::string half(kStoreEntryBytesMax, 'x');
  for (size_t i = 0; i < kStoreBytesPerFrameworkMax / kStoreEntryBytesMax - 1; ++i) {
    ASSERT_FALSE(f.stores({put(text("k", i), half)}).error.has_value()) << i;
  }
  const StoreResult full = f.stores({put("more", half)});
  ASSERT_TRUE(full.error.has_value());
  EXPECT_EQ(full.error->code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(full.error->message,
              testing::HasSubstr(std::to_string(kStoreBytesPerFrameworkMax) + " are allowed"));
  EXPECT_THAT(full.error->hint, testing::HasSubstr("erase"));
  // An erase in the same request makes room.
  EXPECT_FALSE(f.stores({erase("k0"), put("more", half)}).error.has_value());
  // Two values of 256 KiB, without their keys, are the maximum for one answer.
  EXPECT_FALSE(f.stores({get("k1"), get("k2")}).error.has_value());
  const StoreResult large = f.stores({get("k1"), get("k2"), get("k3")});
  ASSERT_TRUE(large.error.has_value());
  EXPECT_EQ(large.error->code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(large.error->hint, testing::HasSubstr("fewer"));
}

TEST(StoreQuota, CountsEntriesAndWhoIsFullMayStillErase) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  for (size_t i = 0; i < kStoreKeysPerFrameworkMax; i += kStoreOperationsMax) {
    std::vector<StoreOperation> batch;
    for (size_t k = 0; k < kStoreOperationsMax; ++k) batch.push_back(put(text("k", i + k), ""));
    ASSERT_FALSE(f.stores(batch).error.has_value());
  }
  EXPECT_EQ(f.stores({put("one-more", "")}).error->code, ErrorCode::kResourceExhausted);
  EXPECT_FALSE(f.stores({put("k7", "another value")}).error.has_value());
  const StoreResult page = f.stores({list("")});
  EXPECT_EQ(page.outcomes[0].entries.size(), kStoreListMax);
  EXPECT_TRUE(page.outcomes[0].more);
  size_t seen = 0;
  std::string after;
  while (true) {
    const StoreResult next = f.stores({list("k", after)});
    seen += next.outcomes[0].entries.size();
    if (!next.outcomes[0].more) break;
    after = next.outcomes[0].entries.back().key;
  }
  EXPECT_EQ(seen, kStoreKeysPerFrameworkMax);
  EXPECT_FALSE(f.stores({erase("k0"), erase("k1"), put("one-more", "")}).error.has_value());
  // All of them in one batch.
  const size_t before = s.records.size();
  f.sends(proto::Teardown{});
  EXPECT_EQ(s.records.size(), before + kStoreKeysPerFrameworkMax);
}

TEST(StoreQuota, OfAllFrameworksTogetherIsCountedToo) {
  FrameworkStores stores;
  const std::string value(kStoreEntryBytesMax, 'x');
  size_t made = 0;
  for (size_t bytes = 0; bytes + value.size() + 8 <= kStoreBytesMax; bytes += value.size() + 8) {
    stores.apply({.framework = FrameworkId(text("f", made / 15)),
                  .key = text("k", 1'000'000 + made),
                  .value = value,
                  .version = ++made},
                 false);
  }
  const proto::StoreRequest request{.id = 1, .operations = {put("k", value)}};
  const Result<StorePlan> refused = plan_store(request, FrameworkId("new"), stores, made);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("all frameworks"));
  const proto::StoreRequest small{.id = 1, .operations = {put("k", "")}};
  EXPECT_TRUE(plan_store(small, FrameworkId("new"), stores, made));
}

}  // namespace
}  // namespace proffer::master::store_test
