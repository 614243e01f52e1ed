// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/ec_pem.h"

#include <algorithm>
#include <array>

#include "job/base64.h"

namespace muster {

namespace {

using namespace std::string_view_literals;

struct Curve {
  std::string_view oid;   // encoded
  std::string_view name;  // RFC 5656
  size_t bytes;           // of a number
};

constexpr std::array<Curve, 3> kCurves = {{
    {"\x2a\x86\x48\xce\x3d\x03\x01\x07"sv, "nistp256", 32},
    {"\x2b\x81\x04\x00\x22"sv, "nistp384", 48},
    {"\x2b\x81\x04\x00\x23"sv, "nistp521", 66},
}};
constexpr std::string_view kEcPublicKey = "\x2a\x86\x48\xce\x3d\x02\x01";

constexpr unsigned char kInteger = 0x02;
constexpr unsigned char kBitString = 0x03;
constexpr unsigned char kOctetString = 0x04;
constexpr unsigned char kObjectId = 0x06;
constexpr unsigned char kSequence = 0x30;
constexpr unsigned char kCurveOfKey = 0xa0;
constexpr unsigned char kPointOfKey = 0xa1;

// DER: takes the next element if it has this tag; nothing taken otherwise.
std::optional<std::string_view> take(std::string_view& der, unsigned char tag) {
  const auto at = [&der](size_t i) {
    return static_cast<unsigned char>(der[i]);
  };
  if (der.size() < 2 || at(0) != tag) return std::nullopt;
  size_t head = 2;
  size_t length = at(1);
  if (length >= 0x80) {
    const size_t digits = length - 0x80;
    if (digits < 1 || digits > 2 || der.size() < 2 + digits) {
      return std::nullopt;
    }
    length = 0;
    for (size_t i = 0; i < digits; ++i) length = length << 8 | at(2 + i);
    head += digits;
  }
  if (der.size() - head < length) return std::nullopt;
  const std::string_view body = der.substr(head, length);
  der.remove_prefix(head + length);
  return body;
}

const Curve* curve_of(std::string_view oid) {
  const auto* found =
      std::find_if(kCurves.begin(), kCurves.end(),
                   [oid](const Curve& curve) { return curve.oid == oid; });
  return found == kCurves.end() ? nullptr : found;
}

struct EcKey {
  const Curve* curve = nullptr;
  std::string_view number;  // the private one
  std::string_view point;   // uncompressed
};

// RFC 5915. `curve` stands outside of it in PKCS#8.
std::optional<EcKey> parse_sec1(std::string_view der, const Curve* curve) {
  auto key = take(der, kSequence);
  if (!key || !der.empty()) return std::nullopt;
  const auto version = take(*key, kInteger);
  const auto number = take(*key, kOctetString);
  if (version != "\1"sv || !number) return std::nullopt;
  if (auto named = take(*key, kCurveOfKey)) {
    const auto oid = take(*named, kObjectId);
    if (oid) curve = curve_of(*oid);
  }
  auto wrapped = take(*key, kPointOfKey);
  const auto bits = wrapped ? take(*wrapped, kBitString) : std::nullopt;
  if (curve == nullptr || !bits || number->size() != curve->bytes ||
      bits->size() != 2 + 2 * curve->bytes || !bits->starts_with("\0\4"sv)) {
    return std::nullopt;
  }
  return EcKey{curve, *number, bits->substr(1)};
}

// RFC 5208.
std::optional<EcKey> parse_pkcs8(std::string_view der) {
  auto info = take(der, kSequence);
  if (!info || !der.empty() || !take(*info, kInteger)) return std::nullopt;
  auto kind = take(*info, kSequence);
  if (!kind || take(*kind, kObjectId) != kEcPublicKey) return std::nullopt;
  const auto oid = take(*kind, kObjectId);
  const auto key = take(*info, kOctetString);
  if (!oid || !key) return std::nullopt;
  return parse_sec1(*key, curve_of(*oid));
}

// RFC 4251, 5.
std::string number32(size_t value) {
  std::string out;
  for (const int shift : {24, 16, 8, 0}) {
    out += static_cast<char>(value >> shift & 255);
  }
  return out;
}

std::string field(std::string_view bytes) {
  return number32(bytes.size()).append(bytes);
}

std::string mpint(std::string_view number) {
  const size_t first = number.find_first_not_of('\0');
  if (first == number.npos) return field("");
  number.remove_prefix(first);
  const bool sign = static_cast<unsigned char>(number[0]) >= 0x80;
  return field(std::string(sign ? 1 : 0, '\0').append(number));
}

// OpenSSH's PROTOCOL.key, without a passphrase.
std::string openssh_blob(const EcKey& key) {
  const std::string shared =
      field("ecdsa-sha2-" + std::string(key.curve->name)) +
      field(key.curve->name) + field(key.point);
  std::string secret =
      number32(0) + number32(0) + shared + mpint(key.number) + field("");
  for (char pad = 1; secret.size() % 8 != 0; ++pad) secret += pad;
  return std::string("openssh-key-v1\0"sv) + field("none") + field("none") +
         field("") + number32(1) + field(shared) + field(secret);
}

// The text between the lines of the armour.
std::optional<std::string> armoured(std::string_view pem,
                                    std::string_view name) {
  const std::string begin = "-----BEGIN " + std::string(name) + "-----\n";
  const std::string end = "-----END " + std::string(name) + "-----";
  const size_t first = pem.find(begin);
  const size_t last = pem.find(end);
  if (first == pem.npos || last == pem.npos || last < first + begin.size()) {
    return std::nullopt;
  }
  const size_t from = first + begin.size();
  std::string text(pem.substr(from, last - from));
  std::erase(text, '\n');
  return base64_decode(text);
}

}  // namespace

std::optional<std::string> openssh_form(std::string_view pem) {
  const auto sec1 = armoured(pem, "EC PRIVATE KEY");
  const auto pkcs8 = sec1 ? std::nullopt : armoured(pem, "PRIVATE KEY");
  std::optional<EcKey> key;
  if (sec1) key = parse_sec1(*sec1, nullptr);
  if (pkcs8) key = parse_pkcs8(*pkcs8);
  if (!key) return std::nullopt;
  const std::string text = base64_encode(openssh_blob(*key));
  std::string out = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
  for (size_t i = 0; i < text.size(); i += 70) {
    out.append(text, i, 70).append("\n");
  }
  return out + "-----END OPENSSH PRIVATE KEY-----\n";
}

}  // namespace muster
