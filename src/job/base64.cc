// SPDX-License-Identifier: Apache-2.0
// Table-free base64 and a byte-wise UTF-8 check. Pure.
#include "job/base64.h"

#include <cstdint>

namespace muster {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

uint32_t octet(char character) { return static_cast<unsigned char>(character); }

// Length of the sequence that `first` opens and the range of its second byte.
struct Utf8Lead {
  size_t length = 0;  // 0: cannot open a sequence
  uint32_t low = 0x80;
  uint32_t high = 0xbf;
};

Utf8Lead utf8_lead(uint32_t first) {
  if (first < 0x80) return {1};
  if (first >= 0xc2 && first <= 0xdf) return {2};
  if (first == 0xe0) return {3, 0xa0, 0xbf};  // no longer forms
  if (first == 0xed) return {3, 0x80, 0x9f};  // no surrogates
  if (first >= 0xe1 && first <= 0xef) return {3};
  if (first == 0xf0) return {4, 0x90, 0xbf};
  if (first >= 0xf1 && first <= 0xf3) return {4};
  if (first == 0xf4) return {4, 0x80, 0x8f};  // <= U+10FFFF
  return {};
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    uint32_t bits = octet(group[0]) << 16;
    if (group.size() > 1) bits |= octet(group[1]) << 8;
    if (group.size() > 2) bits |= octet(group[2]);
    for (size_t i = 0; i < 4; ++i) {
      const auto digit = (bits >> (18 - 6 * i)) & 0x3f;
      out.push_back(i <= group.size() ? kAlphabet[digit] : '=');
    }
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    std::string_view group = text.substr(at, 4);
    if (at + 4 == text.size()) {
      if (group.ends_with("==")) {
        group.remove_suffix(2);
      } else if (group.ends_with("=")) {
        group.remove_suffix(1);
      }
    }
    uint32_t bits = 0;
    for (const char character : group) {
      const size_t digit = kAlphabet.find(character);
      if (digit == std::string_view::npos) return std::nullopt;
      bits = bits << 6 | static_cast<uint32_t>(digit);
    }
    bits <<= 6 * (4 - group.size());
    for (size_t i = 0; i + 1 < group.size(); ++i) {
      out.push_back(static_cast<char>(bits >> (16 - 8 * i) & 0xff));
    }
  }
  if (base64_encode(out) != text) return std::nullopt;  // stray low bits
  return out;
}

bool is_utf8(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const Utf8Lead lead = utf8_lead(octet(bytes[at]));
    if (lead.length == 0 || at + lead.length > bytes.size()) return false;
    for (size_t i = 1; i < lead.length; ++i) {
      const uint32_t next = octet(bytes[at + i]);
      const uint32_t low = i == 1 ? lead.low : 0x80;
      const uint32_t high = i == 1 ? lead.high : 0xbf;
      if (next < low || next > high) return false;
    }
    at += lead.length;
  }
  return true;
}

}  // namespace muster
