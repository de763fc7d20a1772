#include "cli/redaction.h"

#include <gtest/gtest.h>

namespace proffer::cli {
namespace {

TEST(Redaction, RemovesValuesBehindNamesOfSecrets) {
  struct Row {
    const char* text;
    const char* left;
  };
  for (const Row& row : {
           Row{"DB_PASSWORD=hunter2 x", "DB_PASSWORD=[removed] x"},
           Row{"password: \"a \\\" b\", y", "password: [removed], y"},
           Row{"--zk-secret-file /etc/zk --port 3", "--zk-secret-file [removed] --port 3"},
           Row{"--api-token=abc", "--api-token=[removed]"},
           Row{"{\"auth_token\":\"abc\",\"n\":1}", "{\"auth_token\":[removed],\"n\":1}"},
           Row{"Authorization: Bearer abc.def", "Authorization: Bearer [removed]"},
           Row{"AWS_SECRET_ACCESS_KEY='a b'\nnext", "AWS_SECRET_ACCESS_KEY=[removed]\nnext"},
           Row{"signing_key=abc", "signing_key=[removed]"},
           Row{"password=", "password="},
           Row{"secret=\nnext", "secret=\nnext"},
           Row{"secret", "secret"},
           // What is no secret stays.
           Row{"agent lost agent=a1 reason=silent", "agent lost agent=a1 reason=silent"},
           Row{"key=3f2a tasks=2", "key=3f2a tasks=2"},
           Row{"the token is wrong", "the token is wrong"},
           Row{"--port 5050", "--port 5050"},
           Row{"", ""},
       }) {
    EXPECT_EQ(Redaction().of(row.text), row.left) << row.text;
  }
}

TEST(Redaction, RemovesWhatIsKnownWhereverItStands) {
  Redaction redaction;
  redaction.know("0123456789abcdef\n");
  redaction.know("0123456789abcdef-and-more");
  redaction.know("short");
  EXPECT_EQ(redaction.of("x0123456789abcdef-and-morey, 0123456789abcdef; short"),
            "x[removed]y, [removed]; short");
}

TEST(Redaction, OfAnEnvironmentNoValueIsLeft) {
  EXPECT_EQ(Redaction().of_environment("# a comment\nFOO=bar\n\nexport X=\"y\""),
            "# a comment\nFOO=[removed]\n\nexport X=[removed]\n");
}

}  // namespace
}  // namespace proffer::cli
