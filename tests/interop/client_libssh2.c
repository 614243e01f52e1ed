/* SPDX-License-Identifier: Apache-2.0
 * A client with libssh2: PORT KEYFILE HOSTKEY_BASE64 COMMAND. Joins stdin,
 * stdout and stderr to the command; exits as it did, 128+15 for SIGTERM, 255
 * when the way there failed. */
#include <arpa/inet.h>
#include <libssh2.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int die(const char* what) {
  fprintf(stderr, "libssh2 client: %s\n", what);
  exit(255);
}

static void put(int fd, const char* bytes, ssize_t n) {
  while (n > 0) {
    ssize_t w = write(fd, bytes, (size_t)n);
    if (w <= 0) die("write");
    bytes += w;
    n -= w;
  }
}

/* Compares base64 of the server's key with what we were told. */
static int same_key(LIBSSH2_SESSION* session, const char* wanted) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t size;
  int type;
  const unsigned char* key =
      (const unsigned char*)libssh2_session_hostkey(session, &size, &type);
  char* out = malloc(size * 2 + 8);
  size_t at = 0;
  for (size_t i = 0; i < size; i += 3) {
    unsigned v = key[i] << 16 | (i + 1 < size ? key[i + 1] << 8 : 0) |
                 (i + 2 < size ? key[i + 2] : 0);
    out[at++] = digits[v >> 18 & 63];
    out[at++] = digits[v >> 12 & 63];
    out[at++] = i + 1 < size ? digits[v >> 6 & 63] : '=';
    out[at++] = i + 2 < size ? digits[v & 63] : '=';
  }
  out[at] = 0;
  return strcmp(out, wanted) == 0;
}

int main(int argc, char** argv) {
  if (argc != 5) die("usage: PORT KEYFILE HOSTKEY COMMAND");
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons(atoi(argv[1])),
                           .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  libssh2_init(0);
  if (connect(fd, (struct sockaddr*)&to, sizeof to) != 0) die("connect");
  LIBSSH2_SESSION* session = libssh2_session_init();
  if (libssh2_session_handshake(session, fd) != 0) die("handshake");
  if (!same_key(session, argv[3])) die("host key differs");
  if (libssh2_userauth_publickey_fromfile(session, "anyone", NULL, argv[2],
                                          NULL) != 0) {
    die("authentication");
  }
  LIBSSH2_CHANNEL* channel = libssh2_channel_open_session(session);
  if (!channel || libssh2_channel_exec(channel, argv[4]) != 0) die("exec");
  libssh2_session_set_blocking(session, 0);
  static char in[65536], out[65536];
  ssize_t have = 0, sent = 0;
  int input_open = 1, eof_sent = 0;
  while (!libssh2_channel_eof(channel) || !eof_sent) {
    int moved = 0;
    for (int stream = 0; stream < 2; ++stream) {
      ssize_t n;
      while ((n = libssh2_channel_read_ex(channel, stream, out, sizeof out)) >
             0) {
        put(stream + 1, out, n);
        moved = 1;
      }
      if (n < 0 && n != LIBSSH2_ERROR_EAGAIN) die("read");
    }
    if (libssh2_channel_eof(channel)) break;
    if (sent < have) {
      ssize_t n = libssh2_channel_write(channel, in + sent, have - sent);
      if (n > 0) {
        sent += n;
        moved = 1;
      } else if (n < 0 && n != LIBSSH2_ERROR_EAGAIN) {
        die("channel write");
      }
    } else if (!input_open && !eof_sent) {
      if (libssh2_channel_send_eof(channel) == 0) eof_sent = 1;
      moved = 1;
    }
    if (moved) continue;
    struct pollfd wait[2] = {{fd, POLLIN, 0}, {-1, POLLIN, 0}};
    if (libssh2_session_block_directions(session) &
        LIBSSH2_SESSION_BLOCK_OUTBOUND) {
      wait[0].events |= POLLOUT;
    }
    if (input_open && sent == have) wait[1].fd = 0;
    poll(wait, 2, 1000);
    if (wait[1].revents) {
      have = read(0, in, sizeof in);
      sent = 0;
      if (have <= 0) {
        have = 0;
        input_open = 0;
      }
    }
  }
  libssh2_session_set_blocking(session, 1);
  libssh2_channel_wait_eof(channel);
  libssh2_channel_close(channel);
  libssh2_channel_wait_closed(channel);
  char* name = NULL;
  libssh2_channel_get_exit_signal(channel, &name, NULL, NULL, NULL, NULL, NULL);
  if (name) return strcmp(name, "TERM") == 0 ? 143 : 254;
  return libssh2_channel_get_exit_status(channel);
}
