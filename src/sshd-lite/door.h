// SPDX-License-Identifier: Apache-2.0
// The queue of connections before their first bytes. It greets each with our
// version line; a connection then costs a descriptor and no process, so that
// kubelet probes and silent floods are almost free. So does a peer that sends
// its version line and no more, unless the server is idle. It passes on a peer
// that proves that it has the job key (door_proof.h) as such. A peer that lost
// its place waits here too, unserved and still open, until its time is up: a
// flood that opens a new connection for each lost one gains nothing. Refuses:
// more than `capacity`; then the oldest of the address that has the most goes.
// Compares one line of fixed length, and parses nothing. Owned by pid 1, on its
// loop.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/fd.h"
#include "base/loop.h"

namespace muster {

// The address alone: "10.0.0.7:51234" -> "10.0.0.7".
std::string source_of(const std::string& peer);

struct Visitor {
  UniqueFd socket;
  std::string peer;
  std::string nonce;    // in the version line sent to it
  bool proven = false;  // it has the job key
};

struct DoorOptions {
  size_t capacity = 4096;
  Milliseconds patience{5000};
  Milliseconds terse{100};  // and then, if idle, few bytes will do
};

struct DoorEvents {
  std::function<void(Visitor)> on_talking;
  std::function<std::string()> secret;  // of the job key, door_proof.h
  std::function<bool()> quiet;
};

class Door {
 public:
  Door(Loop& loop, DoorOptions options, DoorEvents events);

  // Greets, and calls on_talking when the peer has sent enough.
  void admit(UniqueFd socket, std::string peer);
  // Holds without listening.
  void hold(UniqueFd socket, std::string peer);
  [[nodiscard]] size_t waiting() const { return guests_.size(); }

 private:
  struct Guest {
    Visitor visitor;
    std::string source;
    Clock::time_point until;
    bool heard = false;              // one byte of it will do
    std::unique_ptr<FdWatch> watch;  // goes before the socket
  };
  using Place = std::list<Guest>::iterator;

  Place add(Visitor visitor);
  void remove(Place place);
  void make_room();
  void listen_to(Place place);
  void talked(Place place);
  void arm();
  void show_out();
  void hear_the_terse();

  Loop& loop_;
  DoorOptions options_;
  DoorEvents events_;
  std::list<Guest> guests_;  // oldest first
  std::unordered_map<std::string, size_t> of_source_;
  Timer timer_;
  Timer terse_timer_;
};

}  // namespace muster
