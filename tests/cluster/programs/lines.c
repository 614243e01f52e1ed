/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss test's generator and its judge.
 *
 *   lines write SEED LINES KIND   a rank: seeded lines on stdout and stderr,
 *                                 then $LINES_DIR/RANK with what they were
 *   lines check < OUTPUT          text format back to the same figures, a
 *                                 line per rank: RANK crc lines bytes (twice)
 *
 * KIND: plain; odd (invalid UTF-8, NUL, ANSI, CRLF, empty and long lines);
 * huge (10 MB without a newline); die (killed by itself within a line).
 * A line's first byte says its stream. Line ends count as '\n'.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMaxRanks = 4096, kChunk = 4096, kHuge = 10 * 1000 * 1000 };

typedef struct {
  uint32_t crc;
  uint64_t lines;
  uint64_t bytes;
} Sum;

static uint32_t table[256];

static void make_table(void) {
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit)
      c = c & 1 ? 0xEDB88320U ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
}

static void add(Sum* sum, const char* text, size_t length) {
  uint32_t c = ~sum->crc;
  for (size_t i = 0; i < length; ++i) {
    c = table[(c ^ (unsigned char)text[i]) & 0xff] ^ (c >> 8);
  }
  sum->crc = ~c;
  sum->bytes += length;
}

static void add_line(Sum* sum, const char* text, size_t length) {
  add(sum, text, length);
  add(sum, "\n", 1);
  ++sum->lines;
}

static void put(int fd, const char* bytes, size_t length) {
  while (length > 0) {
    ssize_t n = write(fd, bytes, length);
    if (n <= 0) _exit(9);
    bytes += n;
    length -= (size_t)n;
  }
}

static uint64_t state;

static uint32_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 32);
}

/* The content of one line, without its end; `odd` changes what it is made of.
 */
static size_t make_line(char* line, char mark, long number, int odd) {
  size_t length = (size_t)sprintf(line, "%c%ld ", mark, number);
  size_t wanted = length + 20 + next() % 120;
  uint32_t kind = odd ? next() % 64 : 99;
  if (kind == 0) return 1;
  if (kind == 1) wanted = length + 1000 + next() % 100000;
  while (length < wanted) {
    uint32_t random = next();
    char c = (char)('a' + random % 23);
    if (kind == 2) c = (char)(0x80 + random % 0x80);
    if (kind == 3) c = '\0';
    if (kind == 4) c = "\x1b[31m\t"[random % 6];
    if (random % 7 == 0) c = ' ';
    line[length++] = c;
  }
  return length;
}

static const char* rank_name(void) {
  const char* names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};
  for (int i = 0; i < 3; ++i) {
    if (getenv(names[i])) return getenv(names[i]);
  }
  return "0";
}

static void tell(const Sum* out, const Sum* err) {
  char path[4096];
  char text[256];
  snprintf(path, sizeof path, "%s/%s", getenv("LINES_DIR"), rank_name());
  int n = snprintf(text, sizeof text, "%08x %lu %lu %08x %lu %lu\n", out->crc,
                   out->lines, out->bytes, err->crc, err->lines, err->bytes);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0) _exit(8);
  put(fd, text, (size_t)n);
  close(fd);
}

static int write_lines(long seed, long lines, const char* kind) {
  static char line[128 << 10];
  static char buffer[kChunk + sizeof line];
  size_t held = 0;
  Sum out = {0}, err = {0};
  int odd = strcmp(kind, "odd") == 0;
  state = (uint64_t)seed * 1000003 + (uint64_t)atol(rank_name()) +
          88172645463325252ULL;
  for (long i = 0; i < lines; ++i) {
    int to_err = next() % 5 == 0;
    size_t length = make_line(line, to_err ? 'e' : 'o', i, odd);
    add_line(to_err ? &err : &out, line, length);
    if (odd && next() % 16 == 0) line[length++] = '\r';
    line[length++] = '\n';
    if (to_err) {
      put(2, line, length);
      continue;
    }
    memcpy(buffer + held, line, length); /* as stdio does for a pipe */
    for (held += length; held >= kChunk; held -= kChunk) {
      put(1, buffer, kChunk);
      memmove(buffer, buffer + kChunk, held - kChunk);
    }
  }
  put(1, buffer, held);
  if (strcmp(kind, "huge") == 0) {
    static char huge[kHuge];
    huge[0] = 'o';
    for (size_t i = 1; i < kHuge; ++i) huge[i] = (char)('a' + next() % 23);
    add_line(&out, huge, kHuge);
    put(1, huge, kHuge);
    put(1, "\n", 1);
  }
  if (strcmp(kind, "die") == 0) {
    const char* last = "othe last words of a rank";
    add_line(&out, last, strlen(last));
    tell(&out, &err);
    put(1, last, strlen(last));
    raise(SIGKILL);
  }
  tell(&out, &err);
  return 0;
}

/* "[12|host] o…": which rank, and where the line begins; -1: another line. */
static long rank_of(const char* line, size_t length, size_t* begin) {
  char* end = NULL;
  if (length < 4 || line[0] != '[') return -1;
  long rank = strtol(line + 1, &end, 10);
  if (end == line + 1 || *end != '|' || rank < 0 || rank >= kMaxRanks)
    return -1;
  const char* close = memchr(end, ']', length - (size_t)(end - line));
  if (close == NULL || close[1] != ' ') return -1;
  *begin = (size_t)(close - line) + 2;
  return rank;
}

static int check_lines(void) {
  static Sum sums[kMaxRanks][2];
  char* line = NULL;
  size_t room = 0;
  ssize_t n;
  uint64_t strange = 0;
  while ((n = getline(&line, &room, stdin)) > 0) {
    size_t length = (size_t)n - (line[n - 1] == '\n');
    size_t begin = 0;
    long rank = rank_of(line, length, &begin);
    if (rank < 0 || begin >= length ||
        (line[begin] != 'o' && line[begin] != 'e')) {
      ++strange;
      continue;
    }
    add_line(&sums[rank][line[begin] == 'e'], line + begin, length - begin);
  }
  for (int rank = 0; rank < kMaxRanks; ++rank) {
    const Sum *out = &sums[rank][0], *err = &sums[rank][1];
    if (out->lines + err->lines == 0) continue;
    printf("%d %08x %lu %lu %08x %lu %lu\n", rank, out->crc, out->lines,
           out->bytes, err->crc, err->lines, err->bytes);
  }
  printf("strange %lu\n", strange);
  return 0;
}

int main(int argc, char** argv) {
  make_table();
  if (argc == 2 && strcmp(argv[1], "check") == 0) return check_lines();
  if (argc == 5 && strcmp(argv[1], "write") == 0) {
    return write_lines(atol(argv[2]), atol(argv[3]), argv[4]);
  }
  fprintf(stderr, "usage: lines write SEED LINES KIND | check\n");
  return 2;
}
