// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/door.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace muster {

namespace {

// Guests that came together do not leave together: a flood would come back as
// one wave.
constexpr int kOutAtOnce = 8;
constexpr Milliseconds kOutPause{50};

}  // namespace

std::string source_of(const std::string& peer) {
  return peer.substr(0, peer.rfind(':'));
}

Door::Door(Loop& loop, DoorOptions options, Talking on_talking)
    : loop_(loop),
      options_(options),
      on_talking_(std::move(on_talking)),
      timer_(loop) {}

void Door::admit(UniqueFd socket, std::string peer) {
  // An empty send buffer takes 22 bytes; a peer that is gone shows below.
  (void)::send(socket.get(), kServerVersionLine,
               std::strlen(kServerVersionLine), MSG_DONTWAIT | MSG_NOSIGNAL);
  const Place place = add(std::move(socket), std::move(peer));
  place->watch = std::make_unique<FdWatch>(loop_, place->socket.get());
  place->watch->on_readable([this, place] { talked(place); });
}

void Door::hold(UniqueFd socket, std::string peer) {
  add(std::move(socket), std::move(peer));
}

Door::Place Door::add(UniqueFd socket, std::string peer) {
  make_room();
  Guest guest;
  guest.socket = std::move(socket);
  guest.source = source_of(peer);
  guest.peer = std::move(peer);
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
  char byte;
  const ssize_t n =
      ::recv(place->socket.get(), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  place->watch.reset();
  UniqueFd socket = std::move(place->socket);
  std::string peer = std::move(place->peer);
  remove(place);
  if (n > 0) on_talking_(std::move(socket), std::move(peer));
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
