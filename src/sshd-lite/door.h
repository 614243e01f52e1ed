// SPDX-License-Identifier: Apache-2.0
// Where connections wait until they have something to say: each is greeted with
// our version line and then costs a descriptor and no process, so that kubelet
// probes and silent floods are as good as free. So does a peer that says its
// version line and no more, unless there is little to do anyway. A peer that
// proves that it has the job key (door_proof.h) is passed on as such. A peer
// that is sent back from inside waits here too, unserved and still open, until
// its time is up: a flood that opens a new connection for each it loses gains
// nothing by it. Refuses: more than `capacity`; then the oldest of the address
// that has the most goes. Compares one line of fixed length, and parses
// nothing. Owned by pid 1, on its loop.
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
  std::string nonce;    // in the version line that it was sent
  bool proven = false;  // it has the job key
};

struct DoorOptions {
  size_t capacity = 4096;
  Milliseconds patience{5000};
  Milliseconds terse{100};  // and then, in quiet times, few words will do
};

struct DoorEvents {
  std::function<void(Visitor)> on_talking;
  std::function<std::string()> secret;  // of the job key, door_proof.h
  std::function<bool()> quiet;
};

class Door {
 public:
  Door(Loop& loop, DoorOptions options, DoorEvents events);

  // Greets, and calls on_talking when the peer has said enough.
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
