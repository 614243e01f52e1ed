/* SPDX-License-Identifier: Apache-2.0
 *
 *   line_source write LINES   LINES lines of 100 bytes (with the newline),
 *                             through stdio as glibc buffers a pipe: 4 KiB
 *   line_source pace LINES US  one line with its time every US microseconds
 *   line_source compute PIECES EVERY  PIECES pieces of work (under 1 ms each),
 *                             after a second of warming up. By turns 100 of
 * them with lines, one in the middle of EVERY (0: none), and 100 without. Last
 * the wall and CPU time of those with and of those without: "took NS NS NS NS"
 *   line_source check < LOG   how many lines of LOG end in such a line, whole,
 *                             and how many look like one and are damaged
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kLength = 99, kTurn = 100 };
static const char kMark[] = "train step=";

/* Cheap, so that the launchers are measured and not this. */
static char* digits(char* at, long value, int least) {
  char back[24];
  int n = 0;
  for (; value > 0 || n < least; value /= 10) {
    back[n++] = (char)('0' + value % 10);
  }
  while (n > 0) *at++ = back[--n];
  return at;
}

static void fill(char* line, long number) {
  static const char kFill[] =
      "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
      "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
      "abcdefghijklmnopqrstuvwxyz";
  char* at = stpcpy(line, kMark);
  at = digits(at, number, 1);
  at = stpcpy(at, " loss=0.");
  at = digits(at, number % 1000000, 6);
  at = stpcpy(at, " lr=1e-4 tokens/s=");
  const size_t rest = (size_t)(line + kLength - at);
  memcpy(at, kFill + number % 26, rest);
  line[kLength] = '\0';
}

static int write_lines(long count) {
  char line[kLength + 1];
  setvbuf(stdout, NULL, _IOFBF, 4096);
  for (long i = 0; i < count; ++i) {
    fill(line, i);
    puts(line);
  }
  return 0;
}

static long long clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int pace(long count, long microseconds) {
  for (long i = 0; i < count; ++i) {
    usleep((useconds_t)microseconds);
    printf("at %lld\n", clock_ns(CLOCK_REALTIME));
    fflush(stdout);
  }
  return 0;
}

static unsigned long long work(unsigned long long value) {
  for (int k = 0; k < 400000; ++k) {
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
  }
  return value;
}

static int compute(long pieces, long every) {
  char line[kLength + 1];
  unsigned long long value = 88172645463325252ULL;
  const long long started = clock_ns(CLOCK_MONOTONIC);
  while (clock_ns(CLOCK_MONOTONIC) < started + 1000000000LL)
    value = work(value);
  long long wall[2] = {0, 0}, cpu[2] = {0, 0};
  long with_lines = 0;
  for (long turn = 0; turn < pieces / kTurn / 2 * 2; ++turn) {
    const int quiet = (int)(turn % 2);
    wall[quiet] -= clock_ns(CLOCK_MONOTONIC);
    cpu[quiet] -= clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < kTurn; ++i) {
      value = work(value);
      if (quiet || every == 0 || with_lines++ % every != every / 2) continue;
      fill(line, with_lines);
      puts(line);
      fflush(stdout);
    }
    cpu[quiet] += clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    wall[quiet] += clock_ns(CLOCK_MONOTONIC);
  }
  printf("took %lld %lld %lld %lld %llu\n", wall[0], cpu[0], wall[1], cpu[1],
         value & 1);
  return 0;
}

static int check_lines(void) {
  char* line = NULL;
  size_t room = 0;
  long whole = 0, damaged = 0;
  ssize_t length;
  while ((length = getline(&line, &room, stdin)) > 0) {
    char* at = strstr(line, kMark);
    char wanted[kLength + 1];
    if (at == NULL) {
      if (strstr(line, "loss=0.") || strstr(line, "tokens/s")) ++damaged;
      continue;
    }
    fill(wanted, atol(at + strlen(kMark)));
    const char* after = at + kLength;
    const int good = strncmp(at, wanted, kLength) == 0 &&
                     (*after == '\n' || strncmp(after, "\"}", 2) == 0) &&
                     strstr(at + 1, kMark) == NULL;
    good ? ++whole : ++damaged;
  }
  printf("%ld %ld\n", whole, damaged);
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 3 && !strcmp(argv[1], "write")) return write_lines(atol(argv[2]));
  if (argc == 4 && !strcmp(argv[1], "compute")) {
    return compute(atol(argv[2]), atol(argv[3]));
  }
  if (argc == 4 && !strcmp(argv[1], "pace")) {
    return pace(atol(argv[2]), atol(argv[3]));
  }
  if (argc == 2 && !strcmp(argv[1], "check")) return check_lines();
  return 2;
}
