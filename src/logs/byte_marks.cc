// SPDX-License-Identifier: Apache-2.0
#include "logs/byte_marks.h"

#ifdef MUSTER_BYTE_MARKS

#include <immintrin.h>
#if __has_include(<sys/platform/x86.h>) && !defined(__clang__)  // _Bool in it
#include <sys/platform/x86.h>
#endif

#include <algorithm>
#include <cstring>

// One function is built for a newer processor than the rest of the program; so
// must every function that it calls be.
#define MUSTER_WIDE [[gnu::target("avx512f,avx512bw"), gnu::always_inline]]
#define MUSTER_WIDE_ENTRY [[gnu::target("avx512f,avx512bw")]]

namespace muster {

namespace {

constexpr char kLowerCase = 0x20;  // set in a small letter, clear in a capital

// The letters that stems are made of.
struct Letters {
  uint64_t a, b, c, e, g, i, k, o, p, r, s, t, u, w, y;
};

uint64_t stems_of(const Letters& x) {
  constexpr uint64_t kLast = uint64_t{3} << 62U;
  const auto next = [](uint64_t marks) { return marks >> 1U | kLast; };
  const auto after = [](uint64_t marks) { return marks >> 2U | kLast; };
  const uint64_t pa = next(x.a) & after(x.s);
  const uint64_t pw = next(x.w);
  const uint64_t se = next(x.e) & after(x.c | x.a);  // secret, unseal
  const uint64_t si = next(x.i) & after(x.g);
  const uint64_t cr = next(x.r) & after(x.e);
  return (x.p & (pa | pw)) | (x.s & (se | si)) |
         (x.t & next(x.o) & after(x.k)) | (x.k & next(x.e) & after(x.y)) |
         (x.c & (cr | (next(x.o) & after(x.o)))) |
         (x.a & next(x.u) & after(x.t)) | (x.b & next(x.e) & after(x.a));
}

// 16 bytes at a time.

class Narrow {
 public:
  Narrow(std::string_view text, size_t at) {
    const size_t left = text.size() - at;
    const char* from = text.data() + at;
    alignas(16) char rest[kMarkedBytes] = {};
    if (left < kMarkedBytes) {
      std::memcpy(rest, from, left);
      from = rest;
    }
    for (size_t i = 0; i < 4; ++i) {
      text_[i] =
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * 16));
    }
  }
  [[nodiscard]] Narrow lowered() const {
    Narrow out = *this;
    for (__m128i& part : out.text_) {
      part = _mm_or_si128(part, _mm_set1_epi8(kLowerCase));
    }
    return out;
  }
  [[nodiscard]] uint64_t is(char c) const {
    const __m128i wanted = _mm_set1_epi8(c);
    return bits([&](__m128i part) { return _mm_cmpeq_epi8(part, wanted); });
  }
  // Bytes compare as signed: a range that begins at -128 needs one test.
  [[nodiscard]] uint64_t within(char first, int count) const {
    const __m128i shift = _mm_set1_epi8(static_cast<char>(-128 - first));
    const __m128i end = _mm_set1_epi8(static_cast<char>(count - 128));
    return bits([&](__m128i part) {
      return _mm_cmplt_epi8(_mm_add_epi8(part, shift), end);
    });
  }

 private:
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

ByteMarks narrow_marks(std::string_view text, size_t at) {
  const Narrow bytes(text, at);
  ByteMarks out;
  out.words = bytes.lowered().within('a', 26) | bytes.within('0', 10);
  out.dashes = bytes.is('-');
  out.equals = bytes.is('=');
  const uint64_t low_lines = bytes.is('_');
  out.names = out.words | out.dashes | low_lines;
  // '-' to '9' is "-./0123456789".
  out.tokens = out.words | low_lines | bytes.within('-', 13) | bytes.is('~') |
               bytes.is('+') | out.equals;
  out.blanks = bytes.is(' ');
  out.colons = bytes.is(':');
  out.quotes = bytes.is('"') | bytes.is('\'') | bytes.is('\\');
  out.escapes = bytes.is('\x1b');
  out.s = bytes.is('s');
  out.w = bytes.is('w');
  return out;
}

uint64_t narrow_stems(std::string_view text, size_t at) {
  const Narrow x = Narrow(text, at).lowered();
  return stems_of({x.is('a'), x.is('b'), x.is('c'), x.is('e'), x.is('g'),
                   x.is('i'), x.is('k'), x.is('o'), x.is('p'), x.is('r'),
                   x.is('s'), x.is('t'), x.is('u'), x.is('w'), x.is('y')});
}

// 64 bytes at a time.

MUSTER_WIDE inline __m512i wide(std::string_view text, size_t at) {
  const size_t left = std::min(text.size() - at, kMarkedBytes);
  return _mm512_maskz_loadu_epi8(~uint64_t{0} >> (kMarkedBytes - left),
                                 text.data() + at);
}

MUSTER_WIDE inline __m512i lowered(__m512i bytes) {
  return _mm512_or_si512(bytes, _mm512_set1_epi8(kLowerCase));
}

MUSTER_WIDE inline uint64_t is(__m512i bytes, char c) {
  return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c));
}

MUSTER_WIDE inline uint64_t within(__m512i bytes, char first, int count) {
  return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8(first)),
                                _mm512_set1_epi8(static_cast<char>(count)));
}

MUSTER_WIDE_ENTRY ByteMarks wide_marks(std::string_view text, size_t at) {
  const __m512i bytes = wide(text, at);
  ByteMarks out;
  out.words = within(lowered(bytes), 'a', 26) | within(bytes, '0', 10);
  out.dashes = is(bytes, '-');
  out.equals = is(bytes, '=');
  const uint64_t low_lines = is(bytes, '_');
  out.names = out.words | out.dashes | low_lines;
  out.tokens = out.words | low_lines | within(bytes, '-', 13) | is(bytes, '~') |
               is(bytes, '+') | out.equals;
  out.blanks = is(bytes, ' ');
  out.colons = is(bytes, ':');
  out.quotes = is(bytes, '"') | is(bytes, '\'') | is(bytes, '\\');
  out.escapes = is(bytes, '\x1b');
  out.s = is(bytes, 's');
  out.w = is(bytes, 'w');
  return out;
}

MUSTER_WIDE_ENTRY uint64_t wide_stems(std::string_view text, size_t at) {
  const __m512i x = lowered(wide(text, at));
  const Letters letters = {is(x, 'a'), is(x, 'b'), is(x, 'c'), is(x, 'e'),
                           is(x, 'g'), is(x, 'i'), is(x, 'k'), is(x, 'o'),
                           is(x, 'p'), is(x, 'r'), is(x, 's'), is(x, 't'),
                           is(x, 'u'), is(x, 'w'), is(x, 'y')};
  return stems_of(letters);
}

}  // namespace

const ByteReader kNarrowByteReader = {narrow_marks, narrow_stems};
const ByteReader kWideByteReader = {wide_marks, wide_stems};

// The dynamic loader has already queried the processor. The compiler's own
// answer would come with code that queries it again at each start, which in a
// virtual machine takes a twentieth of a start.
bool has_wide_bytes() {
#ifdef CPU_FEATURE_ACTIVE
  return CPU_FEATURE_ACTIVE(AVX512BW) != 0;
#else
  return __builtin_cpu_supports("avx512bw") != 0;
#endif
}

const ByteReader& byte_reader() {
  static const ByteReader& fastest =
      has_wide_bytes() ? kWideByteReader : kNarrowByteReader;
  return fastest;
}

}  // namespace muster

#endif
