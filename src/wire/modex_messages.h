// SPDX-License-Identifier: Apache-2.0
// Messages between launcher and agents by which natively started ranks find one
// another: places of ranks, fences, direct gets, published names, aborts. Bulk
// data follows these messages as kModexData frames with the same id, in pieces
// of at most kModexPiece bytes. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/frame.h"

namespace muster::wire {

// Small enough that a piece never holds up a heartbeat on a slow link.
constexpr size_t kModexPiece = 256 << 10;
// The launcher chooses ids from here on (it asks an agent); agents those below.
constexpr uint32_t kLauncherModexIds = 0x80000000;

struct JobMapNode {
  std::string host;
  std::string ranks;  // "0-3,8": ascending; empty: runs none
};

// One of the programs of a job, which have the ranks in order.
struct JobMapProgram {
  int ranks = 0;
  std::string command;  // argv with blanks between; empty: too long
  std::string cwd;      // empty: see JobMap::cwd_if_there
};

// kJobMap, launcher -> agent, before the first kStart of a native job.
struct JobMap {
  std::string nspace;  // unique per launch and unguessable
  int size = 0;
  int node = 0;  // the receiving agent's index in `nodes`
  std::vector<JobMapNode> nodes;
  std::vector<JobMapProgram> programs;
  // As in kStart: the directory of programs without one, if it exists.
  std::string cwd_if_there;
  // "0-3,8" of each rank of the receiving agent; empty: not bound.
  std::vector<std::string> cpus;
  bool emulated = false;  // --local: several nodes share one machine
};

// kFence, agent -> launcher: every local participant has arrived. `size` bytes
// of data follow.
struct FenceCall {
  std::string participants;  // canonical; see pmi/participants.h
  uint32_t sequence = 0;     // of fences with these participants
  uint64_t size = 0;
};

// kModexReply, both ways: the end of a fence or of a get. An empty `error`
// means success, and `size` bytes follow.
struct ModexReply {
  std::string error;
  uint64_t size = 0;
};

// kModexGet, both ways: asks for the data of `rank`. kModexReply answers.
struct ModexGet {
  int rank = -1;
};

// kNames, agent -> launcher: published names, which all nodes share.
struct NamesRequest {
  std::string operation;  // "publish", "lookup", "unpublish"
  int owner = -1;         // the rank that asks
  std::vector<std::string> keys;
  std::vector<std::string> values;  // publish only; one for each key
  bool wait = false;                // lookup: until all keys are there
  int timeout_ms = 0;  // of the waiting ranks; 0: the start deadline
};

// kNamesReply: the answers, key by key.
struct NamesReply {
  std::string error;  // "", "not_found", "timeout", "exists"
  std::vector<std::string> keys;
  std::vector<std::string> values;
  std::vector<int> owners;
};

// kRankState, agent -> launcher: how far a rank is with MPI.
struct RankState {
  int rank = -1;
  std::string state;  // "connected", "finalized", "aborted"
  int code = 0;       // aborted: the code it gave
  std::string message;
};

// kRanksEnded: the ends of ranks, in order.
struct RankEnd {
  int rank = -1;
  int wait_status = 0;  // as waitpid() gives it
};
struct RanksEnded {
  std::vector<RankEnd> ranks;
};

// kArrivals: those of the node's ranks that have put the data that others need,
// or wait in a barrier.
struct Arrivals {
  std::vector<int> ranks;
};

std::string to_json(const JobMap&);
std::string to_json(const FenceCall&);
std::string to_json(const ModexReply&);
std::string to_json(const ModexGet&);
std::string to_json(const NamesRequest&);
std::string to_json(const NamesReply&);
std::string to_json(const RankState&);
std::string to_json(const RanksEnded&);
std::string to_json(const Arrivals&);

// Error code "protocol" if `text` is not that message. Instantiated for each of
// the types above.
template <class Message>
Result<Message> modex_from_json(std::string_view text);

}  // namespace muster::wire
