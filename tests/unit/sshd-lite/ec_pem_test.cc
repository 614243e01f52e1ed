// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/ec_pem.h"

#include <libssh/libssh.h>

#include "base/fd.h"
#include "catch.h"
#include "sshd-lite/ssh_key.h"

using namespace muster;

namespace {

std::string key_file(const std::string& name) {
  const auto text = read_file(std::string(TEST_KEYS) + "/" + name);
  REQUIRE(text);
  return *text;
}

// As libssh reads it by itself.
SshKey read(const std::string& text) {
  ssh_key raw = nullptr;
  ssh_pki_import_privkey_base64(text.c_str(), nullptr, nullptr, nullptr, &raw);
  return SshKey::adopt(raw);
}

bool same_private(const SshKey& a, const SshKey& b) {
  return a && b && ssh_key_cmp(a.get(), b.get(), SSH_KEY_CMP_PRIVATE) == 0;
}

}  // namespace

TEST_CASE("keys of all curves are the same key when rewritten") {
  for (const KeyType type :
       {KeyType::kEcdsaP256, KeyType::kEcdsaP384, KeyType::kEcdsaP521}) {
    for (int i = 0; i < 20; ++i) {  // numbers with and without leading zeros
      const auto key = SshKey::generate(type);
      REQUIRE(key);
      const auto form = openssh_form(*key->private_text());
      REQUIRE(form);
      CHECK(same_private(read(*form), *key));
    }
  }
}

TEST_CASE("both PEM forms are rewritten") {
  const auto sec1 = openssh_form(key_file("p521_sec1.pem"));
  const auto pkcs8 = openssh_form(key_file("p521_pkcs8.pem"));
  REQUIRE(sec1);
  CHECK(sec1 == pkcs8);
  CHECK(same_private(read(*sec1), read(key_file("p521_sec1.pem"))));
}

TEST_CASE("other keys are left to libssh") {
  for (const char* file :
       {"ed25519_openssh", "rsa3072.pem", "p384_passphrase.pem"}) {
    CHECK_FALSE(openssh_form(key_file(file)));
  }
}

TEST_CASE("a damaged key is never rewritten into another") {
  for (const char* file : {"p521_sec1.pem", "p521_pkcs8.pem"}) {
    const std::string good = key_file(file);
    const std::string whole = openssh_form(good).value();
    for (size_t i = 0; i < good.size(); ++i) {
      const auto cut = openssh_form(good.substr(0, i));
      CHECK((!cut || *cut == whole));
      std::string bent = good;
      bent[i] = bent[i] == 'A' ? 'B' : 'A';
      (void)openssh_form(bent);  // must stay within its bounds
    }
  }
}
