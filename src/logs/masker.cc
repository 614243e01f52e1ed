// SPDX-License-Identifier: Apache-2.0
#include "logs/masker.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/json_text.h"
#include "base/text.h"
#include "logs/secret_glance.h"
#include "logs/secret_shapes.h"
#include "logs/value_scan.h"

namespace muster {

namespace {

constexpr size_t kShortestValue = 8;
constexpr size_t kMaxPatterns = 100;
constexpr int kMaxKeyLines = 200;  // a key of 16384 bits has fewer

bool holds_any(std::string_view text,
               std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](auto word) {
    return text.find(word) != std::string_view::npos;
  });
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

// Most names are told apart here, without a copy.
bool holds_stem(std::string_view name) {
  constexpr std::string_view kStems[] = {"pass", "secret", "token", "key",
                                         "cred", "pwd",    "sig",   "cookie"};
  for (size_t at = 0; at + 3 <= name.size(); ++at) {
    switch (lower(name[at])) {
      case 'p':
      case 's':
      case 't':
      case 'k':
      case 'c':
        break;
      default:
        continue;
    }
    for (const std::string_view stem : kStems) {
      if (lower(name[at]) != stem[0] || at + stem.size() > name.size()) {
        continue;
      }
      size_t same = 1;
      while (same < stem.size() && lower(name[at + same]) == stem[same]) {
        ++same;
      }
      if (same == stem.size()) return true;
    }
  }
  return false;
}

// As it is, as JSON has it, and as a shell is given it: a quote or a backslash
// of a secret looks otherwise there.
void add_forms(std::string_view secret, std::vector<std::string>& out) {
  std::string json;
  append_json_string(json, secret);
  json = json.substr(1, json.size() - 2);
  std::string shell = shell_quote(secret);
  if (shell.front() == '\'') shell = shell.substr(1, shell.size() - 2);
  out.emplace_back(secret);
  for (std::string* const form : {&json, &shell}) {
    if (*form != secret) out.push_back(std::move(*form));
  }
}

// The values of an environment that are words rather than secrets.
bool is_plain_value(std::string_view value) {
  return value == "disabled" || value.starts_with('/') ||
         std::all_of(value.begin(), value.end(),
                     [&value](char c) { return c == value.front(); });
}

}  // namespace

struct Masker::Known {
  ValueScan values;  // longest first
  std::vector<std::unique_ptr<RE2>> patterns;
};

Masker::Masker(std::unique_ptr<Known> known) : known_(std::move(known)) {}
Masker::Masker(Masker&&) noexcept = default;
Masker& Masker::operator=(Masker&&) noexcept = default;
Masker::~Masker() = default;

bool is_secret_name(std::string_view given) {
  // Names are short; anything else is no name.
  if (given.size() < 3 || given.size() > 128 || !holds_stem(given)) {
    return false;
  }
  std::string name = to_lower(given);
  std::replace(name.begin(), name.end(), '-', '_');
  if (holds_any(name, {"tokenizer", "token_id", "tokens", "_path", "_file",
                       "_dir", "secret_name", "num_", "max_", "pad_token",
                       "eos_token", "bos_token", "unk_token", "sep_token",
                       "cls_token", "mask_token"})) {
    return false;
  }
  return holds_any(name,
                   {"password", "passwd", "passphrase", "secret", "api_key",
                    "apikey", "access_key", "accesskey", "private_key",
                    "accountkey", "account_key", "credential", "signing_key",
                    "encryption_key", "shared_key"}) ||
         name == "token" || name.ends_with("_token") ||
         name.ends_with("authtoken") || name == "identitytoken" ||
         name == "registrytoken" || name.ends_with("_pwd") || name == "pwd" ||
         name == "pwd_" || name == "sig" || name == "signature" ||
         name.ends_with("amz_signature") || name.ends_with("goog_signature") ||
         name == "cookie" || name == "set_cookie";
}

Result<Masker> Masker::create(const MaskOptions& options) {
  std::vector<std::string> values;
  for (const auto& [name, value] : options.environment) {
    if (!is_secret_name(name)) continue;
    // A value of several lines is printed as such.
    for (const std::string_view line : split(value, '\n')) {
      if (line.size() >= kShortestValue && !is_plain_value(line) &&
          !line.starts_with("-----")) {
        add_forms(line, values);
      }
    }
  }
  std::sort(values.begin(), values.end(),
            [](const std::string& a, const std::string& b) {
              return a.size() != b.size() ? a.size() > b.size() : a < b;
            });
  auto known = std::make_unique<Known>();
  known->values = ValueScan(std::move(values));
  if (options.patterns.size() > kMaxPatterns) {
    return fail(Error{"usage", "cannot mask",
                      "more than " + std::to_string(kMaxPatterns) + " patterns",
                      "", ""});
  }
  RE2::Options quiet;
  quiet.set_log_errors(false);
  quiet.set_encoding(RE2::Options::EncodingLatin1);
  for (const std::string& pattern : options.patterns) {
    auto compiled = std::make_unique<RE2>(pattern, quiet);
    if (!compiled->ok()) {
      return fail(Error{"usage", "cannot mask with the pattern " + pattern,
                        compiled->error(), "", "see RE2's syntax"});
    }
    known->patterns.push_back(std::move(compiled));
  }
  return Masker(std::move(known));
}

namespace {

// Masks a line that lies, in whole or in part, inside a private key.
bool mask_private_key(std::string& line, MaskState& state) {
  const std::string_view text = line;
  size_t begin = 0;
  if (!state.in_private_key) {
    begin = text.find("-----BEGIN ");
    if (begin == std::string_view::npos ||
        text.find("PRIVATE KEY-----", begin) == std::string_view::npos) {
      return false;
    }
    state = {true, 0};
  }
  const size_t end = text.find("-----END ", begin);
  if (end != std::string_view::npos || ++state.key_lines > kMaxKeyLines) {
    state.in_private_key = false;
  }
  std::string clean(text.substr(0, begin));
  clean += kMask;
  if (end != std::string_view::npos) {
    const size_t rest = text.find("-----", end + 9);
    if (rest != std::string_view::npos) clean += text.substr(rest + 5);
  }
  line = std::move(clean);
  return true;
}

void find_pattern(const RE2& pattern, std::string_view text,
                  std::vector<SecretSpan>& spans) {
  const re2::StringPiece whole(text.data(), text.size());
  re2::StringPiece groups[2];
  const int wanted = pattern.NumberOfCapturingGroups() > 0 ? 2 : 1;
  for (size_t at = 0; at <= text.size();) {
    if (!pattern.Match(whole, at, text.size(), RE2::UNANCHORED, groups,
                       wanted)) {
      return;
    }
    const bool grouped = wanted == 2 && groups[1].data() != nullptr;
    const re2::StringPiece& hit = groups[grouped ? 1 : 0];
    const size_t begin = static_cast<size_t>(hit.data() - text.data());
    if (!hit.empty()) spans.push_back({begin, begin + hit.size()});
    const size_t after =
        static_cast<size_t>(groups[0].data() - text.data()) + groups[0].size();
    at = std::max(after, at + 1);
  }
}

std::string without(std::string_view text, std::vector<SecretSpan>& spans) {
  std::sort(spans.begin(), spans.end(),
            [](const SecretSpan& a, const SecretSpan& b) {
              return a.begin < b.begin;
            });
  std::string clean;
  size_t at = 0;
  for (const SecretSpan& span : spans) {
    if (span.begin >= at) {
      clean += text.substr(at, span.begin - at);
      clean += kMask;
    }
    at = std::max(at, span.end);
  }
  clean += text.substr(at);
  return clean;
}

}  // namespace

bool Masker::needs_look(std::string_view line, const MaskState& state) const {
  if (state.in_private_key || !known_->patterns.empty()) return true;
  return may_hold_secret(line) || known_->values.finds_in(line);
}

bool Masker::mask(std::string& line, MaskState& state) const {
  if (mask_private_key(line, state)) return true;
  std::vector<SecretSpan> spans;
  find_secret_shapes(line, spans);
  for (const std::string& value : known_->values.values()) {
    for (size_t at = line.find(value); at != std::string::npos;
         at = line.find(value, at + value.size())) {
      spans.push_back({at, at + value.size()});
    }
  }
  for (const auto& pattern : known_->patterns) {
    find_pattern(*pattern, line, spans);
  }
  if (spans.empty()) return false;
  line = without(line, spans);
  return true;
}

std::string Masker::masked(std::string_view text) const {
  std::string result;
  MaskState state;
  bool first = true;
  for (const std::string_view part : split(text, '\n')) {
    std::string line(part);
    mask(line, state);
    if (!first) result += '\n';
    first = false;
    result += line;
  }
  return result;
}

}  // namespace muster
