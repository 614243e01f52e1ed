// SPDX-License-Identifier: Apache-2.0
// The driving side of a pair test.
#include "fabric/prove/pair_test.h"

#include <algorithm>
#include <chrono>

#include "fabric/prove/pair_wire.h"

namespace muster {

namespace {

constexpr int kPings = 200;

double seconds_since(Deadline start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
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

Status connect_back(int fd, const PairRequest& request, PairResult& result,
                    Deadline deadline) {
  int port = request.back_port;
  UniqueFd own;
  if (request.back_listener < 0) {
    const auto listener = listen_tcp("0", port);
    if (!listener) return fail(listener.error());
    own.reset(*listener);
  }
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

constexpr double kEnoughSeconds = 0.5;

double rate_of(int megabytes, Deadline start) {
  return megabytes * 1048576.0 * 8e-9 / seconds_since(start);
}

// In doubling portions, so that a slow way costs half a second and not the
// whole amount: what counts is the last, largest portion.
Status move_bulk(int fd, int megabytes, PairResult& result, Deadline deadline) {
  for (const bool there : {true, false}) {
    const Deadline begin = deadline_in(0);
    int done = 0;
    for (int part = 1; done < megabytes; part *= 2) {
      part = std::min(part, megabytes - done);
      const int64_t bytes = static_cast<int64_t>(part) << 20;
      const Deadline start = deadline_in(0);
      const char kind = there ? 'B' : 'R';
      if (Status s = send_message(fd, {kind, bytes}, deadline); !s) return s;
      if (there) {
        if (Status s = send_bulk(fd, bytes, deadline); !s) return s;
        const auto reply = receive_message(fd, deadline);
        if (!reply) return fail(reply.error());
        result.to_gbps = rate_of(part, start);
      } else {
        if (Status s = receive_bulk(fd, bytes, false, deadline); !s) return s;
        result.from_gbps = rate_of(part, start);
      }
      done += part;
      if (seconds_since(begin) > kEnoughSeconds) break;
    }
  }
  return {};
}

struct HostPort {
  std::string host;
  std::string port;
};

Result<HostPort> parse_peer(const std::string& peer) {
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
  return HostPort{host, peer.substr(colon + 1)};
}

Status run_tests(int fd, const PairRequest& request, PairResult& result,
                 Deadline deadline) {
  if (Status s = ping(fd, result, deadline); !s) return s;
  if (Status s = connect_back(fd, request, result, deadline); !s) return s;
  if (request.bulk) {
    if (Status s = move_bulk(fd, request.megabytes, result, deadline); !s) {
      return s;
    }
  }
  if (!request.rdma) return {};
  auto rails = drive_rails(fd, request.rails, request.measure_rdma, deadline);
  if (!rails) return fail(rails.error());
  result.rails = std::move(*rails);
  return {};
}

}  // namespace

Result<PairResult> drive_pair(const PairRequest& request) {
  const auto place = parse_peer(request.peer);
  if (!place) return fail(place.error());
  const Deadline deadline = deadline_in(request.timeout_ms);
  const auto fd =
      connect_tcp(place->host, place->port,
                  std::min(deadline, deadline_in(request.connect_ms)));
  if (!fd) return fail(fd.error());
  PairResult result;
  if (Status s = run_tests(fd->get(), request, result, deadline); !s) {
    Error error = s.error();
    if (error.where.empty()) error.where = request.peer;
    return fail(std::move(error));
  }
  static_cast<void>(send_message(fd->get(), {'Q', 0}, deadline));
  return result;
}

}  // namespace muster
