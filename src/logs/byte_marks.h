// SPDX-License-Identifier: Apache-2.0
// A bit mask of 64 bytes of a text, the first byte in the lowest bit. It skips
// a text without anything of interest at many bytes a cycle, before a slower
// reader looks at it. Only where the machine has registers for it (x86-64: 16
// bytes; 64 where the processor has AVX-512, asked once); MUSTER_BYTE_MARKS
// says so. Pure.
#pragma once

#ifdef __SSE2__
#define MUSTER_BYTE_MARKS

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster {

constexpr size_t kMarkedBytes = 64;

struct ByteMarks {
  uint64_t words = 0;   // A-Z a-z 0-9
  uint64_t tokens = 0;  // and - . / _ ~ + =: what tokens and paths are made of
  uint64_t names = 0;   // words, and - _
  uint64_t dashes = 0;
  uint64_t blanks = 0;
  uint64_t equals = 0;
  uint64_t colons = 0;
  uint64_t quotes = 0;  // " ' and \ (as in \"name\")
  uint64_t escapes = 0;
  uint64_t s = 0;  // of "password", in small letters
  uint64_t w = 0;
};

// Of the bytes of `text` from `at` (< its size); behind its end come zeros.
using MarkBytes = ByteMarks (*)(std::string_view text, size_t at);
// Where the stems of secret names begin, in either case: pass, pw, secret,
// sig, token, key, cred, cookie, auth, bearer, seal (of unseal). Of those that
// lie across the end of the 64 bytes only the first bytes count.
using FindStems = uint64_t (*)(std::string_view text, size_t at);

struct ByteReader {
  MarkBytes marks;
  FindStems stems;
};

// The fastest for this processor, and each one for tests.
const ByteReader& byte_reader();
extern const ByteReader kNarrowByteReader;
// Only where has_wide_bytes().
extern const ByteReader kWideByteReader;
bool has_wide_bytes();

}  // namespace muster

#endif
