// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/client_setup.h"

#include <libssh/libssh.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "sshd-lite/client_errors.h"

namespace muster {

namespace {

// Of equal strength the one that costs less comes first: P-256 takes OpenSSL
// three fifths of curve25519's time, for which libssh multiplies once more.
constexpr const char* kKeyExchanges =
    "ecdh-sha2-nistp256,curve25519-sha256,curve25519-sha256@libssh.org,"
    "ecdh-sha2-nistp384,ecdh-sha2-nistp521";
constexpr const char* kCiphers =
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,"
    "chacha20-poly1305@openssh.com,aes256-ctr";

}  // namespace

void set_client_options(ssh_session_struct* session, int fd,
                        const std::string& user, uint64_t rekey_bytes) {
  const bool process_config = false;
  const socket_t socket = fd;
  const std::pair<enum ssh_options_e, const void*> values[] = {
      {SSH_OPTIONS_PROCESS_CONFIG, &process_config},
      {SSH_OPTIONS_FD, &socket},
      {SSH_OPTIONS_HOST, "worker"},  // never resolved: the socket is given
      {SSH_OPTIONS_USER, user.empty() ? "muster" : user.c_str()},
      // Without these libssh asks getpwuid() for a home: there may be none.
      {SSH_OPTIONS_SSH_DIR, "/nonexistent"},
      {SSH_OPTIONS_KNOWNHOSTS, "/dev/null"},
      {SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null"},
      {SSH_OPTIONS_KEY_EXCHANGE, kKeyExchanges},
      {SSH_OPTIONS_CIPHERS_C_S, kCiphers},
      {SSH_OPTIONS_CIPHERS_S_C, kCiphers},
      {SSH_OPTIONS_COMPRESSION, "no"},
  };
  for (const auto& [option, value] : values) {
    // In FIPS mode OpenSSL refuses a list without a permitted name; the
    // library's own default then stands.
    if (ssh_options_set(session, option, value) != SSH_OK) {
      log::debug("ssh: option {} not taken", static_cast<int>(option));
    }
  }
  if (rekey_bytes > 0) {
    ssh_options_set(session, SSH_OPTIONS_REKEY_DATA, &rekey_bytes);
  }
}

Result<SeenBanner> peek_banner(int fd) {
  char bytes[256];  // no version line is longer
  ssize_t n;
  do {
    n = ::recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) return SeenBanner{};
  if (n <= 0) {
    Error error = ssh_error::closed_early();
    if (n < 0) error.why += std::string(": ") + strerror(errno);
    return fail(std::move(error));
  }
  const std::string_view seen(bytes, static_cast<size_t>(n));
  constexpr std::string_view kStart = "SSH-";
  const size_t compared = std::min(kStart.size(), seen.size());
  if (seen.substr(0, compared) != kStart.substr(0, compared)) {
    return fail(ssh_error::foreign(seen));
  }
  const size_t end = seen.find('\n');
  if (end == seen.npos && seen.size() < sizeof bytes) {
    return SeenBanner{std::nullopt, true};
  }
  return SeenBanner{
      std::string(seen.substr(0, end == seen.npos ? end : end + 1)), true};
}

}  // namespace muster
