// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/nccl_meeting.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "fabric/prove/pair_test.h"
#include "fabric/prove/pair_wire.h"
#include "job/json_fields.h"

namespace muster {

namespace {

constexpr useconds_t kAgainUs = 100'000;

struct Hello {
  int rank = -1;
  std::string host;
};

struct Card {
  int nodes = 0;
  int rank = -1;  // -1: looks on
  int ranks = 0;
  std::string id;  // bytes
};

template <class Json, class Value>
void visit_hello(Json& json, Value& hello) {
  json.required("rank", hello.rank);
  json.required("host", hello.host);
}

template <class Json, class Value>
void visit_card(Json& json, Value& card) {
  json.required("nodes", card.nodes);
  json.field("rank", card.rank);
  json.field("ranks", card.ranks);
  json.field("id", card.id);
}

Result<std::string> hear(int fd, Deadline deadline) {
  const auto message = receive_message(fd, deadline);
  if (!message) return fail(message.error());
  return receive_json(fd, message->number, deadline);
}

tl::unexpected<Error> stranger() {
  return fail({"peer_lost",
               "the ranks of fabric nccl do not meet",
               "a process that is not a rank connected to rank 0",
               {},
               {}});
}

// Rank 0 may not listen yet.
Result<UniqueFd> connect_patiently(const RankAtMeeting& place,
                                   Deadline deadline) {
  for (;;) {
    auto fd = connect_tcp(place.master_host, place.master_port, deadline);
    if (fd || left_ms(deadline) == 0) return fd;
    ::usleep(kAgainUs);
  }
}

}  // namespace

Result<NcclMeeting> NcclMeeting::meet(const RankAtMeeting& place,
                                      Deadline deadline) {
  NcclMeeting out;
  if (place.ranks < 2) {
    out.peers_.resize(1);
    out.node_of_ = {0};
    return out;
  }
  if (place.rank != 0) {
    auto fd = connect_patiently(place, deadline);
    if (!fd) return fail(fd.error());
    JsonWriter hello;
    const Hello mine{place.rank, place.host};
    visit_hello(hello, mine);
    if (Status s = send_json(fd->get(), hello.text(), deadline); !s) {
      return fail(s.error());
    }
    out.peers_.push_back(std::move(*fd));
    return out;
  }
  int port = 0;
  const auto listener = listen_tcp(place.master_port, port);
  if (!listener) return fail(listener.error());
  const UniqueFd owner(*listener);
  const auto ranks = static_cast<size_t>(place.ranks);
  std::map<std::string, int> nodes{{place.host, 0}};
  std::vector<std::string> hosts(ranks);
  hosts[0] = place.host;
  out.peers_.resize(ranks);
  out.node_of_.resize(ranks);
  for (size_t i = 1; i < ranks; ++i) {
    auto fd = accept_tcp(*listener, deadline);
    if (!fd) return fail(fd.error());
    const auto text = hear(fd->get(), deadline);
    if (!text) return fail(text.error());
    JsonReader in(*text, "a rank's hello");
    Hello hello;
    visit_hello(in, hello);
    const auto rank = static_cast<size_t>(hello.rank);
    if (!in.status() || hello.rank < 1 || rank >= ranks || out.peers_[rank]) {
      return stranger();
    }
    hosts[rank] = hello.host;
    out.peers_[rank] = std::move(*fd);
  }
  // Nodes are counted in the order of their ranks.
  for (size_t rank = 0; rank < ranks; ++rank) {
    const int next = static_cast<int>(nodes.size());
    out.node_of_[rank] = nodes.emplace(hosts[rank], next).first->second;
  }
  return out;
}

std::vector<int> NcclMeeting::ranks_on(int nodes) const {
  std::vector<int> out;
  for (size_t rank = 0; rank < node_of_.size(); ++rank) {
    if (node_of_[rank] < nodes) out.push_back(static_cast<int>(rank));
  }
  return out;
}

std::vector<int> NcclMeeting::steps() const {
  const int all = 1 + *std::max_element(node_of_.begin(), node_of_.end());
  std::vector<int> out;
  for (int nodes = 1; nodes < all; nodes *= 2) {
    if (ranks_on(nodes).size() > 1) out.push_back(nodes);
  }
  out.push_back(all);
  return out;
}

Result<NcclDeal> NcclMeeting::deal(int nodes, const NcclId& id,
                                   Deadline deadline) {
  const std::vector<int> seated = ranks_on(nodes);
  Card card;
  card.nodes = nodes;
  card.ranks = static_cast<int>(seated.size());
  card.id.assign(id.bytes, sizeof id.bytes);
  for (size_t rank = 1; rank < peers_.size(); ++rank) {
    const auto seat =
        std::find(seated.begin(), seated.end(), static_cast<int>(rank));
    card.rank = seat == seated.end()
                    ? -1
                    : static_cast<int>(std::distance(seated.begin(), seat));
    JsonWriter out;
    visit_card(out, card);
    if (Status s = send_json(peers_[rank].get(), out.text(), deadline); !s) {
      return fail(s.error());
    }
  }
  if (nodes == 0) return NcclDeal{};
  return NcclDeal{nodes, NcclSeat{id, 0, card.ranks}};
}

Result<NcclDeal> NcclMeeting::receive(Deadline deadline) {
  const auto text = hear(peers_[0].get(), deadline);
  if (!text) return fail(text.error());
  JsonReader in(*text, "a seat for fabric nccl");
  Card card;
  visit_card(in, card);
  if (Status s = in.status(); !s) return fail(s.error());
  NcclDeal out{card.nodes, std::nullopt};
  if (card.nodes == 0 || card.rank < 0) return out;
  NcclSeat seat{{}, card.rank, card.ranks};
  if (card.id.size() != sizeof seat.id.bytes) return stranger();
  std::memcpy(seat.id.bytes, card.id.data(), sizeof seat.id.bytes);
  out.seat = seat;
  return out;
}

}  // namespace muster
