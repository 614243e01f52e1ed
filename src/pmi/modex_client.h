// SPDX-License-Identifier: Apache-2.0
// ModexClient: a node's side of all traffic through the launcher: fences, gets
// of another node's data, published names, states and events of ranks. The
// launcher answers every call and keeps the time; without it the ranks end.
// Refuses: replies that match no request, more data than announced. Pure over a
// function that sends frames; the agent's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pmi/pieces.h"
#include "wire/modex_messages.h"

namespace muster {

class ModexClient {
 public:
  using Send = std::function<void(wire::FrameType type, uint8_t flags,
                                  uint32_t id, std::string_view payload)>;
  using Data = std::function<void(Result<std::string>)>;
  using Names = std::function<void(wire::NamesReply)>;
  // Another node wants the data of `rank`, one of ours.
  using ServeGet = std::function<void(int rank, Data answer)>;

  explicit ModexClient(Send send) : send_(std::move(send)) {}
  void set_serve_get(ServeGet serve) { serve_get_ = std::move(serve); }
  // A rank of another node has an event for ranks of ours.
  using OnEvent = std::function<void(std::string_view event)>;
  void set_on_event(OnEvent handler) { on_event_ = std::move(handler); }

  // All local participants are there. `participants`: pmi/participants.h.
  void fence(const std::string& participants, std::string_view data, Data done);
  void get(int rank, Data done);
  void names(const wire::NamesRequest& request, Names done);
  void tell(const wire::RankState& state);
  // To the agents of all other nodes. The only promise: events of one node
  // arrive in order. At most kModexPiece bytes.
  void spread(std::string_view event);

  // True if the frame was a modex frame.
  bool frame(const wire::Frame& frame);

 private:
  struct Call {
    Data done;
    PieceCollector pieces{0};
  };

  void send_data(uint32_t id, std::string_view data);
  void replied(const wire::Frame& frame);
  void piece(const wire::Frame& frame);
  void finish(uint32_t id, Result<std::string> result);
  void serve(const wire::Frame& frame);

  Send send_;
  ServeGet serve_get_;
  OnEvent on_event_;
  uint32_t next_id_ = 1;
  std::map<std::string, uint32_t> sequences_;
  std::map<uint32_t, Call> calls_;
  std::map<uint32_t, Names> names_;
};

}  // namespace muster
