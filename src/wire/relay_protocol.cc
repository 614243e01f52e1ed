// SPDX-License-Identifier: Apache-2.0
#include "wire/relay_protocol.h"

#include "job/json_fields.h"

namespace muster::wire {

namespace {

template <class Visitor, class Request>
void visit(Visitor& visitor, Request& request) {
  visitor.required("host", request.host);
  visitor.required("command", request.command);
  visitor.field("stdin_open", request.stdin_open);
}

}  // namespace

std::string to_json(const RelayRequest& request) {
  JsonWriter writer;
  visit(writer, request);
  return writer.text();
}

Result<RelayRequest> relay_request_from_json(std::string_view text) {
  JsonReader reader(text, "message RelayRequest");
  RelayRequest request;
  visit(reader, request);
  if (auto status = reader.status(); !status) {
    return tl::unexpected(status.error());
  }
  return request;
}

}  // namespace muster::wire
