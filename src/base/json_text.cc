// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include <bit>
#include <cstdio>
#include <ctime>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace muster {

namespace {

// Length of the valid UTF-8 sequence at the front of `text`, or 0.
size_t utf8_length(std::string_view text) {
  const auto byte = [&text](size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  size_t length = 0;
  unsigned low = 0x80;
  unsigned high = 0xbf;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
    if (lead == 0xe0) low = 0xa0;   // overlong
    if (lead == 0xed) high = 0x9f;  // surrogates
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

bool is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

// How many bytes at the front need no escape.
size_t plain_prefix(std::string_view text) {
  size_t at = 0;
#ifdef __SSE2__
  for (; at + 16 <= text.size(); at += 16) {
    const __m128i bytes =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    // Signed: bytes above 0x7f are below 0x20, too.
    const __m128i special =
        _mm_or_si128(_mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
                                  _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f))),
                     _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                  _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
    const auto found = static_cast<unsigned>(_mm_movemask_epi8(special));
    if (found != 0) return at + static_cast<size_t>(std::countr_zero(found));
  }
#endif
  while (at < text.size() && is_plain(static_cast<unsigned char>(text[at]))) {
    ++at;
  }
  return at;
}

void append_special(std::string& out, unsigned char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  char buffer[8];
  std::snprintf(buffer, sizeof buffer, "\\u%04x", c);
  out += buffer;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  size_t i = 0;
  while (i < text.size()) {
    const size_t plain = plain_prefix(text.substr(i));
    out.append(text.substr(i, plain));
    i += plain;
    if (i == text.size()) break;
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      append_special(out, c);
      ++i;
      continue;
    }
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      out += "\xef\xbf\xbd";
      ++i;
    } else {
      out.append(text.substr(i, length));
      i += length;
    }
  }
  out += '"';
}

void append_timestamp(std::string& out, int64_t realtime_ns) {
  const time_t seconds = realtime_ns / 1'000'000'000;
  // Lines of one read share their second: gmtime once per second, not per line.
  thread_local time_t cached_second = -1;
  thread_local char cached[32];
  if (seconds != cached_second) {
    tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::strftime(cached, sizeof cached, "%Y-%m-%dT%H:%M:%S", &parts);
    cached_second = seconds;
  }
  char digits[16] = ".000000000Z";
  long long rest = realtime_ns % 1'000'000'000;
  for (int i = 9; i >= 1; --i) {
    digits[i] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  }
  out += cached;
  out.append(digits, 11);
}

int64_t realtime_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace muster
