// SPDX-License-Identifier: Apache-2.0
// The files in keys/ were made for these tests by openssl(1) and ssh-keygen(1)
// and open nothing.
#include "sshd-lite/ssh_key.h"

#include "base/fd.h"
#include "base/text.h"
#include "catch.h"
#include "sshd-lite/keygen.h"

using namespace muster;

namespace {

std::string key_file(const std::string& name) {
  const auto text = read_file(std::string(TEST_KEYS) + "/" + name);
  REQUIRE(text);
  return *text;
}

std::string with_crlf(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? "\r\n" : std::string(1, c);
  return out;
}

}  // namespace

TEST_CASE("private keys are read in every form, kind by content") {
  const auto [file, type] = GENERATE(table<std::string, std::string>(
      {{"p521_sec1.pem", "ecdsa-sha2-nistp521"},  // what the operators mount
       {"p521_pkcs8.pem", "ecdsa-sha2-nistp521"},
       {"ed25519_openssh", "ssh-ed25519"},
       {"rsa3072.pem", "ssh-rsa"}}));
  const std::string text = key_file(file);
  for (const std::string& form :
       {text, with_crlf(text), "\n# a comment\n" + text, text + "\n\n"}) {
    const auto key = SshKey::parse_private(form, file);
    INFO(file);
    REQUIRE(key);
    CHECK(key->type() == type);
    CHECK(key->fingerprint().starts_with("SHA256:"));
    CHECK(key->public_part()->same_public(*key));
  }
}

TEST_CASE("the same key in two forms is one key") {
  auto one = SshKey::parse_private(key_file("p521_sec1.pem"), "one");
  const auto two = SshKey::parse_private(key_file("p521_pkcs8.pem"), "two");
  REQUIRE(one);
  REQUIRE(two);
  CHECK(one->same_public(*two));
  CHECK(one->fingerprint() == two->fingerprint());
  one->remember_fingerprint();
  CHECK(one->fingerprint() == two->fingerprint());
  CHECK_FALSE(one->same_public(SshKey()));
}

TEST_CASE("unusable private keys are refused with the file's name") {
  const auto [file, why] = GENERATE(
      table<std::string, std::string>({{"ed25519_passphrase", "passphrase"},
                                       {"p384_passphrase.pem", "passphrase"},
                                       {"rsa2048_openssh", "2048 bits"},
                                       {"rsa2048.pub", "BEGIN"}}));
  const auto key = SshKey::parse_private(key_file(file), file);
  REQUIRE_FALSE(key);
  CHECK(key.error().code == "key_unusable");
  CHECK(key.error().where == file);
  CHECK(key.error().why.find(why) != std::string::npos);
}

TEST_CASE("damaged private keys are refused") {
  const std::string good = key_file("p521_sec1.pem");
  for (const std::string& text :
       {std::string(), std::string("-----BEGIN "), good.substr(0, 120),
        std::string(100000, 'x'), good.substr(0, 60) + '\0' + good.substr(60),
        std::string("-----BEGIN EC PRIVATE KEY-----\nAAAA\n"
                    "-----END EC PRIVATE KEY-----\n")}) {
    CHECK_FALSE(SshKey::parse_private(text, "x"));
  }
}

TEST_CASE("a public key must be what its line says") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const std::string body = key->public_base64();
  CHECK(SshKey::parse_public("ecdsa-sha2-nistp256", body, "x"));
  CHECK_FALSE(SshKey::parse_public("ecdsa-sha2-nistp521", body, "x"));
  CHECK_FALSE(SshKey::parse_public("ssh-ed25519", body, "x"));
  CHECK_FALSE(SshKey::parse_public("ssh-dss", body, "x"));
  CHECK_FALSE(SshKey::parse_public("ecdsa-sha2-nistp256", body.substr(4), "x"));
  CHECK_FALSE(SshKey::parse_public("ecdsa-sha2-nistp256", body + "AAAA", "x"));
  const std::string rsa = key_file("rsa2048.pub");
  const auto words = split_words(rsa);
  const auto weak = SshKey::parse_public(words[0], words[1], "x");
  REQUIRE_FALSE(weak);
  CHECK(weak.error().why.find("2048") != std::string::npos);
}

TEST_CASE("what keygen writes can be read back") {
  const auto type = GENERATE(KeyType::kEcdsaP256, KeyType::kEcdsaP384,
                             KeyType::kEcdsaP521, KeyType::kEd25519);
  const auto key = SshKey::generate(type);
  REQUIRE(key);
  const auto again = SshKey::parse_private(*key->private_text(), "again");
  REQUIRE(again);
  CHECK(again->same_public(*key));
  const auto yaml = secret_yaml(*key, "on", "123");
  REQUIRE(yaml);
  CHECK(yaml->find("\n  name: \"on\"\n  namespace: \"123\"\n") !=
        std::string::npos);
  CHECK(yaml->find("\n  ssh-privatekey: LS0tLS1CRUdJTi") != std::string::npos);
}
