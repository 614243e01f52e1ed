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

// Lengths as the providers document or issue them; a few are lower bounds
// because newer tokens are longer.
inline constexpr std::array<SecretToken, 42> kSecretTokens = {{
    {"AKIA", TokenAlphabet::kUpperDigits, 16, 16},  // AWS access key ids
    {"ASIA", TokenAlphabet::kUpperDigits, 16, 16},
    {"ABIA", TokenAlphabet::kUpperDigits, 16, 16},
    {"ACCA", TokenAlphabet::kUpperDigits, 16, 16},
    {"AIza", TokenAlphabet::kWord, 35, 35},  // Google API key
    {"ya29.", TokenAlphabet::kDotted, 20, 0},
    {"GOCSPX-", TokenAlphabet::kWord, 20, 0},
    {"1//0", TokenAlphabet::kWord, 30, 0},
    {"ghp_", TokenAlphabet::kAlnum, 36, 0},  // GitHub
    {"gho_", TokenAlphabet::kAlnum, 36, 0},
    {"ghu_", TokenAlphabet::kAlnum, 36, 0},
    {"ghs_", TokenAlphabet::kWord, 36, 0},
    {"ghr_", TokenAlphabet::kAlnum, 36, 0},
    {"github_pat_", TokenAlphabet::kWord, 22, 0},
    {"glpat-", TokenAlphabet::kWord, 20, 0},  // GitLab
    {"gldt-", TokenAlphabet::kWord, 20, 0},
    {"glrt-", TokenAlphabet::kWord, 20, 0},
    {"hf_", TokenAlphabet::kAlnum, 30, 0},  // Hugging Face
    {"api_org_", TokenAlphabet::kAlnum, 30, 0},
    {"wandb_v1_", TokenAlphabet::kWord, 20, 0},  // Weights & Biases
    {"local-", TokenAlphabet::kAlnum, 40, 40},
    {"sk-ant-", TokenAlphabet::kWord, 20, 0},
    {"sk-proj-", TokenAlphabet::kWord, 20, 0},
    {"sk-", TokenAlphabet::kAlnum, 32, 0},
    {"sk_live_", TokenAlphabet::kAlnum, 20, 0},
    {"rk_live_", TokenAlphabet::kAlnum, 20, 0},
    {"nvapi-", TokenAlphabet::kWord, 40, 0},  // NVIDIA NGC
    {"xoxb-", TokenAlphabet::kWord, 20, 0},   // Slack
    {"xoxp-", TokenAlphabet::kWord, 20, 0},
    {"xoxa-", TokenAlphabet::kWord, 20, 0},
    {"xapp-", TokenAlphabet::kWord, 20, 0},
    {"npm_", TokenAlphabet::kAlnum, 36, 0},
    {"pypi-AgE", TokenAlphabet::kWord, 40, 0},
    {"dckr_pat_", TokenAlphabet::kWord, 20, 0},
    {"dop_v1_", TokenAlphabet::kAlnum, 64, 0},
    {"dapi", TokenAlphabet::kAlnum, 32, 34},   // Databricks
    {"hvs.", TokenAlphabet::kWord, 24, 0},     // Vault
    {"sha256~", TokenAlphabet::kWord, 40, 0},  // OpenShift
    {"gsk_", TokenAlphabet::kAlnum, 40, 0},
    {"r8_", TokenAlphabet::kAlnum, 37, 0},
    {"tok_", TokenAlphabet::kAlnum, 32, 0},
    {"eyJ", TokenAlphabet::kDotted, 60, 0},  // JWT: checked for its two dots
}};

// What stands before a token in an Authorization header.
inline constexpr std::array<std::string_view, 5> kAuthorizationSchemes = {
    {"Bearer ", "bearer ", "BEARER ", "Basic ", "basic "}};

}  // namespace muster
