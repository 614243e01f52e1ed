// SPDX-License-Identifier: Apache-2.0
#include "logs/secret_glance.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "logs/byte_marks.h"
#include "logs/masker.h"
#include "logs/secret_shapes.h"
#include "logs/secret_tokens.h"

namespace muster {

#ifdef MUSTER_BYTE_MARKS

namespace {

// The first four bytes of every token, or three of those that have no more:
// hashed, so that hardly a word of a text passes.
class Heads {
 public:
  constexpr Heads() {
    for (const SecretToken& token : kSecretTokens) add(token.prefix);
  }
  // `four`: the bytes of a word's start, the first one lowest.
  [[nodiscard]] bool may_hold(uint32_t four) const {
    return holds(four_, slot(four)) || holds(three_, slot(four & kThree));
  }

 private:
  using Bits = std::array<uint64_t, 256>;
  static constexpr uint32_t kThree = 0xffffff;

  static constexpr uint32_t slot(uint32_t value) {
    return value * 0x9e3779b1U >> 18U;
  }
  static constexpr bool holds(const Bits& bits, uint32_t slot) {
    return (bits[slot / 64] >> slot % 64 & 1U) != 0;
  }
  constexpr void add(std::string_view prefix) {
    uint32_t value = 0;
    for (size_t at = 0; at < std::min<size_t>(prefix.size(), 4); ++at) {
      value |= uint32_t{static_cast<unsigned char>(prefix[at])} << at * 8;
    }
    Bits& bits = prefix.size() < 4 ? three_ : four_;
    bits[slot(value) / 64] |= uint64_t{1} << slot(value) % 64;
  }

  Bits three_{};
  Bits four_{};
};
constexpr Heads kHeads;

// The blank before a value may be that of an Authorization scheme: hardly a
// word ends in one of their few last letters.
bool may_end_scheme(char letter) {
  return std::any_of(
      kAuthorizationSchemes.begin(), kAuthorizationSchemes.end(),
      [letter](auto word) { return word[word.size() - 2] == letter; });
}

// A token, or the value behind an Authorization scheme, begins here.
bool begins_secret(std::string_view line, size_t at) {
  uint32_t four = 0;
  if (line.size() - at < sizeof four) return false;   // no token is so short
  std::memcpy(&four, line.data() + at, sizeof four);  // x86: lowest byte first
  if (kHeads.may_hold(four)) {
    const std::string_view rest = line.substr(at);
    if (std::any_of(
            kSecretTokens.begin(), kSecretTokens.end(),
            [rest](const auto& t) { return rest.starts_with(t.prefix); })) {
      return true;
    }
  }
  if (at < 2 || line[at - 1] != ' ' || !may_end_scheme(line[at - 2])) {
    return false;
  }
  const std::string_view before = line.substr(0, at);
  return std::any_of(kAuthorizationSchemes.begin(), kAuthorizationSchemes.end(),
                     [before](auto word) { return before.ends_with(word); });
}

bool opens_url(std::string_view line, size_t colon) {
  return colon + 2 < line.size() && line[colon] == ':' &&
         line[colon + 1] == '/' && line[colon + 2] == '/';
}

// From `at` to the end of its line.
std::string_view url_line(std::string_view text, size_t at) {
  return text.substr(at, std::min(text.find('\n', at), text.size()) - at);
}

// The places in `bytes` with at least 16 bytes in a row: no token and no value
// of an Authorization header is shorter, and most words of a text are. Bytes
// behind the block count as more of them, unless the line ends in it.
uint64_t long_runs(uint64_t bytes, bool last) {
  const uint64_t behind = last ? 0 : ~uint64_t{0};
  for (const unsigned by : {1U, 2U, 4U, 8U}) {
    bytes &= bytes >> by | behind << (64U - by);
  }
  return bytes;
}

// The state that the next block needs from the ones before it.
struct Carry {
  uint64_t word = 0;  // the last byte was one of a word
  uint64_t blank = 0;
  uint64_t dash = 0;
  uint64_t s = 0;
  bool stem = false;  // there may have been one in the block before
};

// Whether the name that ends before `bit` has a stem. A name has at most 64
// bytes: one that began in the block before may have its stem there.
bool stem_before(size_t bit, uint64_t stems, const ByteMarks& block,
                 bool carried) {
  uint64_t below = (uint64_t{1} << bit) - 1;
  while ((block.blanks & (below ^ below >> 1U)) != 0) below >>= 1U;
  for (size_t i = 0; i < kMostQuotes; ++i) {
    if ((block.quotes & (below ^ below >> 1U)) != 0) below >>= 1U;
  }
  const uint64_t others = ~block.names & below;
  if (others == 0) return carried || (stems & below) != 0;
  const auto begin = static_cast<size_t>(64 - std::countl_zero(others));
  return (stems & below) >> begin != 0;
}

bool may_begin_secret(std::string_view name) {
  return may_name_secret(name) || name.starts_with("PuTTY-User-Key-File-");
}

// Whether a '=' or ':' of `marks` stands behind a secret's name, or in a URL
// with an '@' or of a webhook.
bool names_secret(std::string_view line, size_t offset, const ByteMarks& block,
                  uint64_t stems, Carry& carry) {
  for (uint64_t marks = block.equals | block.colons; marks != 0;
       marks &= marks - 1) {
    const auto bit = static_cast<size_t>(std::countr_zero(marks));
    if (opens_url(line, offset + bit)) {
      if (url_line(line, offset + bit).find('@') != std::string_view::npos ||
          secret_path(line, offset + bit + 3) > 0) {
        return true;
      }
    } else if (stem_before(bit, stems, block, carry.stem) &&
               may_begin_secret(name_before(line, offset + bit))) {
      return true;
    }
  }
  carry.stem = stems != 0;
  return false;
}

// "password VALUE", as in netrc.
bool is_password_word(std::string_view line, size_t w) {
  if (w < 4 || line.substr(w - 4, 5) != "passw") return false;
  const std::string_view rest = line.substr(w + 1);
  return rest.starts_with("ord ") || rest.starts_with("d ");
}

// The letter of a short option with which some programs take a password.
bool opens_flag(std::string_view line, size_t dash) {
  return dash + 1 < line.size() &&
         std::string_view("uUpa").find(line[dash + 1]) !=
             std::string_view::npos;
}

bool block_may(const ByteReader& reader, std::string_view line, size_t offset,
               Carry& carry) {
  const ByteMarks block = reader.marks(line, offset);
  // "--flag", "-----BEGIN"; behind a colour a token may stand without a blank.
  if ((block.dashes & (block.dashes << 1U | carry.dash)) != 0 ||
      block.escapes != 0) {
    return true;
  }
  for (uint64_t marks = block.dashes & (block.blanks << 1U | carry.blank);
       marks != 0; marks &= marks - 1) {
    const auto bit = static_cast<size_t>(std::countr_zero(marks));
    if (opens_flag(line, offset + bit)) return true;
  }
  for (uint64_t marks = block.w & (block.s << 1U | carry.s); marks != 0;
       marks &= marks - 1) {
    const auto bit = static_cast<size_t>(std::countr_zero(marks));
    if (is_password_word(line, offset + bit)) return true;
  }
  const bool last = line.size() - offset <= kMarkedBytes;
  const uint64_t runs = long_runs(block.tokens, last);
  const uint64_t begins = (block.words & ~(block.words << 1U | carry.word)) |
                          (block.blanks << 1U | carry.blank);
  for (uint64_t starts = begins & runs; starts != 0; starts &= starts - 1) {
    const auto bit = static_cast<size_t>(std::countr_zero(starts));
    if (begins_secret(line, offset + bit)) return true;
  }
  carry.word = block.words >> 63U;
  carry.blank = block.blanks >> 63U;
  carry.dash = block.dashes >> 63U;
  carry.s = block.s >> 63U;
  if ((block.equals | block.colons) != 0) {
    return names_secret(line, offset, block, reader.stems(line, offset), carry);
  }
  carry.stem = true;  // not looked for
  return false;
}

}  // namespace

bool may_hold_secret(std::string_view line) {
  return may_hold_secret(line, byte_reader());
}

bool may_hold_secret(std::string_view line, const ByteReader& reader) {
  Carry carry;
  for (size_t at = 0; at < line.size(); at += kMarkedBytes) {
    if (block_may(reader, line, at, carry)) return true;
  }
  return false;
}

#else

bool may_hold_secret(std::string_view) { return true; }

#endif

}  // namespace muster
