/* SPDX-License-Identifier: Apache-2.0
 *
 *   line_source write LINES   LINES lines of 100 bytes (with the newline),
 *                             through stdio as glibc buffers a pipe: 4 KiB
 *   line_source check < LOG   how many lines of LOG end in such a line, whole,
 *                             and how many look like one and are damaged
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLength = 99 };
static const char kMark[] = "train step=";

static void fill(char* line, long number) {
  int n = sprintf(line, "%s%ld loss=0.%06ld lr=1e-4 tokens/s=", kMark, number,
                  number % 1000000);
  for (; n < kLength; ++n) line[n] = (char)('a' + (number + n) % 26);
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
  if (argc == 2 && !strcmp(argv[1], "check")) return check_lines();
  return 2;
}
