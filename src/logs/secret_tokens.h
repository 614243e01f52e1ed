// SPDX-License-Identifier: Apache-2.0
// The tokens of common providers: how they begin, of which characters they are
// made, and how long they are. A table only.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace muster {

enum class TokenAlphabet {
  kUpperDigits,  // A-Z 0-9
  kAlnum,        // A-Z a-z 0-9
  kWord,         // and _ -
  kDotted,       // and .
  kBase64,       // kAlnum and + / = _ -
};

struct SecretToken {
  std::string_view prefix;
  TokenAlphabet alphabet;
  size_t least;  // characters behind the prefix
  size_t most;   // 0: no limit
};

// Lengths of GitHub's, GitLab's, Cloudflare's and Vault's tokens are those that
// they document; the others were compared with the published rules of a secret
// scanner (gitleaks, July 2026) or are as seen. Lower bounds where newer tokens
// are longer.
inline constexpr std::array<SecretToken, 114> kSecretTokens = {{
    {"AKIA", TokenAlphabet::kUpperDigits, 16, 16},  // AWS access key ids
    {"ASIA", TokenAlphabet::kUpperDigits, 16, 16},
    {"ABIA", TokenAlphabet::kUpperDigits, 16, 16},
    {"ACCA", TokenAlphabet::kUpperDigits, 16, 16},
    {"ABSK", TokenAlphabet::kBase64, 100, 0},  // Bedrock
    {"bedrock-api-key-", TokenAlphabet::kBase64, 40, 0},
    {"AIza", TokenAlphabet::kWord, 35, 35},  // Google API key
    {"ya29.", TokenAlphabet::kDotted, 20, 0},
    {"GOCSPX-", TokenAlphabet::kWord, 20, 0},
    {"1//0", TokenAlphabet::kWord, 30, 0},
    {"ghp_", TokenAlphabet::kWord, 36, 0},  // GitHub
    {"gho_", TokenAlphabet::kWord, 36, 0},
    {"ghu_", TokenAlphabet::kWord, 36, 0},
    {"ghs_", TokenAlphabet::kWord, 36, 0},
    {"ghr_", TokenAlphabet::kWord, 36, 0},
    {"github_pat_", TokenAlphabet::kWord, 22, 0},
    {"glpat-", TokenAlphabet::kDotted, 20, 0},  // GitLab; routable: a.01.b
    {"gldt-", TokenAlphabet::kWord, 20, 0},
    {"glrt-", TokenAlphabet::kDotted, 20, 0},
    {"glptt-", TokenAlphabet::kWord, 20, 0},
    {"glcbt-", TokenAlphabet::kWord, 20, 0},
    {"gloas-", TokenAlphabet::kWord, 20, 0},
    {"glft-", TokenAlphabet::kWord, 20, 0},
    {"glimt-", TokenAlphabet::kWord, 20, 0},
    {"glagent-", TokenAlphabet::kWord, 20, 0},
    {"glsoat-", TokenAlphabet::kWord, 20, 0},
    {"glffct-", TokenAlphabet::kWord, 20, 0},
    {"GR1348941", TokenAlphabet::kWord, 20, 0},
    {"hf_", TokenAlphabet::kAlnum, 30, 0},  // Hugging Face
    {"hf_oauth_", TokenAlphabet::kDotted, 30, 0},
    {"api_org_", TokenAlphabet::kAlnum, 30, 0},
    {"wandb_v1_", TokenAlphabet::kWord, 20, 0},  // Weights & Biases
    {"local-", TokenAlphabet::kAlnum, 40, 40},
    {"sk-ant-", TokenAlphabet::kWord, 20, 0},
    {"sk-proj-", TokenAlphabet::kWord, 20, 0},
    {"sk-svcacct-", TokenAlphabet::kWord, 20, 0},
    {"sk-admin-", TokenAlphabet::kWord, 20, 0},
    {"sk-or-v1-", TokenAlphabet::kWord, 20, 0},
    {"sk-", TokenAlphabet::kAlnum, 32, 0},
    {"sk_live_", TokenAlphabet::kAlnum, 20, 0},
    {"rk_live_", TokenAlphabet::kAlnum, 20, 0},
    {"sk_test_", TokenAlphabet::kAlnum, 20, 0},
    {"sk_", TokenAlphabet::kAlnum, 40, 0},    // ElevenLabs
    {"nvapi-", TokenAlphabet::kWord, 40, 0},  // NVIDIA NGC
    {"xoxb-", TokenAlphabet::kWord, 20, 0},   // Slack
    {"xoxp-", TokenAlphabet::kWord, 20, 0},
    {"xoxa-", TokenAlphabet::kWord, 20, 0},
    {"xoxr-", TokenAlphabet::kWord, 20, 0},
    {"xoxs-", TokenAlphabet::kWord, 20, 0},
    {"xoxc-", TokenAlphabet::kWord, 20, 0},
    {"xoxd-", TokenAlphabet::kWord, 20, 0},
    {"xoxe-", TokenAlphabet::kWord, 20, 0},
    {"xoxe.", TokenAlphabet::kDotted, 20, 0},
    {"xapp-", TokenAlphabet::kWord, 20, 0},
    {"npm_", TokenAlphabet::kAlnum, 36, 0},
    {"pypi-AgE", TokenAlphabet::kWord, 40, 0},
    {"dckr_pat_", TokenAlphabet::kWord, 20, 0},
    {"dckr_oat_", TokenAlphabet::kWord, 20, 0},
    {"eyJhdXRocyI6", TokenAlphabet::kBase64, 20, 0},    // {"auths":, an image
    {"ewoJImF1dGhzIj", TokenAlphabet::kBase64, 20, 0},  // pull secret
    {"dop_v1_", TokenAlphabet::kAlnum, 64, 0},
    {"doo_v1_", TokenAlphabet::kAlnum, 64, 0},  // DigitalOcean
    {"dor_v1_", TokenAlphabet::kAlnum, 64, 0},
    {"dapi", TokenAlphabet::kAlnum, 32, 34},  // Databricks
    {"hvs.", TokenAlphabet::kWord, 24, 0},    // Vault
    {"hvb.", TokenAlphabet::kWord, 24, 0},
    {"hvr.", TokenAlphabet::kWord, 20, 0},
    {"sha256~", TokenAlphabet::kWord, 40, 0},  // OpenShift
    {"gsk_", TokenAlphabet::kAlnum, 40, 0},
    {"r8_", TokenAlphabet::kAlnum, 37, 0},
    {"tok_", TokenAlphabet::kAlnum, 32, 0},
    {"KGAT_", TokenAlphabet::kAlnum, 32, 0},  // Kaggle
    {"xai-", TokenAlphabet::kAlnum, 40, 0},   // xAI
    {"pplx-", TokenAlphabet::kAlnum, 40, 0},  // Perplexity
    {"SG.", TokenAlphabet::kDotted, 40, 0},   // SendGrid
    {"glsa_", TokenAlphabet::kWord, 32, 0},   // Grafana
    {"glc_", TokenAlphabet::kBase64, 32, 0},
    {"sntrys_", TokenAlphabet::kWord, 40, 0},  // Sentry
    {"LTAI", TokenAlphabet::kAlnum, 17, 20},   // Alibaba access key ids
    {"AKID", TokenAlphabet::kAlnum, 32, 36},   // Tencent access key ids
    {"AKLT", TokenAlphabet::kAlnum, 36, 0},    // Volcengine access key ids
    {"AKCp", TokenAlphabet::kAlnum, 60, 0},    // Artifactory
    {"cmVmd", TokenAlphabet::kAlnum, 59, 59},
    {"cfk_", TokenAlphabet::kAlnum, 40, 0},  // Cloudflare
    {"cfut_", TokenAlphabet::kAlnum, 40, 0},
    {"cfat_", TokenAlphabet::kAlnum, 40, 0},
    {"ops_eyJ", TokenAlphabet::kBase64, 100, 0},  // 1Password
    {"dp.pt.", TokenAlphabet::kAlnum, 40, 0},     // Doppler
    {"dp.st.", TokenAlphabet::kDotted, 40, 0},
    {"fm2_", TokenAlphabet::kBase64, 60, 0},  // Fly.io
    {"fo1_", TokenAlphabet::kWord, 40, 0},
    {"pnu_", TokenAlphabet::kAlnum, 36, 0},  // Prefect
    {"pul-", TokenAlphabet::kAlnum, 40, 0},  // Pulumi
    {"pscale_", TokenAlphabet::kDotted, 36, 0},
    {"PMAK-", TokenAlphabet::kWord, 40, 0},  // Postman
    {"ntn_", TokenAlphabet::kAlnum, 40, 0},  // Notion
    {"lin_api_", TokenAlphabet::kAlnum, 40, 0},
    {"rubygems_", TokenAlphabet::kAlnum, 48, 0},
    {"sntryu_", TokenAlphabet::kAlnum, 60, 0},
    {"sbp_", TokenAlphabet::kAlnum, 40, 0},          // Supabase
    {"tskey-", TokenAlphabet::kWord, 20, 0},         // Tailscale
    {"NRAK-", TokenAlphabet::kUpperDigits, 27, 27},  // New Relic
    {"ATATT3", TokenAlphabet::kBase64, 100, 0},      // Atlassian
    {"ATBB", TokenAlphabet::kAlnum, 32, 0},
    {"lsv2_", TokenAlphabet::kWord, 40, 0},  // LangSmith
    {"pcsk_", TokenAlphabet::kWord, 40, 0},  // Pinecone
    {"rpa_", TokenAlphabet::kAlnum, 30, 0},  // RunPod
    {"fw_", TokenAlphabet::kAlnum, 20, 0},   // Fireworks
    {"csk-", TokenAlphabet::kAlnum, 40, 0},  // Cerebras
    {"tgp_v1_", TokenAlphabet::kWord, 36, 0},
    {"jina_", TokenAlphabet::kAlnum, 50, 0},
    {"esecret_", TokenAlphabet::kAlnum, 24, 0},  // Anyscale
    {"AGE-SECRET-KEY-1", TokenAlphabet::kUpperDigits, 58, 58},
    {"eyJ", TokenAlphabet::kDotted, 60, 0},  // JWT: checked for its two dots
}};

// Addresses whose path is the secret.
inline constexpr std::array<std::string_view, 5> kSecretAddresses = {
    {"hooks.slack.com/", "discord.com/api/webhooks/",
     "discordapp.com/api/webhooks/", "api.telegram.org/bot",
     "webhook.office.com/webhookb2/"}};

// The words before a token in an Authorization header. "Token" is too common a
// word to stand alone.
inline constexpr std::array<std::string_view, 9> kAuthorizationSchemes = {
    {"Bearer ", "bearer ", "BEARER ", "Basic ", "basic ",
     "Authorization: Token ", "Authorization: token ", "authorization: Token ",
     "authorization: token "}};

}  // namespace muster
