// SPDX-License-Identifier: Apache-2.0
#include "pmi/modex_client.h"

#include <utility>

namespace muster {

namespace {

Error defect(std::string why) {
  return Error{"protocol",
               "data of other ranks did not arrive",
               std::move(why),
               {},
               "this is a defect of muster; report it"};
}

}  // namespace

void ModexClient::fence(const std::string& participants, std::string_view data,
                        Data done) {
  const uint32_t id = next_id_++;
  calls_[id].done = std::move(done);
  send_(wire::FrameType::kFence, 0, id,
        wire::to_json(wire::FenceCall{participants, sequences_[participants]++,
                                      data.size()}));
  send_data(id, data);
}

void ModexClient::get(int rank, Data done) {
  const uint32_t id = next_id_++;
  calls_[id].done = std::move(done);
  send_(wire::FrameType::kModexGet, 0, id, wire::to_json(wire::ModexGet{rank}));
}

void ModexClient::names(const wire::NamesRequest& request, Names done) {
  const std::string payload = wire::to_json(request);
  // Too large for a frame; without an answer its rank would wait for ever.
  if (payload.size() > wire::kMaxPayload) {
    return done(wire::NamesReply{"full", {}, {}, {}});
  }
  const uint32_t id = next_id_++;
  names_[id] = std::move(done);
  send_(wire::FrameType::kNames, 0, id, payload);
}

void ModexClient::tell(const wire::RankState& state) {
  send_(wire::FrameType::kRankState, 0, 0, wire::to_json(state));
}

void ModexClient::spread(std::string_view event) {
  send_(wire::FrameType::kRankEvent, 0, 0, event);
}

void ModexClient::send_data(uint32_t id, std::string_view data) {
  for_each_piece(data, [&](std::string_view piece) {
    send_(wire::FrameType::kModexData, 0, id, piece);
  });
}

bool ModexClient::frame(const wire::Frame& frame) {
  if (frame.type == wire::FrameType::kRankEvent) {
    if (on_event_) on_event_(frame.payload);
    return true;
  }
  switch (frame.type) {
    case wire::FrameType::kModexReply:
      replied(frame);
      return true;
    case wire::FrameType::kModexData:
      piece(frame);
      return true;
    case wire::FrameType::kModexGet:
      serve(frame);
      return true;
    case wire::FrameType::kNamesReply: {
      auto found = names_.extract(frame.id);
      if (found.empty()) return true;
      auto reply = wire::modex_from_json<wire::NamesReply>(frame.payload);
      found.mapped()(reply ? std::move(*reply)
                           : wire::NamesReply{"protocol", {}, {}, {}});
      return true;
    }
    default:
      return false;
  }
}

void ModexClient::replied(const wire::Frame& frame) {
  const auto call = calls_.find(frame.id);
  if (call == calls_.end()) return;
  const auto reply = wire::modex_from_json<wire::ModexReply>(frame.payload);
  if (!reply) return finish(frame.id, fail(reply.error()));
  if (!reply->error.empty()) {
    return finish(
        frame.id,
        fail(Error{
            "modex", "ranks did not find each other", reply->error, {}, {}}));
  }
  call->second.pieces = PieceCollector(reply->size);
  if (!call->second.pieces.acceptable()) {
    return finish(frame.id, fail(defect("the answer is too large")));
  }
  if (reply->size == 0) finish(frame.id, std::string());
}

void ModexClient::piece(const wire::Frame& frame) {
  const auto call = calls_.find(frame.id);
  if (call == calls_.end()) return;
  if (!call->second.pieces.add(frame.payload)) {
    return finish(frame.id, fail(defect("more came than was announced")));
  }
  if (call->second.pieces.complete()) {
    finish(frame.id, call->second.pieces.take());
  }
}

void ModexClient::finish(uint32_t id, Result<std::string> result) {
  auto call = calls_.extract(id);
  if (!call.empty()) call.mapped().done(std::move(result));
}

void ModexClient::serve(const wire::Frame& frame) {
  const auto request = wire::modex_from_json<wire::ModexGet>(frame.payload);
  const uint32_t id = frame.id;
  auto answer = [this, id](Result<std::string> data) {
    wire::ModexReply reply;
    if (!data) reply.error = data.error().text();
    if (data) reply.size = data->size();
    send_(wire::FrameType::kModexReply, 0, id, wire::to_json(reply));
    if (data) send_data(id, *data);
  };
  if (!request) return answer(fail(request.error()));
  if (!serve_get_) return answer(fail(defect("no PMIx server runs here")));
  serve_get_(request->rank, std::move(answer));
}

}  // namespace muster
