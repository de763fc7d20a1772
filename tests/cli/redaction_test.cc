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
           Row{"Authorization: Basic dTpw\nnext", "Authorization: Basic [removed]\nnext"},
           Row{"curl -H 'Authorization: Basic dTpw' x",
               "curl -H 'Authorization: Basic [removed]' x"},
           Row{R"({"Authorization":"Basic dTpw","n":1})",
               R"({"Authorization":"Basic [removed]","n":1})"},
           Row{"Bearer abc.def", "Bearer [removed]"},
           Row{"DB_PASS=abc", "DB_PASS=[removed]"},
           Row{"passphrase: abc", "passphrase: [removed]"},
           Row{"postgres://u:p@db:5432/x y@z", "postgres://[removed]@db:5432/x y@z"},
           Row{"http://db/x?m=a@b", "http://db/x?m=a@b"},
           Row{R"({"command":"PASSWORD=\"a b\" run"})", R"({"command":"PASSWORD=[removed] run"})"},
           Row{"AWS_SECRET_ACCESS_KEY='a b'\nnext", "AWS_SECRET_ACCESS_KEY=[removed]\nnext"},
           Row{"signing_key=abc", "signing_key=[removed]"},
           Row{"password=", "password="},
           Row{"secret=\nnext", "secret=\nnext"},
           Row{"secret", "secret"},
           // Text without a secret is unchanged.
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
  EXPECT_EQ(Redaction().of_environment("A=\"--role eng \\\n  --password=hunter2\"\nB=one \\\ntwo\n"
                                       "KEY='-----BEGIN\nMIIE\n-----END'\nC=\"never closed\nD=x\n"),
            "A=[removed]\nB=[removed]\nKEY=[removed]\nC=[removed]\n");
}

}  // namespace
}  // namespace proffer::cli
