// SPDX-License-Identifier: Apache-2.0
// ModexRouter: the middle of the star through which natively started ranks find
// each other. It joins fences, sends gets to the node with the answer, keeps
// names, and sends events to all other nodes. It names a missing rank: one that
// did not reach MPI_Init, ended too early, or holds up the first fence of all,
// also that of a world on one node. Later fences have no deadline: a program
// may compute for days between two of them. The log says once who holds one up.
// Lives on the launcher's loop; borrows the fleet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "launcher/connect/fleet.h"
#include "launcher/start/direct_gets.h"
#include "launcher/start/ended_ranks.h"
#include "launcher/start/fence_delivery.h"
#include "launcher/start/roll_call.h"
#include "pmi/fence_board.h"
#include "pmi/name_board.h"
#include "pmi/pieces.h"
#include "pmi/world.h"

namespace muster {

struct ModexEvents {
  // The ranks cannot go on together, because of `rank` unless it is -1; called
  // at most once.
  std::function<void(Error, int rank)> on_broken;
  std::function<void(int rank, int code, std::string message)> on_abort;
};

class ModexRouter {
 public:
  // `fleet_nodes`: the fleet's node for each node of the world. `deadline`: the
  // limit for the first fence of all, gets and lookups; 0: none.
  ModexRouter(Loop& loop, Fleet& fleet, World world,
              std::vector<uint16_t> fleet_nodes, Milliseconds deadline,
              ModexEvents events);
  ~ModexRouter();
  ModexRouter(const ModexRouter&) = delete;
  ModexRouter& operator=(const ModexRouter&) = delete;

  // For ranks that registered with PMIx; call it first on an end.
  void announce_end(int rank, const wire::Exited& exit);
  void rank_ended(int rank, const wire::Exited& exit);

 private:
  enum class Stage : uint8_t { kStarted, kConnected, kFinalized, kGone };
  using Peer = std::pair<int, uint32_t>;  // node of the world, id
  struct Upload {
    wire::FenceCall call;
    PieceCollector pieces{0};
  };

  void listen();
  void open_fence(int node, const wire::Frame& frame);
  void data(int node, const wire::Frame& frame);
  void contribute(int node, uint32_t id);
  void get(int node, const wire::Frame& frame);
  void names(int node, const wire::Frame& frame);
  void answer_names(const std::vector<NameBoard::Answer>& answers);
  [[nodiscard]] bool speaks_for(int node, int rank);
  void rank_state(int node, const wire::Frame& frame);
  void spread(int node, const wire::Frame& frame);
  void check_gone();
  void check_absent(Clock::time_point now);
  void left_fence(int rank);
  void tell_left(Clock::time_point now);
  void tick();
  void expire(Clock::time_point now);
  void check_first_fence(const StalledFence& fence, Clock::time_point now);
  void check_one_node(Clock::time_point now);
  void missing_in_init(const std::vector<int>& ranks);
  void broken(Error error, int rank = -1);
  void protocol_error(int node, const Error& error);
  FenceDelivery::Send sender();
  FenceDelivery::Queued queue_of();
  void send(int node, wire::FrameType type, uint32_t id,
            std::string_view payload);
  [[nodiscard]] std::vector<int> ranks_in(Stage stage) const;
  [[nodiscard]] std::vector<int> connected_nodes() const;
  [[nodiscard]] bool any_connected_now() const;

  Fleet& fleet_;
  World world_;
  std::vector<uint16_t> fleet_nodes_;
  std::map<uint16_t, int> node_of_fleet_;
  Milliseconds deadline_;
  ModexEvents events_;
  FenceBoard fences_;
  FenceDelivery delivery_;
  DirectGets gets_;
  NameBoard board_;
  EndedRanks ended_;
  RollCall roll_call_;
  std::vector<Stage> stages_;
  Clock::time_point first_connected_;
  bool any_connected_ = false;
  Clock::time_point began_ = Clock::now();
  bool met_ = false;
  // When all ranks of a world on one node had reached MPI_Init.
  std::optional<Clock::time_point> reached_on_one_node_;
  bool broken_ = false;
  std::map<Peer, Upload> uploads_;
  std::map<uint64_t, Clock::time_point> lookups_;  // ticket -> deadline
  std::set<std::pair<std::string, uint32_t>> told_;
  // The first rank that ended well without MPI_Finalize, and when.
  std::optional<std::pair<int, Clock::time_point>> left_;
  // The first rank that ended well and never reached MPI_Init, and when.
  std::optional<std::pair<int, Clock::time_point>> absent_;
  Timer tick_;
};

}  // namespace muster
