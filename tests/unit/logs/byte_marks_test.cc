// SPDX-License-Identifier: Apache-2.0
#include "logs/byte_marks.h"

#include <array>
#include <cctype>
#include <random>
#include <string>

#include "catch.h"

#ifdef MUSTER_BYTE_MARKS

namespace muster {
namespace {

template <class Test>
uint64_t where(const std::string& text, size_t at, Test test) {
  uint64_t found = 0;
  for (size_t i = 0; i < kMarkedBytes && at + i < text.size(); ++i) {
    found |= uint64_t{test(static_cast<unsigned char>(text[at + i]))} << i;
  }
  return found;
}

auto any_of(std::string_view wanted) {
  return [wanted](unsigned char c) {
    return wanted.find(static_cast<char>(c)) != std::string_view::npos;
  };
}

bool is_word(unsigned char c) { return c < 0x80 && std::isalnum(c) != 0; }

void check_marks(const ByteReader& reader, const std::string& text, size_t at) {
  const ByteMarks marks = reader.marks(text, at);
  const uint64_t words = where(text, at, is_word);
  CHECK(marks.words == words);
  CHECK(marks.tokens == (words | where(text, at, any_of("-./_~+="))));
  CHECK(marks.names == (words | where(text, at, any_of("-_"))));
  CHECK(marks.dashes == where(text, at, any_of("-")));
  CHECK(marks.blanks == where(text, at, any_of(" ")));
  CHECK(marks.equals == where(text, at, any_of("=")));
  CHECK(marks.colons == where(text, at, any_of(":")));
  CHECK(marks.quotes == where(text, at, any_of("\"'\\")));
  CHECK(marks.escapes == where(text, at, any_of("\x1b")));
  CHECK(marks.s == where(text, at, any_of("s")));
  CHECK(marks.w == where(text, at, any_of("w")));
}

// As far as they are looked at.
constexpr std::array<std::string_view, 11> kStems = {
    "pas", "pw", "sec", "sea", "sig", "tok", "key", "cre", "coo", "aut", "bea"};

bool fits(const std::string& text, size_t at, std::string_view stem) {
  for (size_t i = 0; i < stem.size(); ++i) {
    if (at + i >= text.size()) return false;
    const char c =
        static_cast<char>(static_cast<unsigned char>(text[at + i]) | 0x20);
    if (c != stem[i]) return false;
  }
  return true;
}

// All stems that lie wholly within the 64 bytes.
uint64_t stems_at(const std::string& text, size_t at) {
  uint64_t found = 0;
  for (size_t i = 0; i + 3 <= kMarkedBytes; ++i) {
    for (const std::string_view stem : kStems) {
      found |= uint64_t{fits(text, at + i, stem)} << i;
    }
  }
  return found;
}

void check_reader(const ByteReader& reader) {
  std::mt19937 random(3);
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (size_t at = 0; at < all.size(); ++at) {
    CAPTURE(at);
    check_marks(reader, all, at);
  }
  constexpr std::string_view kLetters = "abcegikoprstuwyPASSWDKEYTO_=: ";
  for (int round = 0; round < 3'000; ++round) {
    // A string of just that size: a read behind its end is one that the
    // sanitizer sees.
    std::string text;
    for (size_t i = 1 + random() % 140; i > 0; --i) {
      text += kLetters[random() % kLetters.size()];
    }
    text.shrink_to_fit();
    const size_t at = random() % text.size();
    CAPTURE(text, at);
    check_marks(reader, text, at);
    const uint64_t stems = reader.stems(text, at);
    const uint64_t wanted = stems_at(text, at);
    CHECK((stems & wanted) == wanted);
    // Within the bytes there are no others; what the end cuts off may be one.
    constexpr uint64_t kWhole = (uint64_t{1} << (kMarkedBytes - 2)) - 1;
    CHECK((stems & kWhole) == wanted);
  }
}

TEST_CASE("each byte's marks, 16 bytes at a time") {
  check_reader(kNarrowByteReader);
}

TEST_CASE("each byte's marks, 64 bytes at a time") {
  if (!has_wide_bytes()) {
    WARN("not run: this processor has no AVX-512");
    return;
  }
  check_reader(kWideByteReader);
}

}  // namespace
}  // namespace muster

#endif
