// SPDX-License-Identifier: Apache-2.0
// Messages are 64 bytes: a letter and a number in decimal. P ping (echoed),
// C connect back to that port (answer D or F), B that many bytes follow
// (answer D), R send that many bytes, Q end.
#include "fabric/pair_test.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/text.h"
#include "fabric/pair_socket.h"

namespace muster {

namespace {

constexpr size_t kMessage = 64;
constexpr size_t kChunk = 256 * 1024;
constexpr int kPings = 200;
constexpr int64_t kMaxBytes = 4LL << 30;

struct Message {
  char kind = 0;
  int64_t number = 0;
};

Status send_message(int fd, Message message, Deadline deadline) {
  std::array<char, kMessage> bytes{};
  const std::string text = message.kind + std::to_string(message.number);
  std::copy(text.begin(), text.end(), bytes.begin());
  return send_exactly(fd, bytes.data(), bytes.size(), deadline);
}

Result<Message> receive_message(int fd, Deadline deadline) {
  std::array<char, kMessage> bytes{};
  if (Status s = receive_exactly(fd, bytes.data(), bytes.size(), deadline);
      !s) {
    return fail(s.error());
  }
  bytes.back() = 0;
  const auto number = parse_integer(std::string_view(bytes.data() + 1));
  if (!number || *number < 0 || *number > kMaxBytes) {
    return fail({.code = "peer_lost",
                 .what = "talking to the peer",
                 .why = "it does not speak this protocol",
                 .where = peer_host(fd),
                 .hint = "run muster fabric on the other side"});
  }
  return Message{bytes[0], *number};
}

Status send_bulk(int fd, int64_t bytes, Deadline deadline) {
  const std::string chunk(kChunk, 'm');
  while (bytes > 0) {
    const auto part = static_cast<size_t>(std::min<int64_t>(bytes, kChunk));
    if (Status s = send_exactly(fd, chunk.data(), part, deadline); !s) return s;
    bytes -= static_cast<int64_t>(part);
  }
  return {};
}

Status receive_bulk(int fd, int64_t bytes, Deadline deadline) {
  std::string chunk(kChunk, '\0');
  while (bytes > 0) {
    const auto part = static_cast<size_t>(std::min<int64_t>(bytes, kChunk));
    if (Status s = receive_exactly(fd, chunk.data(), part, deadline); !s) {
      return s;
    }
    bytes -= static_cast<int64_t>(part);
  }
  return {};
}

double seconds_since(Deadline start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

Status answer(int fd, const Message& message, Deadline deadline) {
  switch (message.kind) {
    case 'P':
      return send_message(fd, message, deadline);
    case 'B':
      if (Status s = receive_bulk(fd, message.number, deadline); !s) return s;
      return send_message(fd, {'D', 0}, deadline);
    case 'R':
      return send_bulk(fd, message.number, deadline);
    case 'C': {
      const auto back = connect_tcp(
          peer_host(fd), std::to_string(message.number),
          std::min(deadline, deadline_in(std::max(left_ms(deadline) / 2, 1))));
      return send_message(fd, {back ? 'D' : 'F', 0}, deadline);
    }
    default:
      return fail({.code = "peer_lost", .what = "unknown message"});
  }
}

Status ping(int fd, PairResult& result, Deadline deadline) {
  std::vector<double> times;
  for (int i = 0; i < kPings; ++i) {
    const Deadline start = deadline_in(0);
    if (Status s = send_message(fd, {'P', i}, deadline); !s) return s;
    const auto echo = receive_message(fd, deadline);
    if (!echo) return fail(echo.error());
    times.push_back(seconds_since(start) * 1e6);
  }
  std::sort(times.begin(), times.end());
  result.latency_us = times[times.size() / 2];
  result.latency_p99_us = times[times.size() * 99 / 100];
  return {};
}

Status connect_back(int fd, PairResult& result, Deadline deadline) {
  int port = 0;
  const auto listener = listen_tcp("0", port);
  if (!listener) return fail(listener.error());
  const UniqueFd owner(*listener);
  if (Status s = send_message(fd, {'C', port}, deadline); !s) return s;
  const auto reply = receive_message(fd, deadline);
  if (!reply) return fail(reply.error());
  result.back_ok = reply->kind == 'D';
  if (result.back_ok) return {};
  return fail({.code = "connect_back",
               .what = "the peer cannot connect to this pod",
               .why = "connections work in one direction only",
               .where = peer_host(fd),
               .hint = "a network policy allows one direction only"});
}

Status move_bulk(int fd, int megabytes, PairResult& result, Deadline deadline) {
  const int64_t bytes = static_cast<int64_t>(megabytes) << 20;
  const double bits = static_cast<double>(bytes) * 8e-9;
  Deadline start = deadline_in(0);
  if (Status s = send_message(fd, {'B', bytes}, deadline); !s) return s;
  if (Status s = send_bulk(fd, bytes, deadline); !s) return s;
  if (const auto done = receive_message(fd, deadline); !done) {
    return fail(done.error());
  }
  result.to_gbps = bits / seconds_since(start);
  start = deadline_in(0);
  if (Status s = send_message(fd, {'R', bytes}, deadline); !s) return s;
  if (Status s = receive_bulk(fd, bytes, deadline); !s) return s;
  result.from_gbps = bits / seconds_since(start);
  return {};
}

}  // namespace

Status serve_pair(int listener, int timeout_ms) {
  const Deadline deadline = deadline_in(timeout_ms);
  const auto fd = accept_tcp(listener, deadline);
  if (!fd) return fail(fd.error());
  for (;;) {
    const auto message = receive_message(fd->get(), deadline);
    if (!message) return fail(message.error());
    if (message->kind == 'Q') return {};
    if (Status s = answer(fd->get(), *message, deadline); !s) return s;
  }
}

Result<PairResult> drive_pair(const std::string& peer, bool bulk, int megabytes,
                              int timeout_ms) {
  const Deadline deadline = deadline_in(timeout_ms);
  const size_t colon = peer.rfind(':');
  if (colon == std::string::npos) {
    return fail({.code = "usage",
                 .what = "--peer " + peer,
                 .why = "no port",
                 .where = {},
                 .hint = "write HOST:PORT"});
  }
  std::string host = peer.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  const auto fd = connect_tcp(host, peer.substr(colon + 1), deadline);
  if (!fd) return fail(fd.error());
  PairResult result;
  if (Status s = ping(fd->get(), result, deadline); !s) return fail(s.error());
  if (Status s = connect_back(fd->get(), result, deadline); !s) {
    return fail(s.error());
  }
  // A megabyte needs full-sized packets: where they vanish, this stalls.
  if (Status s = move_bulk(fd->get(), bulk ? megabytes : 1, result, deadline);
      !s) {
    const bool stalled =
        s.error().code == "deadline" && result.to_gbps < 0 && !bulk;
    if (!stalled) return fail(s.error());
    return fail({.code = "bulk_stalls",
                 .what = "small messages pass and large ones do not",
                 .why = "full-sized packets are lost on the way",
                 .where = peer,
                 .hint = "make the MTU of interfaces and network equal"});
  }
  static_cast<void>(send_message(fd->get(), {'Q', 0}, deadline));
  return result;
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
  if (!fd || ::bind(fd.get(), list->ai_addr, list->ai_addrlen) != 0 ||
      ::listen(fd.get(), 1) != 0) {
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
