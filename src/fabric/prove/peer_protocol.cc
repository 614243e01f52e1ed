// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/peer_protocol.h"

#include "job/json_fields.h"

namespace muster {

namespace {

template <class Json, class Order>
void visit_order(Json& json, Order& order) {
  json.required("order", order.order);
  json.field("port", order.port);
  json.field("names", order.names);
  json.field("peer", order.peer);
  json.field("bulk", order.bulk);
  json.field("megabytes", order.megabytes);
  json.field("timeout_ms", order.timeout_ms);
  json.field("rdma", order.rdma);
  json.field("measure_rdma", order.measure_rdma);
}

template <class Json, class Rail>
void visit_rail(Json& json, Rail& rail) {
  json.field("rail", rail.rail);
  json.field("peer_rail", rail.peer_rail);
  json.field("across", rail.across);
  json.field("code", rail.code);
  json.shown("text", rail.text);
  json.field("latency_us", rail.latency_us);
  json.field("to_gbps", rail.to_gbps);
  json.field("from_gbps", rail.from_gbps);
  json.field("port_gbps", rail.port_gbps);
}

template <class Json, class Answer>
void visit_answer(Json& json, Answer& answer) {
  json.required("code", answer.code);
  json.shown("text", answer.text);
  json.field("port", answer.port);
  json.field("facts", answer.facts);
  json.shown("unresolved", answer.unresolved);
  json.objects("grown", answer.grown, [](auto& inner, auto& counter) {
    inner.field("name", counter.name);
    inner.field("growth", counter.growth);
  });
  auto& result = answer.result;
  json.field("latency_us", result.latency_us);
  json.field("latency_p99_us", result.latency_p99_us);
  json.field("to_gbps", result.to_gbps);
  json.field("from_gbps", result.from_gbps);
  json.field("back_ok", result.back_ok);
  json.objects("rails", result.rails,
               [](auto& inner, auto& rail) { visit_rail(inner, rail); });
}

}  // namespace

std::string to_json(const PeerOrder& order) {
  JsonWriter out;
  visit_order(out, order);
  return out.text();
}

std::string to_json(const PeerAnswer& answer) {
  JsonWriter out;
  visit_answer(out, answer);
  return out.text();
}

Result<PeerOrder> peer_order_from_json(std::string_view text) {
  JsonReader in(text, "an order to a fabric peer");
  PeerOrder order;
  visit_order(in, order);
  if (Status status = in.status(); !status) return fail(status.error());
  return order;
}

Result<PeerAnswer> peer_answer_from_json(std::string_view text) {
  JsonReader in(text, "a fabric peer's answer");
  PeerAnswer answer;
  visit_answer(in, answer);
  if (Status status = in.status(); !status) return fail(status.error());
  return answer;
}

}  // namespace muster
