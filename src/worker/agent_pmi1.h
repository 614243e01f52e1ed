// SPDX-License-Identifier: Apache-2.0
// AgentPmi1: the sockets through which the ranks of this pod speak PMI-1 (one
// end is the rank's PMI_FD) around the protocol in pmi/pmi1_server.h.
// Refuses: a rank that never reads its answers (1 MiB queued: hang up).
// Owns our ends of the sockets. Loop thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/loop.h"
#include "pmi/modex_client.h"
#include "pmi/pmi1_server.h"
#include "pmi/world.h"

namespace muster {

struct PmiEvents {
  std::function<void(int rank)> connected;
  std::function<void(int rank)> finalized;
  std::function<void(int rank, int code, std::string message)> aborted;
  std::function<void(int rank, std::string text)> complain;
};

class AgentPmi1 {
 public:
  AgentPmi1(Loop& loop, const World& world, ModexClient& modex,
            PmiEvents events);

  // The rank's end of a new socket; ours is kept until rank_ended().
  Result<UniqueFd> connect(int rank);
  // Takes in what the rank still said before it ended.
  void rank_ended(int rank);

 private:
  struct Link {
    UniqueFd socket;
    std::string unsent;
    std::unique_ptr<FdWatch> watch;
  };

  // false: the other side has closed, or is to be hung up on.
  bool read_some(int rank);
  void write(int rank, std::string_view line);
  void flush(int rank);
  void drop(int rank);
  void barrier(std::string contribution);

  Loop& loop_;
  ModexClient& modex_;
  PmiEvents events_;
  Pmi1Server server_;
  std::map<int, Link> links_;
};

}  // namespace muster
