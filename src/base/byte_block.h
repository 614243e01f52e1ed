// SPDX-License-Identifier: Apache-2.0
// ByteBlock: 64 bytes of text that answer with one bit per byte: which are a
// certain character, which are letters or digits. A line without anything of
// interest is known to be so at several bytes per cycle, before any slower
// reader looks at it. Only where the machine has 16-byte registers for it
// (x86-64); kByteBlocks says so. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace muster {

#ifdef __SSE2__

class ByteBlock {
 public:
  static constexpr size_t kSize = 64;

  // The bytes of `text` from `at`; behind its end come zeros.
  ByteBlock(std::string_view text, size_t at) {
    const size_t left = text.size() - at;
    if (left >= kSize) {
      load(text.data() + at);
      return;
    }
    alignas(16) char rest[kSize] = {};
    std::memcpy(rest, text.data() + at, left);
    load(rest);
  }

  [[nodiscard]] uint64_t is(char c) const {
    const __m128i wanted = _mm_set1_epi8(c);
    return bits([&](__m128i text) { return _mm_cmpeq_epi8(text, wanted); });
  }
  // Of either case; `c` is a lower-case letter.
  [[nodiscard]] uint64_t is_letter(char c) const {
    const __m128i wanted = _mm_set1_epi8(c);
    const __m128i low = _mm_set1_epi8(0x20);
    return bits([&](__m128i text) {
      return _mm_cmpeq_epi8(_mm_or_si128(text, low), wanted);
    });
  }
  // A-Z a-z 0-9, and - . / _ ~ +: what tokens and paths are made of.
  [[nodiscard]] uint64_t in_token() const {
    return bits([](__m128i text) {
      const __m128i low = _mm_or_si128(text, _mm_set1_epi8(0x20));
      const __m128i signs =
          _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('_')),
                       _mm_cmpeq_epi8(text, _mm_set1_epi8('~')));
      return _mm_or_si128(
          _mm_or_si128(within(low, 'a', 26), signs),
          _mm_or_si128(within(text, '-', 13),
                       _mm_cmpeq_epi8(text, _mm_set1_epi8('+'))));
    });
  }
  // A-Z a-z 0-9
  [[nodiscard]] uint64_t in_word() const {
    return bits([](__m128i text) {
      const __m128i low = _mm_or_si128(text, _mm_set1_epi8(0x20));
      return _mm_or_si128(within(low, 'a', 26), within(text, '0', 10));
    });
  }

 private:
  // Bytes compare as signed: a range that begins at -128 needs one test.
  static __m128i within(__m128i text, char first, int count) {
    const auto shift = static_cast<char>(-128 - first);
    return _mm_cmplt_epi8(_mm_add_epi8(text, _mm_set1_epi8(shift)),
                          _mm_set1_epi8(static_cast<char>(count - 128)));
  }
  void load(const char* bytes) {
    for (size_t i = 0; i < 4; ++i) {
      text_[i] =
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i * 16));
    }
  }
  template <class Test>
  uint64_t bits(Test test) const {
    uint64_t found = 0;
    for (size_t i = 0; i < 4; ++i) {
      found |= static_cast<uint64_t>(
                   static_cast<unsigned>(_mm_movemask_epi8(test(text_[i]))))
               << (i * 16);
    }
    return found;
  }

  __m128i text_[4];
};

#endif

}  // namespace muster
