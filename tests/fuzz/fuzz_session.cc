// SPDX-License-Identifier: Apache-2.0
// A whole session before the login with a scripted peer: the input is a list of
// payloads (two bytes of length each), sent as well-formed packets after a
// version line. Without keys nothing gets past the key exchange, so any message
// to pid 1 but the end is a finding.
#include <libssh/libssh.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "sshd-lite/connection.h"

namespace {

std::string as_packet(std::string_view payload) {
  size_t padding = 8 - (payload.size() + 5) % 8;
  if (padding < 4) padding += 8;
  const size_t length = payload.size() + padding + 1;
  std::string out;
  for (const int shift : {24, 16, 8, 0}) {
    out += static_cast<char>(length >> shift & 255);
  }
  out += static_cast<char>(padding);
  out += payload;
  out.append(padding, 'p');
  return out;
}

std::string script(std::string_view input) {
  std::string out = "SSH-2.0-fuzz\r\n";
  while (input.size() > 2 && out.size() < 48 * 1024) {
    const size_t length = static_cast<uint8_t>(input[0]) * size_t{256} +
                          static_cast<uint8_t>(input[1]);
    input.remove_prefix(2);
    out += as_packet(input.substr(0, length));
    input.remove_prefix(std::min(length, input.size()));
  }
  return out;
}

muster::JobKeys make_keys() {
  ssh_init();
  muster::JobKeys keys;
  keys.private_key =
      std::move(*muster::SshKey::generate(muster::KeyType::kEcdsaP256));
  return keys;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const muster::JobKeys keys = make_keys();
  auto wire = muster::make_socketpair(SOCK_STREAM);
  auto link = muster::make_socketpair(SOCK_SEQPACKET);
  if (!wire || !link) return 0;
  const std::string bytes = script({reinterpret_cast<const char*>(data), size});
  if (!muster::write_all(wire->read.get(), bytes)) return 0;
  ::shutdown(wire->read.get(), SHUT_WR);
  muster::set_nonblocking(wire->write.get());
  muster::ConnectionOptions options;
  options.keys = &keys;
  options.peer = "fuzz";
  options.auth_timeout = muster::Milliseconds(200);
  options.sandbox = false;  // it cannot be left again
  muster::serve_connection(std::move(wire->write), std::move(link->write),
                           options);
  const auto message = muster::receive_with_fds(link->read.get());
  // "K" needs a finished key exchange, which a script may reach by replay.
  if (message && !message->eof && message->bytes != "K") std::abort();
  return 0;
}
