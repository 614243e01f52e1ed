// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/door.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "sshd-lite/door_proof.h"

namespace muster {

namespace {

// Connections that came together do not leave together: a flood would come back
// as one wave.
constexpr int kOutAtOnce = 8;
constexpr Milliseconds kOutPause{50};
// A version line with the start of a key exchange behind it, or a proof, has as
// many bytes. Below that the kernel does not wake us.
constexpr int kEnough = kProofSize;
constexpr int kTerseAtOnce = 8;

void wake_at(const UniqueFd& socket, int bytes) {
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVLOWAT, &bytes,
                     sizeof bytes);
}

}  // namespace

std::string source_of(const std::string& peer) {
  return peer.substr(0, peer.rfind(':'));
}

Door::Door(Loop& loop, DoorOptions options, DoorEvents events)
    : loop_(loop),
      options_(options),
      events_(std::move(events)),
      timer_(loop),
      terse_timer_(loop) {}

void Door::admit(UniqueFd socket, std::string peer) {
  Visitor visitor{std::move(socket), std::move(peer), new_nonce()};
  const std::string line = server_version_line(visitor.nonce);
  // An empty send buffer takes it; a lost peer shows below.
  (void)::send(visitor.socket.get(), line.data(), line.size(),
               MSG_DONTWAIT | MSG_NOSIGNAL);
  wake_at(visitor.socket, kEnough);
  listen_to(add(std::move(visitor)));
  if (terse_timer_.pending()) return;
  terse_timer_.start(options_.terse, [this] { hear_the_terse(); });
}

void Door::listen_to(Place place) {
  place->watch.reset();  // the loop knows a descriptor once
  place->watch = std::make_unique<FdWatch>(loop_, place->visitor.socket.get());
  place->watch->on_readable([this, place] { talked(place); });
}

void Door::hold(UniqueFd socket, std::string peer) {
  add({std::move(socket), std::move(peer), {}});
}

Door::Place Door::add(Visitor visitor) {
  make_room();
  Guest guest;
  guest.source = source_of(visitor.peer);
  guest.visitor = std::move(visitor);
  guest.until = Clock::now() + options_.patience;
  ++of_source_[guest.source];
  guests_.push_back(std::move(guest));
  if (!timer_.pending()) arm();
  return std::prev(guests_.end());
}

void Door::remove(Place place) {
  const auto count = of_source_.find(place->source);
  if (--count->second == 0) of_source_.erase(count);
  place->watch.reset();
  guests_.erase(place);
}

void Door::make_room() {
  if (guests_.size() < options_.capacity) return;
  const auto busiest = std::max_element(
      of_source_.begin(), of_source_.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  remove(std::find_if(guests_.begin(), guests_.end(), [&](const Guest& guest) {
    return guest.source == busiest->first;
  }));
}

void Door::talked(Place place) {
  std::array<char, kProofSize> bytes{};
  const int socket = place->visitor.socket.get();
  const ssize_t n =
      ::recv(socket, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  place->watch.reset();
  Visitor visitor = std::move(place->visitor);
  remove(place);
  if (n <= 0) return;
  const std::string_view said(bytes.data(), static_cast<size_t>(n));
  if (looks_like_proof(said)) {
    visitor.proven = is_proof(said, events_.secret(), visitor.nonce);
    (void)::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  }
  wake_at(visitor.socket, 1);
  events_.on_talking(std::move(visitor));
}

// A client may send its version line and wait for our key exchange packet. It
// gets a process when there are plenty; in a flood it is one of many like it.
void Door::hear_the_terse() {
  const auto limit = Clock::now() + options_.patience - options_.terse;
  int left = events_.quiet() ? kTerseAtOnce : 0;
  auto guest = guests_.begin();
  for (; guest != guests_.end(); ++guest) {
    if (guest->watch == nullptr || guest->heard) continue;
    if (guest->until > limit || left-- <= 0) break;
    guest->heard = true;
    wake_at(guest->visitor.socket, 1);
    listen_to(guest);  // anew: it may have sent it already
  }
  if (guest == guests_.end()) return;
  terse_timer_.start(options_.terse, [this] { hear_the_terse(); });
}

void Door::arm() {
  if (guests_.empty()) return;
  const auto left = std::chrono::duration_cast<Milliseconds>(
      guests_.front().until - Clock::now());
  timer_.start(std::max(left, kOutPause), [this] { show_out(); });
}

void Door::show_out() {
  const auto now = Clock::now();
  for (int i = 0; i < kOutAtOnce && !guests_.empty(); ++i) {
    if (guests_.front().until > now) break;
    remove(guests_.begin());
  }
  arm();
}

}  // namespace muster
