// SPDX-License-Identifier: Apache-2.0
// The protocol of the two sides of a pair test over TCP: messages of 64 bytes,
// a letter and a number in decimal, some followed by bytes.
//   P ping (echoed)          C connect back to that port (answer D or F)
//   B that many bytes follow (answer D)      R send that many bytes
//   V that many bytes of JSON follow: a step of the verbs test
//   Q end
// Every wait has the caller's deadline.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "fabric/prove/pair_socket.h"

namespace muster {

constexpr int64_t kMaxPairBytes = 4LL << 30;

struct PairMessage {
  char kind = 0;
  int64_t number = 0;
};

// Error codes "peer_lost", "deadline", and of the last two "bulk_stalls": no
// byte went either way for kStallMs.
Status send_message(int fd, PairMessage message, Deadline deadline);
Result<PairMessage> receive_message(int fd, Deadline deadline);
Status send_bulk(int fd, int64_t bytes, Deadline deadline);
// `patient`: leaves it to the other side to notice a stall, so that the side
// that reports does so before the connection is closed.
Status receive_bulk(int fd, int64_t bytes, bool patient, Deadline deadline);

// A message V with its JSON; at most 64 KiB.
Status send_json(int fd, const std::string& json, Deadline deadline);
Result<std::string> receive_json(int fd, int64_t size, Deadline deadline);

}  // namespace muster
