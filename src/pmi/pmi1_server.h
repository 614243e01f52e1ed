// SPDX-License-Identifier: Apache-2.0
// Pmi1Server: the PMI-1 simple wire protocol for the ranks of one node. MPICH,
// MVAPICH2 and Intel MPI speak it to their launcher. The nodes exchange the
// ranks' puts at the barrier; this server answers gets. Refuses: PMI-2, dynamic
// processes, lines above 4 KiB, keys and values above the limits that it
// announces. Pure: lines in, lines and requests out. The agent's loop feeds it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pmi/pmi1_line.h"
#include "pmi/world.h"
#include "wire/modex_messages.h"

namespace muster {

class Pmi1Server {
 public:
  struct Actions {
    // `line` ends with a newline.
    std::function<void(int rank, std::string_view line)> reply;
    // Every rank of this node is in the barrier; answered by release().
    std::function<void(std::string contribution)> barrier;
    std::function<void(int rank)> connected;
    std::function<void(int rank)> finalized;
    std::function<void(int rank, int code, std::string message)> abort;
    // For names; the reply comes through names_reply().
    std::function<void(int rank, wire::NamesRequest)> names;
    // A line for the launcher's log.
    std::function<void(int rank, std::string text)> complain;
  };

  Pmi1Server(const World& world, Actions actions);

  // Bytes as they come from `rank`; false: they make no sense, hang up.
  [[nodiscard]] bool receive(int rank, std::string_view bytes);
  // All contributions of all nodes, ours among them.
  void release(std::string_view contributions);
  void names_reply(int rank, const wire::NamesReply& reply);
  // Whether this rank has come to a barrier, over or not.
  [[nodiscard]] bool came(int rank) const;

 private:
  struct Client {
    std::string buffer;
    bool initialized = false;
    bool in_barrier = false;
    bool came = false;          // to a barrier, once or more
    bool in_mcmd = false;       // until endcmd
    std::string names_command;  // which one is being answered
  };

  void handle(int rank, Client& client, std::string_view line);
  void init(int rank, Client& client, const Pmi1Line& line);
  void put(int rank, const Pmi1Line& line);
  void get(int rank, const Pmi1Line& line);
  void barrier(int rank, Client& client);
  void names(int rank, Client& client, const Pmi1Line& line);
  void reply(int rank, const std::string& text);

  const World& world_;
  Actions actions_;
  std::map<int, Client> clients_;
  size_t in_barrier_ = 0;
  std::map<std::string, std::string> entries_;
  std::string pending_;  // puts since the last barrier, encoded
};

// Key-value pairs as the contribution to a barrier: u32 length before each.
void append_pmi1_pair(std::string& out, std::string_view key,
                      std::string_view value);
// False if `text` is cut; pairs before the cut are in `out`.
bool read_pmi1_pairs(std::string_view text,
                     std::map<std::string, std::string>& out);

}  // namespace muster
