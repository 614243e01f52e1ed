// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/pair_wire.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "fabric/prove/tcp_progress.h"

namespace muster {

namespace {

constexpr size_t kMessage = 64;
constexpr size_t kChunk = 256 * 1024;
constexpr int64_t kMaxJson = 64 * 1024;

tl::unexpected<Error> stalls() {
  return fail({.code = "bulk_stalls",
               .what = "small messages pass and large ones do not",
               .why = "full-sized packets are lost on the way",
               .where = {},
               .hint = "make the MTU of interfaces and network equal"});
}

tl::unexpected<Error> foreign(int fd) {
  return fail({.code = "peer_lost",
               .what = "talking to the peer",
               .why = "it does not speak this protocol",
               .where = peer_host(fd),
               .hint = "run `muster fabric check` on the other side"});
}

}  // namespace

Status send_message(int fd, PairMessage message, Deadline deadline) {
  std::array<char, kMessage> bytes{};
  const std::string text = message.kind + std::to_string(message.number);
  std::copy(text.begin(), text.end(), bytes.begin());
  return send_exactly(fd, bytes.data(), bytes.size(), deadline);
}

Result<PairMessage> receive_message(int fd, Deadline deadline) {
  std::array<char, kMessage> bytes{};
  StallWatch watch(fd);
  size_t got = 0;
  while (got < bytes.size()) {
    const auto part =
        receive_some(fd, bytes.data() + got, bytes.size() - got,
                     std::min(deadline, deadline_in(kStallPollMs)));
    if (!part && part.error().code != "deadline") return fail(part.error());
    if (part) got += *part;
    if (left_ms(deadline) == 0 && got < bytes.size()) {
      return fail({.code = "deadline",
                   .what = "receiving",
                   .why = "no answer in time",
                   .where = peer_host(fd),
                   .hint = {}});
    }
    if (!part && unacknowledged(fd) && watch.stalled()) return stalls();
  }
  bytes.back() = 0;
  const auto number = parse_integer(std::string_view(bytes.data() + 1));
  if (!number || *number < 0 || *number > kMaxPairBytes) return foreign(fd);
  return PairMessage{bytes[0], *number};
}

Status send_bulk(int fd, int64_t bytes, Deadline deadline) {
  const std::string chunk(kChunk, 'm');
  StallWatch watch(fd);
  while (bytes > 0) {
    const auto part = static_cast<size_t>(std::min<int64_t>(bytes, kChunk));
    size_t sent = 0;
    while (sent < part) {
      const auto some =
          send_some(fd, chunk.data() + sent, part - sent,
                    std::min(deadline, deadline_in(kStallPollMs)));
      if (some) {
        sent += *some;
      } else if (some.error().code != "deadline" || left_ms(deadline) == 0) {
        return fail(some.error());
      } else if (watch.stalled()) {
        return stalls();
      }
    }
    bytes -= static_cast<int64_t>(part);
  }
  return {};
}

Status receive_bulk(int fd, int64_t bytes, bool patient, Deadline deadline) {
  std::string chunk(kChunk, '\0');
  while (bytes > 0) {
    const auto part = static_cast<size_t>(std::min<int64_t>(bytes, kChunk));
    const auto some = receive_some(
        fd, chunk.data(), part,
        patient ? deadline : std::min(deadline, deadline_in(kStallMs)));
    if (!some) {
      if (some.error().code != "deadline" || left_ms(deadline) == 0) {
        return fail(some.error());
      }
      return stalls();
    }
    bytes -= static_cast<int64_t>(*some);
  }
  return {};
}

Status send_json(int fd, const std::string& json, Deadline deadline) {
  const auto size = static_cast<int64_t>(json.size());
  if (Status s = send_message(fd, {'V', size}, deadline); !s) return s;
  return send_exactly(fd, json.data(), json.size(), deadline);
}

Result<std::string> receive_json(int fd, int64_t size, Deadline deadline) {
  if (size > kMaxJson) return foreign(fd);
  std::string json(static_cast<size_t>(size), '\0');
  if (Status s = receive_exactly(fd, json.data(), json.size(), deadline); !s) {
    return fail(s.error());
  }
  return json;
}

}  // namespace muster
