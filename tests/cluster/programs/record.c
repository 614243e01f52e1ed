// SPDX-License-Identifier: Apache-2.0
// record DIRECTORY [PROGRAM [ARGUMENT...]]: writes what this process was
// started with, as the kernel tells it, to a file of the directory, and becomes
// the program; without one it ends with 0. One line a fact: name, blank, bytes
// in hexadecimal. No MPI, and nothing is changed before it is read.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE* out;

static void put(const char* name, const char* bytes, size_t count) {
  fprintf(out, "%s ", name);
  for (size_t i = 0; i < count; ++i) fprintf(out, "%02x", bytes[i] & 0xff);
  fprintf(out, "\n");
}

static void put_file(const char* name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/%s", name);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t count = 0, room = 1 << 16;
  char* bytes = malloc(room);
  ssize_t n = 0;
  while (fd >= 0 && (n = read(fd, bytes + count, room - count)) > 0) {
    count += (size_t)n;
    if (count == room) bytes = realloc(bytes, room *= 2);
  }
  if (fd >= 0) close(fd);
  put(name, bytes, count);
  free(bytes);
}

static void put_link(const char* name, const char* path) {
  char target[4096];
  const ssize_t n = readlink(path, target, sizeof target);
  if (n >= 0) put(name, target, (size_t)n);
}

// Before the file of this program is open.
static void list_descriptors(int* open_ones, int* count, int room) {
  DIR* list = opendir("/proc/self/fd");
  for (struct dirent* e; list != NULL && (e = readdir(list)) != NULL;) {
    const int fd = atoi(e->d_name);
    if (e->d_name[0] == '.' || fd == dirfd(list) || *count == room) continue;
    open_ones[(*count)++] = fd;
  }
  closedir(list);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "record DIRECTORY [PROGRAM [ARGUMENT...]]\n");
    return 2;
  }
  int descriptors[1024], count = 0;
  list_descriptors(descriptors, &count, 1024);
  char host[256] = "", path[4096], whole[4096];
  gethostname(host, sizeof host - 1);
  snprintf(path, sizeof path, "%s/.%s-%d", argv[1], host, (int)getpid());
  snprintf(whole, sizeof whole, "%s/%s-%d", argv[1], host, (int)getpid());
  const mode_t mask = umask(0);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  umask(mask);
  out = file < 0 ? NULL : fdopen(file, "w");
  if (out == NULL) {
    perror(path);
    return 1;
  }
  put("host", host, strlen(host));
  put_link("cwd", "/proc/self/cwd");
  put_file("cmdline");
  put_file("environ");
  put_file("status");
  put_file("limits");
  put_file("stat");
  for (int i = 0; i < count; ++i) {
    char name[32], link[64];
    snprintf(name, sizeof name, "fd:%d", descriptors[i]);
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptors[i]);
    put_link(name, link);
  }
  if (fclose(out) != 0 || rename(path, whole) != 0) {
    perror(whole);
    return 1;
  }
  if (argc == 2) return 0;
  execvp(argv[2], argv + 2);
  const int error = errno;
  perror(argv[2]);
  return error == ENOENT ? 127 : 126;
}
