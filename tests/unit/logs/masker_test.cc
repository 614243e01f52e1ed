// SPDX-License-Identifier: Apache-2.0
#include "logs/masker.h"

#include <random>

#include "base/json_text.h"
#include "base/text.h"
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
  return text;
}

// As random_text(), with a digit and a letter somewhere: what has no prefix is
// told from a word by them.
std::string mixed_text(std::mt19937& random, std::string_view alphabet,
                       size_t length) {
  std::string text = random_text(random, alphabet, length);
  text[random() % length] = '7';
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
    const std::string secret = mixed_text(
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

// Prefix, alphabet and length as scanners' published rules and the providers
// have them, one by one; not read from the table of the program.
TEST_CASE("tokens as their issuers make them are hidden whole") {
  constexpr std::string_view kLetters = kAlnum.substr(0, 52);
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  constexpr std::string_view kBase64 =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  struct Issued {
    std::string_view prefix;
    std::string_view alphabet;
    size_t length;
  };
  constexpr Issued kIssued[] = {
      {"hf_", kLetters, 34},
      {"api_org_", kLetters, 34},
      {"ABSK", kBase64, 130},
      {"bedrock-api-key-", kAlnum, 60},
      {"AKCp", kAlnum, 69},
      {"cmVmd", kAlnum, 59},
      {"cfut_", kAlnum, 48},
      {"cfat_", kAlnum, 48},
      {"cfk_", kAlnum, 48},
      {"doo_v1_", kHex, 64},
      {"dor_v1_", kHex, 64},
      {"dp.pt.", kAlnum, 43},
      {"fm2_", kBase64, 120},
      {"glffct-", kAlnum, 20},
      {"GR1348941", kAlnum, 20},
      {"glc_", kBase64, 60},
      {"lin_api_", kAlnum, 40},
      {"ntn_", kAlnum, 46},
      {"pscale_tkn_", kAlnum, 43},
      {"PMAK-", kHex, 59},
      {"pnu_", kAlnum, 36},
      {"pul-", kHex, 40},
      {"rubygems_", kHex, 48},
      {"sntryu_", kHex, 64},
      {"xoxc-12-34-", kHex, 64},
      {"sk_test_", kAlnum, 24},
      {"hvr.", kAlnum, 24},
      {"AKID", kAlnum, 32},
      {"AKLT", kAlnum, 40},
      {"tskey-auth-", kAlnum, 45},
      {"rpa_", kUpper, 40},
      {"fw_", kAlnum, 24},
      {"csk-", kAlnum, 48},
      {"sbp_", kHex, 40},
      {"ATATT3xFf", kAlnum, 180},
      {"ATBB", kAlnum, 32},
      {"lsv2_pt_", kHex, 43},
      {"pcsk_", kAlnum, 70},
      {"esecret_", kAlnum, 26},
      {"tgp_v1_", kAlnum, 43},
      {"jina_", kAlnum, 60},
      {"NRAK-", kUpper, 27},
      {"ops_eyJ", kBase64, 260},
      {"sk_", kHex, 48},
      {"aws_secret_access_key = ", kBase64, 40},
      {"\"secret_key\" : \"", kAlnum, 32},
      {"X-Amz-Signature=", kHex, 64},
      {"X-Goog-Signature=", kHex, 256},
      {"Cookie: session=", kAlnum, 40},
      {"https://hooks.slack.com/services/T0ABC/B0DEF/", kAlnum, 24},
      {"https://discord.com/api/webhooks/1234567/", kAlnum, 68},
      {"https://acme.webhook.office.com/webhookb2/", kHex, 36},
      {"https://api.telegram.org/bot12345:AA", kAlnum, 33}};
  const Masker masker = plain();
  std::mt19937 random(11);
  for (const Issued& issued : kIssued) {
    int missed = 0;
    for (int i = 0; i < 50; ++i) {
      const std::string secret =
          random_text(random, issued.alphabet, issued.length);
      std::string line = "got ";
      line += issued.prefix;
      line += secret;
      line += " from there";
      MaskState state;
      const bool seen = masker.needs_look(line, state);
      if (!seen || !masker.mask(line, state) ||
          line.find(secret.substr(secret.size() - 8)) != std::string::npos) {
        ++missed;
      }
    }
    INFO(issued.prefix);
    CHECK(missed <= 1);  // 20 characters may be letters of one case
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
        "hf_hub_download_from_the_cache",
        "fw_update_check_interval = 20",
        "tk_ThisIsAnOrdinaryCamelCaseName",
        "PWD=/home/user1/data2",
        "signature = forward(self, x1)",
        "token = word",
        "https://discord.com/channels/12345678",
        "AKIA is a prefix",
        "Basic usage of the tool",
        "secret_name: job-ssh",
        "token_id=50256",
        "user@host:/data/set",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f",
        "12:34:56 step 10",
        "password file not found",
        "cannot start /etc/passwd: Permission denied",
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

TEST_CASE("a secret with quotes is hidden in JSON and in a shell's words") {
  const std::string secret = "it's\\a\"se cret";
  auto masker = Masker::create({{{"DB_PASSWORD", secret}}, {}});
  REQUIRE(masker);
  std::string json;
  append_json_string(json, "--db " + secret);
  CHECK(masker->masked(secret) == "[masked]");
  CHECK(masker->masked(json) == "\"--db [masked]\"");
  CHECK(masker->masked("./app " + shell_quote(secret)) == "./app '[masked]'");
}

TEST_CASE("values of the environment and user patterns") {
  auto masker =
      Masker::create({{{"DB_PASSWORD", "correct horse"},
                       {"HF_TOKEN", "short"},
                       {"SIGNING_KEY", "-----BEGIN X-----\nline of a key\n"},
                       {"HOME", "/home/somebody"}},
                      {"job-(\\d{4})", "XYZ+"}});
  REQUIRE(masker);
  CHECK(masker->masked("is correct horse ok") == "is [masked] ok");
  CHECK(masker->masked("short /home/somebody") == "short /home/somebody");
  CHECK(masker->masked("a line of a key") == "a [masked]");
  CHECK(masker->masked("job-1234 and XYZZ") == "job-[masked] and [masked]");
  CHECK_FALSE(Masker::create({{}, {"("}}));
}

TEST_CASE("the logins of image registries and package indexes are hidden") {
  const Masker masker = plain();
  const std::string login = "Ym90OkdoNy14OQ==";  // bot:Gh7-x9
  for (const char* const text :
       {R"({"auths":{"ghcr.io":{"auth":"@"}}})",
        R"(DOCKER_AUTH_CONFIG={\"auths\":{\"a.io\":{\"auth\": \"@\"}}})",
        "      \"auth\": \"@\"", "//npm.corp/:_auth=@", "HTTP_AUTH: @"}) {
    const std::string line = text;
    const size_t at = line.find('@');
    std::string shown = line;
    CHECK(masker.masked(shown.replace(at, 1, login)) ==
          std::string(line).replace(at, 1, "[masked]"));
  }
  CHECK(masker.masked(R"("identitytoken": "Ab12Cd34Ef56")") ==
        R"("identitytoken": "[masked]")");
  CHECK(masker.masked(".dockerconfigjson: eyJhdXRocyI6eyJnaGNyLmlvIjp7ImF1dGgi"
                      "OiJZbTkwT2tkb055MTRPUT09In19fQ==") ==
        ".dockerconfigjson: [masked]");
  for (const char* const text :
       {"auth: enabled", "auth=kerberos5", R"("auth": "token-v2")",
        "oauth: 0123456789abcdef", "author: Ym90OkdoNy14OQ==",
        "auth: YWJjZGVmZ2hpamts", "auth: AAECAwQFBgcICQ==",  // no logins
        R"({"auths":{"ghcr.io":{}}})"}) {
    CHECK(masker.masked(text) == text);
  }
}

TEST_CASE("passwords in URLs and after names") {
  const Masker masker = plain();
  CHECK(masker.masked("git clone https://me:s3cr3t@host/r.git") ==
        "git clone https://me:[masked]@host/r.git");
  CHECK(masker.masked("password=hunter2hunter2, x") == "password=[masked], x");
  CHECK(masker.masked("{\"api_key\": \"abcdef123456\"}") ==
        "{\"api_key\": \"[masked]\"}");
  CHECK(masker.masked(R"({"password": "ab\"cd1234\\", "n": 1})") ==
        R"({"password": "[masked]", "n": 1})");
  CHECK(masker.masked(R"({"m":"{\"password\": \"hunter2hunter2\"}"})") ==
        R"({"m":"{\"password\": \"[masked]\"}"})");
  CHECK(masker.masked("Authorization: Token 0123456789abcdefabcdef!") ==
        "Authorization: Token [masked]!");
  CHECK(masker.masked("Token meta-llama/Llama-3.1-8B-Instruct") ==
        "Token meta-llama/Llama-3.1-8B-Instruct");
}

TEST_CASE("names of secrets, and names like them") {
  for (const char* const name : {"DB_PASS",
                                 "db-pass",
                                 "dbPass",
                                 "db.pass",
                                 "PASS",
                                 "SMTP_PASSWD",
                                 "PGPASSWORD",
                                 "password2",
                                 "MYSQL_PWD",
                                 "LDAP_BIND_PW",
                                 "SSHPASS",
                                 "KEY_PASSPHRASE",
                                 "AZURE_STORAGE_KEY",
                                 "COMET_KEY",
                                 "API_KEY",
                                 "APIKEY",
                                 "apiKey",
                                 "openaiKey2",
                                 "MASTER_KEY",
                                 "AWS_SECRET_ACCESS_KEY",
                                 "AWS_ACCESS_KEY_ID",
                                 "REDIS_AUTH",
                                 "NPM_AUTH",
                                 "KUBE_BEARER",
                                 "VAULT_UNSEAL",
                                 "VAULT_UNSEAL_KEY_1",
                                 "HF_TOKEN",
                                 "hfToken",
                                 "GITHUB_TOKEN_2",
                                 "NPM_TOKEN_PROD",
                                 "TOKEN",
                                 "CI_JOB_JWT_TOKEN",
                                 "CLIENT_SECRET",
                                 "SECRET",
                                 "GOOGLE_CREDENTIALS",
                                 "AWS_CREDS",
                                 "SESSION_SECRET_B64",
                                 "X-Amz-Signature",
                                 "Set-Cookie",
                                 "X-Auth-Token"}) {
    CAPTURE(name);
    CHECK(is_secret_name(name));
  }
  for (const char* const name : {"PWD",
                                 "OLDPWD",
                                 "KEYBOARD",
                                 "MONKEY",
                                 "KEY",
                                 "COMPASS",
                                 "BYPASS",
                                 "PASSES",
                                 "SORT_KEY",
                                 "sortKey",
                                 "PRIMARY_KEY",
                                 "PARTITION_KEY",
                                 "CACHE_KEY",
                                 "SSH_PUBLIC_KEY",
                                 "GPG_KEY",
                                 "image_key",
                                 "rng_key",
                                 "KEYTAB",
                                 "KEY_DIM",
                                 "num_keys",
                                 "SSH_AUTH_SOCK",
                                 "AUTHOR",
                                 "OAUTH",
                                 "XAUTHORITY",
                                 "AUTH_MODE",
                                 "TOKENIZERS_PARALLELISM",
                                 "MAX_TOKENS",
                                 "max_token",
                                 "EOS_TOKEN",
                                 "pad_token",
                                 "token_id",
                                 "TOKENIZER",
                                 "HF_TOKEN_PATH",
                                 "SECRET_NAME",
                                 "PASSWORD_FILE",
                                 "DB_PASS_FILE",
                                 "TOKEN_URL",
                                 "NUM_PASS",
                                 "forward_pass",
                                 "NCCL_AUTH",
                                 "OMPI_MCA_a_key",
                                 "UCX_TLS_KEY",
                                 "FI_KEY",
                                 "PW_DIR",
                                 "SPAWN",
                                 "PWM",
                                 "SIGNAL",
                                 "SIG_DFL",
                                 "ZIP_CODE",
                                 "PATH",
                                 "",
                                 "_",
                                 "__"}) {
    CAPTURE(name);
    CHECK_FALSE(is_secret_name(name));
  }
}

TEST_CASE("values that are no secrets whatever they are called") {
  for (const char* const value :
       {"true", "False", "disabled", "required", "/run/secrets/token", "./cert",
        "kerberos", "bearer", "xxxxxxxx", ""}) {
    CAPTURE(value);
    CHECK_FALSE(is_secret("DB_PASS", value));
  }
  CHECK_FALSE(is_secret("API_KEY", "1234567890"));
  CHECK_FALSE(is_secret("HTTP_AUTH", "https://auth.example.com/login"));
  CHECK(is_secret("DB_PASS", "1234567890"));
  CHECK(is_secret("HTTP_AUTH", "https://me:pw@auth.example.com"));
  CHECK(is_secret("COMET_KEY", "horse battery staple"));
}

TEST_CASE("values of all such names of the environment are hidden") {
  for (const char* const name :
       {"DB_PASS", "AZURE_STORAGE_KEY", "COMET_KEY", "REDIS_AUTH", "NPM_AUTH",
        "KUBE_BEARER", "LDAP_BIND_PW", "VAULT_UNSEAL"}) {
    CAPTURE(name);
    const auto masker = Masker::create({{{name, "correct horse"}}, {}});
    REQUIRE(masker);
    CHECK(masker->masked("it is correct horse, really") ==
          "it is [masked], really");
  }
}

TEST_CASE("logins as command lines, headers and files have them") {
  const Masker masker = plain();
  constexpr std::string_view kHidden[] = {
      "curl -u me:@ https://x",
      "curl -s -u 'me:@' https://x",
      "curl -ume:@ https://x",
      "curl --user me:@ x",
      "curl --user=me:@ x",
      "curl --proxy-user \"me:@\" x",
      "sshpass -p @ ssh host",
      "sshpass -p'@' ssh host",
      "docker login -u me -p @ ghcr.io",
      "redis-cli -h r -a @ ping",
      "machine api.wandb.ai login user password @",
      "machine a login b password @ machine c login d password @",
      "  password @",
      "login me passwd @",
      "mysql --password=@ -h db",
      "app --token @ --x",
      "app --db-pass @",
      "--api-key=@",
      "Authorization: Bearer @",
      "authorization: basic @",
      "Proxy-Authorization: Basic @",
      "-H 'Authorization: token @'",
      R"({"Authorization": "Bearer @"})",
      "postgres://me:@@db:5432/x",
      "redis://:@@redis:6379/0",
      "amqp://me:p@ss@@mq/x",
      "Server=db;User Id=sa;Password=@;Encrypt=yes",
      "Uid=sa;Pwd=@;",
      "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=@;X=y",
      "DB_PASS=@",
      "export COMET_KEY=@",
      "REDIS_AUTH: @",
      "\"dbPass\": \"@\"",
      "KUBE_BEARER=@",
      "LDAP_BIND_PW=@",
      "VAULT_UNSEAL=@",
      "x -x DB_PASS=@ y"};
  for (const std::string_view text : kHidden) {
    for (const std::string_view secret : {"hunter2hunter2x9", "a7K9b3X5q1Z8"}) {
      std::string line;
      std::string wanted;
      size_t from = 0;
      // "@@": the secret and the '@' behind it.
      for (size_t at = text.find('@'); at != text.npos;
           at = text.find('@', at + 1)) {
        if (at > 0 && text.substr(0, at).ends_with("me:p")) continue;
        line += text.substr(from, at - from);
        line += secret;
        from = at + 1;
        if (from < text.size() && text[from] == '@') {
          line += '@';
          at = from++;
        }
      }
      line += text.substr(from);
      CAPTURE(line);
      CHECK(masker.needs_look(line, MaskState{}));
      const std::string shown = masker.masked(line);
      CHECK(shown.find(secret) == shown.npos);
      CHECK(shown.find("[masked]") != shown.npos);
    }
  }
  CHECK(masker.masked("mpirun -x DB_PASS=pw12 ./app") ==
        "mpirun -x DB_PASS=[masked] ./app");
  CHECK(masker.masked("amqp://me:p@ss@mq/x") == "amqp://me:[masked]@mq/x");
}

TEST_CASE("what only resembles a login is left alone") {
  const Masker masker = plain();
  for (const char* const text : {"PASS: tests/unit/test_7a.py::test_b2c3",
                                 "pass=12/20 fail=8",
                                 "pass = 0.99871234",
                                 "key=layer12.attn3.weight4b",
                                 "image_key=observation_image_1",
                                 "sort_key: created_at_2024",
                                 "attn_key=0.123456789",
                                 "auth: kerberos5",
                                 "x_auth=enabled",
                                 "du -a -p /data",
                                 "ps -u root:x",
                                 "the password file not found",
                                 "enter password for user me",
                                 "machine learning login page",
                                 "password prompt",
                                 "Authorization: required",
                                 "Authorization: Bearer",
                                 "forward_pass=12.5ms",
                                 "curl -u",
                                 "--pass true",
                                 "spawn: ok",
                                 "learning_rate: 1e-4 bearers: 12",
                                 "PWD=/root/a1b2c3",
                                 "OLDPWD=/x",
                                 "SSH_AUTH_SOCK=/tmp/ssh-a1b2/agent.1",
                                 "cache_key=a1b2c3d4e5f6a7b8c9",
                                 "NCCL_IB_PKEY=0x7fff1234"}) {
    CHECK(masker.masked(text) == text);
  }
}

TEST_CASE("private keys of all kinds, several in a line, and what follows") {
  const Masker masker = plain();
  CHECK(masker.masked("a -----BEGIN PRIVATE KEY-----\\nMII\\n-----END PRIVATE "
                      "KEY----- b -----BEGIN EC PRIVATE KEY-----\\nMHc\\n"
                      "-----END EC PRIVATE KEY----- HF_TOKEN=abcd1234ef") ==
        "a [masked] b [masked] HF_TOKEN=[masked]");
  CHECK(masker.masked("-----BEGIN CERTIFICATE-----\\nMIIC\\n-----END "
                      "CERTIFICATE-----\\n-----BEGIN PRIVATE KEY-----\\nM\\n"
                      "-----END PRIVATE KEY-----") ==
        "-----BEGIN CERTIFICATE-----\\nMIIC\\n-----END "
        "CERTIFICATE-----\\n[masked]");
  CHECK(masker.masked("x\n-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQdGBF\n=a\n"
                      "-----END PGP PRIVATE KEY BLOCK-----\ny") ==
        "x\n[masked]\n[masked]\n[masked]\n[masked]\n[masked]\ny");
  CHECK(masker.masked("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nP2/56\n---- "
                      "END SSH2 ENCRYPTED PRIVATE KEY ----\ny") ==
        "[masked]\n[masked]\n[masked]\ny");
  CHECK(
      masker.masked("-----END A PRIVATE KEY----- -----BEGIN B PRIVATE KEY-----"
                    "\nx\n-----END B PRIVATE KEY----- z -----BEGIN C PRIVATE "
                    "KEY-----\nw\n-----END C PRIVATE KEY-----v") ==
      "-----END A PRIVATE KEY----- [masked]\n[masked]\n[masked] z "
      "[masked]\n[masked]\n[masked]v");
  CHECK(masker.masked("PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n"
                      "Comment: me\nPublic-Lines: 1\nAAAAC3\nPrivate-Lines: "
                      "2\nAAAAIM\nqqqq\nPrivate-MAC: "
                      "0123456789abcdef\nnext") ==
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n"
        "Comment: me\nPublic-Lines: 1\nAAAAC3\nPrivate-Lines: 2\n[masked]\n"
        "[masked]\nPrivate-MAC: 0123456789abcdef\nnext");
  CHECK(masker.masked("-----BEGIN PUBLIC KEY-----\nMII\n") ==
        "-----BEGIN PUBLIC KEY-----\nMII\n");
}
