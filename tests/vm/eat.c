/* SPDX-License-Identifier: Apache-2.0
 * eat MB_PER_SECOND [MEGABYTES]: takes memory at that pace, until it is killed
 * or has so much. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const long pace = argc > 1 ? atol(argv[1]) : 10;
  const long enough = argc > 2 ? atol(argv[2]) : 1 << 20;
  for (long had = 0; had < enough; ++had) {
    char* const block = malloc(1 << 20);
    if (block == NULL) return 1;
    memset(block, 1, 1 << 20);
    usleep((useconds_t)(1000000 / pace));
  }
  return 0;
}
