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
};

struct SecretToken {
  std::string_view prefix;
  TokenAlphabet alphabet;
  size_t least;  // characters behind the prefix
  size_t most;   // 0: no limit
};

// Lengths of tokens as they are seen; those of GitHub and GitLab were compared
// with what these document. Lower bounds where newer tokens are longer.
inline constexpr std::array<SecretToken, 67> kSecretTokens = {{
    {"AKIA", TokenAlphabet::kUpperDigits, 16, 16},  // AWS access key ids
    {"ASIA", TokenAlphabet::kUpperDigits, 16, 16},
    {"ABIA", TokenAlphabet::kUpperDigits, 16, 16},
    {"ACCA", TokenAlphabet::kUpperDigits, 16, 16},
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
    {"nvapi-", TokenAlphabet::kWord, 40, 0},  // NVIDIA NGC
    {"xoxb-", TokenAlphabet::kWord, 20, 0},   // Slack
    {"xoxp-", TokenAlphabet::kWord, 20, 0},
    {"xoxa-", TokenAlphabet::kWord, 20, 0},
    {"xoxr-", TokenAlphabet::kWord, 20, 0},
    {"xoxs-", TokenAlphabet::kWord, 20, 0},
    {"xoxe-", TokenAlphabet::kWord, 20, 0},
    {"xoxe.", TokenAlphabet::kDotted, 20, 0},
    {"xapp-", TokenAlphabet::kWord, 20, 0},
    {"npm_", TokenAlphabet::kAlnum, 36, 0},
    {"pypi-AgE", TokenAlphabet::kWord, 40, 0},
    {"dckr_pat_", TokenAlphabet::kWord, 20, 0},
    {"dckr_oat_", TokenAlphabet::kWord, 20, 0},
    {"dop_v1_", TokenAlphabet::kAlnum, 64, 0},
    {"dapi", TokenAlphabet::kAlnum, 32, 34},  // Databricks
    {"hvs.", TokenAlphabet::kWord, 24, 0},    // Vault
    {"hvb.", TokenAlphabet::kWord, 24, 0},
    {"sha256~", TokenAlphabet::kWord, 40, 0},  // OpenShift
    {"gsk_", TokenAlphabet::kAlnum, 40, 0},
    {"r8_", TokenAlphabet::kAlnum, 37, 0},
    {"tok_", TokenAlphabet::kAlnum, 32, 0},
    {"KGAT_", TokenAlphabet::kAlnum, 32, 0},  // Kaggle
    {"xai-", TokenAlphabet::kAlnum, 40, 0},   // xAI
    {"pplx-", TokenAlphabet::kAlnum, 40, 0},  // Perplexity
    {"SG.", TokenAlphabet::kDotted, 40, 0},   // SendGrid
    {"glsa_", TokenAlphabet::kWord, 32, 0},   // Grafana
    {"glc_", TokenAlphabet::kAlnum, 32, 0},
    {"sntrys_", TokenAlphabet::kWord, 40, 0},  // Sentry
    {"LTAI", TokenAlphabet::kAlnum, 17, 20},   // Alibaba access key ids
    {"eyJ", TokenAlphabet::kDotted, 60, 0},    // JWT: checked for its two dots
}};

// What stands before a token in an Authorization header.
inline constexpr std::array<std::string_view, 5> kAuthorizationSchemes = {
    {"Bearer ", "bearer ", "BEARER ", "Basic ", "basic "}};

}  // namespace muster
