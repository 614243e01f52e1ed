// SPDX-License-Identifier: Apache-2.0
#include "logs/masker.h"

#include <random>

#include "catch.h"

using namespace muster;

namespace {

constexpr std::string_view kAlnum =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

std::string random_text(std::mt19937& random, std::string_view alphabet,
                        size_t length) {
  std::string text;
  for (size_t i = 0; i < length; ++i) {
    text += alphabet[random() % alphabet.size()];
  }
  text[random() % length] = '7';  // never only letters
  text[(random() % (length - 1))] = 'K';
  return text;
}

struct Shape {
  std::string_view prefix;
  size_t length;
  bool upper_case;
};

Masker plain() {
  auto masker = Masker::create({});
  REQUIRE(masker);
  return *std::move(masker);
}

}  // namespace

TEST_CASE("10,000 seeded secrets in sentences: at least 99.9 % are hidden") {
  constexpr Shape kShapes[] = {{"AKIA", 16, true},
                               {"ASIA", 16, true},
                               {"AIza", 35, false},
                               {"ghp_", 36, false},
                               {"gho_", 36, false},
                               {"github_pat_", 82, false},
                               {"glpat-", 20, false},
                               {"hf_", 34, false},
                               {"sk-ant-api03-", 90, false},
                               {"sk-proj-", 60, false},
                               {"nvapi-", 64, false},
                               {"xoxb-", 50, false},
                               {"npm_", 36, false},
                               {"dckr_pat_", 27, false},
                               {"wandb_v1_", 60, false},
                               {"hvs.", 90, false},
                               {"sha256~", 43, false},
                               {"Authorization: Bearer ", 40, false},
                               {"WANDB_API_KEY=", 40, false},
                               {"AWS_SECRET_ACCESS_KEY=", 40, false},
                               {"\"client_secret\": \"", 32, false},
                               {"--password ", 12, false},
                               {"https://user:", 16, false}};
  constexpr std::string_view kBefore[] = {"",     "using ",   "(",  "key='",
                                          "got=", "\x1b[31m", "a, "};
  std::mt19937 random(20260131);
  const Masker masker = plain();
  int missed = 0;
  for (int i = 0; i < 10000; ++i) {
    const Shape& shape = kShapes[random() % std::size(kShapes)];
    const std::string secret = random_text(
        random, shape.upper_case ? kAlnum.substr(0, 26) : kAlnum, shape.length);
    std::string line(kBefore[random() % std::size(kBefore)]);
    line += shape.prefix;
    line += secret;
    line += shape.prefix.starts_with("https") ? "@host/x" : " and more";
    MaskState state;
    masker.mask(line, state);
    if (line.find(secret) != std::string::npos) {
      if (++missed < 5) UNSCOPED_INFO(line);
    }
  }
  CHECK(missed <= 10);
}

// The shapes that the providers document or issue; all characters made up.
TEST_CASE("a token of each provider is hidden to its last character") {
  const Masker masker = plain();
  for (const char* const token :
       {"ghp_A1bC2dE3fH4iJ5kL6mN7oP8qR9sT0uV1wX2y",
        "gho_A1b_2dE3fH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3aB",
        "github_pat_11ABCDEFG0aBcDeFgHiJkL_mN0pQrStUvWxYz1234567890",
        "glpat-z9_sxgtrfAxKr8q1TPY8",
        "glpat-Ab12Cd34Ef56Gh78Ij90Kl1m.01.1a2b3c4",
        "glrt-t1_Ab12Cd34Ef56Gh78Ij90.01.0z9y8x7",
        "gloas-1a2b3c4d5e6f7a8b9c0d1e2f",
        "glcbt-64_Ab12Cd34Ef56Gh78Ij90",
        "sk-svcacct-Ab12Cd34-Ef56Gh78_Ij90Kl12",
        "sk-admin-Ab12Cd34Ef56Gh78Ij90Kl12",
        "sk-or-v1-0a1b2c3d4e5f60718293a4b5",
        "xoxe.xoxp-1-Mi0yLTEyMzQ1Njc4OTAtYWJj",
        "xoxs-123456789012-1234567890-a1b2",
        "dckr_oat_Ab12Cd34Ef56Gh78Ij90Kl12",
        "hf_oauth_eyJhbGciOi1Zz.eyJzdWIiOj2Yy.a-3bXx90",
        "KGAT_0a1b2c3d4e5f60718293a4b5c6d7e8f9",
        "xai-Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op56Qr78St90Uv",
        "SG.Ab12Cd34Ef56Gh78Ij90Kl.Mn34Op56Qr78St90Uv12Wx34Yz56Ab78Cd90Ef12G",
        "glsa_Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op56_a1b2c3d4",
        "LTAI5tAb12Cd34Ef56Gh78Ij"}) {
    std::string line = std::string("login with ") + token + " as bot";
    MaskState state;
    INFO(token);
    CHECK(masker.mask(line, state));
    CHECK(line.starts_with("login with "));
    CHECK(line.ends_with(" as bot"));
    const std::string_view tail =
        std::string_view(token).substr(std::string_view(token).size() - 4);
    CHECK(line.find(tail) == std::string::npos);
  }
}

TEST_CASE("ordinary lines are left alone") {
  const Masker masker = plain();
  for (const char* const text :
       {"max_new_tokens=4096, tokens: 1234567890",
        "tokenizer: gpt2-medium-v2",
        "eos_token: <|endoftext|>",
        "loss: 0.123456789 lr=1e-5",
        "ssh://worker-1:2222/path",
        "https://example.com/a@b?x=1",
        "commit 5f2d9b8c7a6e5d4c3b2a1f0e9d8c7b6a5f4e3d2c",
        "sk-learn 1.2 is installed",
        "hf_transfer enabled",
        "AKIA is a prefix",
        "Basic usage of the tool",
        "secret_name: job-ssh",
        "token_id=50256",
        "user@host:/data/set",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f",
        "12:34:56 step 10",
        "password file not found",
        "key: value",
        "KeyError: 'access'",
        "export PATH=/usr/bin:/bin"}) {
    std::string line = text;
    MaskState state;
    CHECK_FALSE(masker.mask(line, state));
    CHECK(line == text);
  }
}

TEST_CASE("at most one false alarm in 100,000 lines of a run") {
  std::mt19937 random(3);
  const Masker masker = plain();
  int alarms = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string line =
        "epoch " + std::to_string(i % 90) + " step " + std::to_string(i) +
        " loss=" + std::to_string(static_cast<double>(random() % 10000) / 1e4) +
        " tokens/s: " + std::to_string(random()) +
        " id=" + std::to_string(random()) +
        random_text(random, "0123456789abcdef", 32) + " host=gpu-" +
        std::to_string(i % 16) + ":2222 " + random_text(random, kAlnum, 12);
    MaskState state;
    if (masker.mask(line, state)) ++alarms;
  }
  CHECK(alarms <= 1);
}

TEST_CASE("private keys are hidden over their lines") {
  const Masker masker = plain();
  const std::string text = masker.masked(
      "before\nx -----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nabc\n"
      "-----END OPENSSH PRIVATE KEY----- after\nnext");
  CHECK(text == "before\nx [masked]\n[masked]\n[masked]\n[masked] after\nnext");
}

TEST_CASE("values of the environment and user patterns") {
  auto masker = Masker::create({{{"DB_PASSWORD", "correct horse"},
                                 {"HF_TOKEN", "short"},
                                 {"HOME", "/home/somebody"}},
                                {"job-(\\d{4})", "XYZ+"}});
  REQUIRE(masker);
  CHECK(masker->masked("is correct horse ok") == "is [masked] ok");
  CHECK(masker->masked("short /home/somebody") == "short /home/somebody");
  CHECK(masker->masked("job-1234 and XYZZ") == "job-[masked] and [masked]");
  CHECK_FALSE(Masker::create({{}, {"("}}));
}

TEST_CASE("passwords in URLs and after names") {
  const Masker masker = plain();
  CHECK(masker.masked("git clone https://me:s3cr3t@host/r.git") ==
        "git clone https://me:[masked]@host/r.git");
  CHECK(masker.masked("password=hunter2hunter2, x") == "password=[masked], x");
  CHECK(masker.masked("{\"api_key\": \"abcdef123456\"}") ==
        "{\"api_key\": \"[masked]\"}");
}
