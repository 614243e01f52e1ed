// SPDX-License-Identifier: Apache-2.0
// The listening side of a pair test: does what the driver asks for until it
// says Q. Blocks; runs on a thread of the caller's choice.
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "fabric/prove/pair_test.h"
#include "fabric/prove/pair_wire.h"

namespace muster {

namespace {

// Shorter than what drivers wait for the whole test.
constexpr int kConnectBackMs = 3500;

Status answer(int fd, const PairMessage& message, VerbsServer& verbs,
              Deadline deadline) {
  switch (message.kind) {
    case 'P':
      return send_message(fd, message, deadline);
    case 'B':
      if (Status s = receive_bulk(fd, message.number, true, deadline); !s)
        return s;
      return send_message(fd, {'D', 0}, deadline);
    case 'R':
      return send_bulk(fd, message.number, deadline);
    case 'C': {
      const auto back =
          connect_tcp(peer_host(fd), std::to_string(message.number),
                      std::min(deadline, deadline_in(kConnectBackMs)));
      return send_message(fd, {back ? 'D' : 'F', 0}, deadline);
    }
    case 'V': {
      const auto json = receive_json(fd, message.number, deadline);
      if (!json) return fail(json.error());
      return send_json(fd, verbs.answer(*json), deadline);
    }
    default:
      return fail({.code = "peer_lost",
                   .what = "serving a pair test",
                   .why = "unknown message",
                   .where = peer_host(fd),
                   .hint = {}});
  }
}

}  // namespace

Status serve_connection(int fd, int timeout_ms, const RailList& own) {
  const Deadline deadline = deadline_in(timeout_ms);
  VerbsServer verbs(own);
  for (;;) {
    const auto message = receive_message(fd, deadline);
    if (!message) return fail(message.error());
    if (message->kind == 'Q') return {};
    if (Status s = answer(fd, *message, verbs, deadline); !s) return s;
  }
}

Status serve_pair(int listener, int timeout_ms, const RailList& own) {
  const Deadline deadline = deadline_in(timeout_ms);
  const auto fd = accept_tcp(listener, deadline);
  if (!fd) return fail(fd.error());
  return serve_connection(fd->get(), left_ms(deadline), own);
}

Result<int> listen_tcp(const std::string& address, int& port) {
  const size_t colon = address.rfind(':');
  const std::string host =
      colon == std::string::npos ? "" : address.substr(0, colon);
  const std::string service =
      colon == std::string::npos ? address : address.substr(colon + 1);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  const int wrong = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                  service.c_str(), &hints, &list);
  if (wrong != 0) {
    return fail({.code = "usage",
                 .what = "--listen " + address,
                 .why = ::gai_strerror(wrong),
                 .where = {},
                 .hint = "write PORT or HOST:PORT"});
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list,
                                                             ::freeaddrinfo);
  UniqueFd fd(::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;  // a fixed port is used again by the next check
  if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!fd || ::bind(fd.get(), list->ai_addr, list->ai_addrlen) != 0 ||
      ::listen(fd.get(), 64) != 0) {
    return fail_errno("limits", "cannot listen", address);
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  char number[NI_MAXSERV] = {};
  ::getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, nullptr, 0, number,
                sizeof number, NI_NUMERICSERV);
  port = static_cast<int>(parse_integer(number).value_or(0));
  return fd.release();
}

}  // namespace muster
