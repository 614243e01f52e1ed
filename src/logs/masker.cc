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
constexpr int kMaxKeyLines = 400;  // with all subkeys of a PGP key

// Plain, in JSON's form, and in a shell's: a quote or a backslash of a secret
// looks different there.
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

}  // namespace

struct Masker::Known {
  ValueScan values;  // longest first
  std::vector<std::unique_ptr<RE2>> patterns;
};

Masker::Masker(std::unique_ptr<Known> known) : known_(std::move(known)) {}
Masker::Masker(Masker&&) noexcept = default;
Masker& Masker::operator=(Masker&&) noexcept = default;
Masker::~Masker() = default;

Result<Masker> Masker::create(const MaskOptions& options) {
  std::vector<std::string> values;
  for (const auto& [name, value] : options.environment) {
    if (!is_secret_name(name)) continue;
    // A value of several lines is printed in lines.
    for (const std::string_view line : split(value, '\n')) {
      if (line.size() >= kShortestValue && is_secret(name, line) &&
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

// "-----BEGIN OPENSSH PRIVATE KEY-----", "-----END PGP PRIVATE KEY BLOCK-----",
// "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----": {where the dashes begin, where
// they end}; nothing: npos twice.
struct KeyMark {
  size_t begin = std::string_view::npos;
  size_t end = std::string_view::npos;
};

KeyMark key_mark(std::string_view text, size_t from, std::string_view word) {
  constexpr std::string_view kDashes = "----";
  for (size_t at = text.find(word, from); at != text.npos;
       at = text.find(word, at + 1)) {
    size_t begin = at;
    if (begin > from && text[begin - 1] == ' ') --begin;
    const size_t dashes = begin;
    while (begin > from && text[begin - 1] == '-') --begin;
    if (dashes - begin < kDashes.size()) continue;
    const size_t label = at + word.size();
    size_t end = text.find(kDashes, label);
    if (end == text.npos ||
        text.substr(label, end - label).find("PRIVATE KEY") == text.npos) {
      continue;
    }
    while (end < text.size() && text[end] == '-') ++end;
    return {begin, end};
  }
  return {};
}

// Masks the parts of a line inside private keys between BEGIN and END.
bool mask_key_blocks(std::string& line, MaskState& state) {
  const std::string_view text = line;
  std::string clean;
  size_t at = 0;
  bool masked = false;
  for (;;) {
    if (state.key != MaskState::Key::kBlock) {
      const KeyMark mark = key_mark(text, at, "BEGIN ");
      if (mark.begin == text.npos) break;
      clean += text.substr(at, mark.begin - at);
      at = mark.end;
      state = {MaskState::Key::kBlock, 0, 0};
    }
    clean += kMask;
    masked = true;
    const KeyMark mark = key_mark(text, at, "END ");
    const bool ends = mark.begin != text.npos;
    if (ends || ++state.key_lines > kMaxKeyLines) state = {};
    at = ends ? mark.end : text.size();
    if (!ends) break;
  }
  if (!masked) return false;
  clean += text.substr(at);
  line = std::move(clean);
  return true;
}

// PuTTY's: a head with its name, "Private-Lines: 14", and that many lines.
bool mask_putty_key(std::string& line, MaskState& state) {
  constexpr std::string_view kHead = "PuTTY-User-Key-File-";
  constexpr std::string_view kCount = "Private-Lines: ";
  if (line.find(kHead) != line.npos) {
    state = {MaskState::Key::kPutty, 0, 0};
    return false;
  }
  if (state.key != MaskState::Key::kPutty) return false;
  if (state.private_lines > 0) {
    --state.private_lines;
    line = kMask;
    return true;
  }
  if (++state.key_lines > kMaxKeyLines) state = {};
  if (const size_t at = line.find(kCount); at != line.npos) {
    const auto count =
        parse_integer(trim(std::string_view(line).substr(at + kCount.size())));
    if (count && *count > 0 && *count <= kMaxKeyLines) {
      state.private_lines = static_cast<int>(*count);
    }
    return false;
  }
  if (line.find("Private-MAC: ") != line.npos) state = {};
  return false;
}

bool mask_private_key(std::string& line, MaskState& state) {
  // One after the other: a line of one key may begin the other.
  const bool putty = mask_putty_key(line, state);
  return putty || mask_key_blocks(line, state);
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
  if (state.key != MaskState::Key::kNone || !known_->patterns.empty())
    return true;
  return may_hold_secret(line) || known_->values.finds_in(line);
}

bool Masker::mask(std::string& line, MaskState& state) const {
  const bool key = mask_private_key(line, state);
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
  if (spans.empty()) return key;
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
