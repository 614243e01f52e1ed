// SPDX-License-Identifier: Apache-2.0
// The request of `muster ssh` to the launcher over a Unix socket: "run this
// command on that host". Frames as between launcher and agent, one relay a
// connection:
//
//   relay -> launcher  kStart (RelayRequest), kStdin, kStdinEof
//   launcher -> relay  kStdinCredit, kOutput (flags: stream), kExited (Exited),
//                      kStartFailed (StartFailed)
//
// Output has no credits here: the relay writes before it reads on, so the
// socket itself holds the launcher back. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::wire {

struct RelayRequest {
  std::string host;     // as mpirun wrote it
  std::string command;  // for /bin/sh -c on that host
  bool stdin_open = false;
};

std::string to_json(const RelayRequest& request);
// Error code "protocol".
Result<RelayRequest> relay_request_from_json(std::string_view text);

}  // namespace muster::wire
