// SPDX-License-Identifier: Apache-2.0
// AgentPmi1: the sockets through which the ranks of this pod speak PMI-1 around
// the protocol in pmi/pmi1_server.h: one end of a pair is the rank's PMI_FD; a
// program without that variable connects to PMI_PORT. Refuses: a rank that
// never reads its answers (1 MiB queued: hang up), and a peer that connects
// without an id of ours, or as a rank that is already there. Owns our ends of
// the sockets. Loop thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/accept_watch.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/loopback.h"
#include "pmi/modex_client.h"
#include "pmi/pmi1_port.h"
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
  // "127.0.0.1:4711", and the first line of `rank` there; "" if no port was
  // free.
  [[nodiscard]] std::string port() const;
  int id_for(int rank);
  // Whether it has come to a barrier.
  [[nodiscard]] bool came(int rank) const { return server_.came(rank); }
  // Reads the rank's last lines before its end.
  void rank_ended(int rank);

 private:
  struct Link {
    UniqueFd socket;
    std::string unsent;
    std::unique_ptr<FdWatch> watch;
    bool in_use = false;  // by a program between its first line and finalize
  };
  // Peers that have not identified themselves yet.
  struct Guest {
    UniqueFd socket;
    std::string said;
    std::unique_ptr<FdWatch> watch;
  };
  using Guests = std::list<Guest>;

  void listen();
  void accept_guest(UniqueFd socket);
  void hear(Guests::iterator guest);
  void adopt(int rank, UniqueFd socket, std::string_view more);
  void watch(int rank, Link& link);
  // false: the other side has closed, or must be hung up on.
  bool read_some(int rank);
  void write(int rank, std::string_view line);
  void flush(int rank);
  void drop(int rank);
  void barrier(std::string contribution);

  Loop& loop_;
  const World& world_;
  ModexClient& modex_;
  PmiEvents events_;
  Pmi1Server server_;
  std::map<int, Link> links_;
  LoopbackListener listener_;
  std::unique_ptr<AcceptWatch> listener_watch_;
  Pmi1Ids ids_;
  Guests guests_;
};

}  // namespace muster
