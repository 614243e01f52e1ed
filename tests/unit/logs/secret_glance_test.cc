// SPDX-License-Identifier: Apache-2.0
// The glance may err on one side only: what mask() would hide, it must see.
#include "logs/secret_glance.h"

#include <random>

#include "catch.h"
#include "logs/masker.h"

namespace muster {
namespace {

// What lines with and without secrets are made of; the longer ones make lines
// of several blocks, in which a piece may lie at any place.
constexpr std::string_view kPieces[] = {
    "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
    "hf_abcdefghijklmnopqrstuvwxyz01234567",
    "sk-0123456789abcdefghijklmnopqrstuv",
    "AKIAIOSFODNN7EXAMPLE",
    "Authorization: Bearer 0123456789abcdefABCDEF",
    "basic dXNlcjpwYXNzd29yZA0123",
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh",
    "glc_0123+/abcdefABCDEF0123+/abcdefABCDEF==",
    "https://hooks.slack.com/services/T0/B0/ab12",
    "https://acme.webhook.office.com/webhookb2/ab12",
    "secret_key = ",
    "cookie",
    "X-Goog-Signature=",
    "    ",
    "HF_TOKEN=",
    "db-password: ",
    "\"api_key\": \"",
    "'secret'='",
    "\\\"client_secret\\\": \\\"",
    "\\",
    "Authorization: Token 0123456789abcdefabcdef",
    "--token ",
    "https://user:",
    "@host/path",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "\x1b[31m",
    "tokens/s=",
    "step=1",
    " ",
    ":",
    "=",
    "-",
    "\"",
    "abc123def456",
    "sig",
    "pwd_",
    "_key",
    "hunter2hunter2",
    "12:34:56",
    "\"auth\":\"",
    "_auth=",
    "Ym90OkdoNy14OQ==",
    "{\"auths\":",
    "DB_PASS=",
    "AZURE_STORAGE_KEY=",
    "REDIS_AUTH=",
    "KUBE_BEARER: ",
    "ldap_bind_pw=",
    "VAULT_UNSEAL=",
    "machine api.wandb.ai login user ",
    "password ",
    "passwd ",
    "curl -u ",
    " -p ",
    "sshpass",
    "docker login",
    "curl --user me:",
    "PuTTY-User-Key-File-3: ssh-rsa",
    "authorization: bearer ",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    "hunter2:x9",
    "abcdefghijklmnopqrstuvwxyzabcdefghijkl"};

TEST_CASE("nothing that would be masked escapes the glance") {
  std::mt19937 random(11);
  const auto masker = Masker::create({});
  REQUIRE(masker);
  int masked = 0;
  int passed = 0;
  std::string text;  // of several lines, as a frame brings them
  bool hidden_in_text = false;
  for (int i = 0; i < 40'000; ++i) {
    std::string line(random() % 70, 'x');
    for (size_t count = random() % 6; count > 0; --count) {
      line += kPieces[random() % std::size(kPieces)];
    }
    std::string clean = line;
    MaskState state;
    const bool hidden = masker->mask(clean, state);
    CAPTURE(line);
    if (hidden) REQUIRE(masker->needs_look(line, MaskState{}));
    text += line + '\n';
    hidden_in_text |= hidden;
    if (i % 7 == 0) {
      if (hidden_in_text) REQUIRE(may_hold_secret(text));
      text.clear();
      hidden_in_text = false;
    }
    masked += hidden;
    passed += !masker->needs_look(line, MaskState{});
  }
  CHECK(masked > 4'000);
#ifdef __SSE2__
  CHECK(passed > 1'000);
#endif
}

#ifdef __SSE2__
TEST_CASE("the usual lines of a training need no second look") {
  CHECK_FALSE(may_hold_secret(""));
  CHECK_FALSE(may_hold_secret("epoch 3 step 120 loss=0.4 lr=1e-4 tokens/s=99"));
  CHECK_FALSE(may_hold_secret("INFO:root: num_tokens: 4096, key_dim=64"));
  CHECK_FALSE(may_hold_secret("https://pytorch.org/docs at 12:34:56"));
}
#endif

TEST_CASE("a secret's name and value on both sides of a block's end") {
  for (size_t before = 0; before < 130; ++before) {
    CAPTURE(before);
    const std::string blank(before, ' ');
    CHECK(may_hold_secret(blank + "WANDB_API_KEY=0123456789abcdef"));
    CHECK(may_hold_secret(blank + "hf_0123456789abcdefghijklmnopqrstuv"));
    CHECK(may_hold_secret(blank + "x --password hunter2hunter2"));
    CHECK(may_hold_secret(blank + "\"auth\": \"Ym90OkdoNy14OQ==\""));
    CHECK(may_hold_secret(blank + "\"token\": \"0123456789abc\""));
    CHECK(may_hold_secret(blank + "s3://me:secret99@host"));
    CHECK(may_hold_secret(blank + "Authorization: Bearer +a0b1c2d3e4f5g6h7"));
    CHECK(may_hold_secret(blank + "a\nhf_0123456789abcdefghijklmnopqrstuv\nb"));
  }
}

TEST_CASE("values of the environment and inside a private key") {
  const auto masker =
      Masker::create({{{"MY_TOKEN", "not_like_any_other"}}, {}});
  REQUIRE(masker);
  CHECK(masker->needs_look("it is not_like_any_other", {}));
  CHECK(masker->needs_look("MIIEpAIBAAKCAQEA",
                           MaskState{MaskState::Key::kBlock, 1, 0}));
}

}  // namespace
}  // namespace muster
