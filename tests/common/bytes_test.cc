#include "common/bytes.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace proffer {
namespace {

TEST(Bytes, NumbersComeBackAndSmallOnesAreShort) {
  for (const int64_t value :
       {int64_t{0}, int64_t{-1}, int64_t{63}, int64_t{-64}, int64_t{64}, INT64_MAX, INT64_MIN}) {
    ByteWriter out("T");
    out.whole(value);
    out.number(static_cast<uint64_t>(value));
    const size_t size = out.size();
    const std::string bytes = std::move(out).take();
    EXPECT_EQ(bytes.size(), size);
    ByteReader in(bytes, "T");
    EXPECT_EQ(in.whole(), value);
    EXPECT_EQ(in.number(), static_cast<uint64_t>(value));
    EXPECT_TRUE(in.ended_well()) << value;
    if (value >= 0 && value < 64) {
      EXPECT_EQ(size, 3u) << value;
    }
  }
}

TEST(Bytes, WhatIsWrongGivesZerosFromThenOn) {
  ByteWriter out;
  out.number(300);
  out.bytes("text");
  const std::string bytes = std::move(out).take();
  {
    ByteReader in(bytes);
    EXPECT_EQ(in.number(299), 0u) << "above its bound";
    EXPECT_EQ(in.bytes(10), "");
    EXPECT_FALSE(in.ok());
  }
  {
    ByteReader in(bytes);
    EXPECT_EQ(in.number(300), 300u);
    EXPECT_EQ(in.bytes(3), "") << "above its bound";
    EXPECT_FALSE(in.ended_well());
  }
  EXPECT_FALSE(ByteReader(bytes, "T").ok()) << "another tag";
  // A length beyond the end of the input, and a varint that does not end or exceeds 64 bits.
  for (const std::string& wrong :
       {std::string("\x05text"), std::string("\x80"), std::string(10, '\xff')}) {
    ByteReader in(wrong);
    EXPECT_EQ(in.bytes(100), "");
    EXPECT_FALSE(in.ok());
  }
}

}  // namespace
}  // namespace proffer
