// SPDX-License-Identifier: Apache-2.0
// Where connections wait until they say something: each is greeted with our
// version line and then costs a descriptor and no process, so that kubelet
// probes and silent floods are as good as free. Whoever is sent back from
// inside waits here too, unserved and still open, until its time is up: a flood
// that opens a new connection for each it loses gains nothing by it.
// Refuses: more than `capacity`; then the oldest of the address that has the
// most goes. Reads no byte of what is said. Owned by pid 1, on its loop.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/fd.h"
#include "base/loop.h"

namespace muster {

// With CR and LF; the connection child tells libssh that it has been sent.
inline constexpr const char* kServerVersionLine =
    "SSH-2.0-muster_" MUSTER_VERSION "\r\n";

// The address alone: "10.0.0.7:51234" -> "10.0.0.7".
std::string source_of(const std::string& peer);

struct DoorOptions {
  size_t capacity = 4096;
  Milliseconds patience{5000};
};

class Door {
 public:
  using Talking = std::function<void(UniqueFd socket, std::string peer)>;

  Door(Loop& loop, DoorOptions options, Talking on_talking);

  // Greets, and calls on_talking as soon as the peer has said anything.
  void admit(UniqueFd socket, std::string peer);
  // Holds without listening.
  void hold(UniqueFd socket, std::string peer);
  [[nodiscard]] size_t waiting() const { return guests_.size(); }

 private:
  struct Guest {
    UniqueFd socket;
    std::string peer;
    std::string source;
    Clock::time_point until;
    std::unique_ptr<FdWatch> watch;  // before `socket` goes
  };
  using Place = std::list<Guest>::iterator;

  Place add(UniqueFd socket, std::string peer);
  void remove(Place place);
  void make_room();
  void talked(Place place);
  void arm();
  void show_out();

  Loop& loop_;
  DoorOptions options_;
  Talking on_talking_;
  std::list<Guest> guests_;  // oldest first
  std::unordered_map<std::string, size_t> of_source_;
  Timer timer_;
};

}  // namespace muster
