// SPDX-License-Identifier: Apache-2.0
// AgentReach: can this pod open TCP connections to these addresses? Asked of
// every pod before a job starts, so it runs on the agent's loop, all attempts
// at once, without a process or a thread.
// Refuses: names, which need a resolver that may block (facts_probe.h).
// Owns its sockets. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "wire/messages.h"

namespace muster {

class AgentReach {
 public:
  using Done = std::function<void(wire::ProbeReply)>;

  // No names, and every target an address.
  static bool can_answer(const wire::ProbeRequest& request);
  // `done` is called once, later on the loop; destruction drops it.
  AgentReach(Loop& loop, const wire::ProbeRequest& request, Done done);

 private:
  struct Attempt {
    std::string subject;
    std::string address;
    UniqueFd socket;
    std::unique_ptr<FdWatch> watch;  // null: it is over
  };

  void begin(size_t index, int port);
  void settle(size_t index, int error);
  void finish();

  Loop& loop_;
  wire::ProbeReply reply_;  // "timeout" until something better is known
  Done done_;
  std::vector<Attempt> attempts_;
  size_t open_ = 0;
  Timer timer_;
};

}  // namespace muster
