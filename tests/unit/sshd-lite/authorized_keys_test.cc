// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/authorized_keys.h"

#include "catch.h"

using namespace muster;

namespace {

struct Lines {
  SshKey key = std::move(*SshKey::generate(KeyType::kEcdsaP256));
  std::string line = key.type() + " " + key.public_base64();
};

}  // namespace

TEST_CASE("the forms people write are read") {
  const Lines k;
  for (const std::string& text :
       {k.line, k.line + "\n", k.line + " user@host with blanks\n",
        "# comment\n\n  \t" + k.line + "\r\n",
        "no-pty,restrict,No-X11-Forwarding " + k.line, "\n\n\n" + k.line,
        k.line + "\n#" + k.line}) {
    const auto parsed = parse_authorized_keys(text, "ak");
    INFO(text);
    REQUIRE(parsed.keys.size() == 1);
    CHECK(parsed.keys[0].same_public(k.key));
    CHECK(parsed.ignored.empty());
  }
}

TEST_CASE("options that would have to be honoured leave the line out") {
  const Lines k;
  const std::string option = GENERATE(
      "command=\"/bin/true\"", "from=\"10.0.0.0/8\"", "cert-authority",
      "no-pty,command=\"echo \\\"a, b\\\" c\"", "environment=\"LD_PRELOAD=x\"",
      "expiry-time=\"20200101\"", "restrict=yes", "pty", "\"", ",");
  const auto parsed =
      parse_authorized_keys(option + " " + k.line + "\n" + k.line, "ak");
  CHECK(parsed.keys.size() == 1);  // the second line
  REQUIRE(parsed.ignored.size() == 1);
  CHECK(parsed.ignored[0].starts_with("ak:1: "));
}

TEST_CASE("one bad line does not hide the good ones") {
  const Lines k;
  const auto parsed = parse_authorized_keys(
      "ssh-rsa AAAA\nssh-dss x y\n" + k.line.substr(0, 60) + "\n" +
          std::string(20000, 'a') + "\n" + k.line + "\nssh-ed25519\n",
      "ak");
  CHECK(parsed.keys.size() == 1);
  CHECK(parsed.ignored.size() == 5);
  for (const std::string& sentence : parsed.ignored) {
    CHECK(sentence.size() < 300);
  }
}

TEST_CASE("there are limits") {
  const Lines k;
  std::string many;
  for (int i = 0; i < 300; ++i) many += k.line + "\n";
  CHECK(parse_authorized_keys(many, "ak").keys.size() == kMaxAuthorizedKeys);
  const auto huge = parse_authorized_keys(
      std::string(kMaxAuthorizedKeysText + 1, '\n'), "ak");
  CHECK(huge.keys.empty());
  CHECK(huge.ignored.size() == 1);
  std::string bad;
  for (int i = 0; i < 1000; ++i) bad += "x\n";
  CHECK(parse_authorized_keys(bad, "ak").ignored.size() == 17);
}
