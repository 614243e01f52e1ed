// SPDX-License-Identifier: Apache-2.0
#include "wire/facts_request.h"

#include "job/json_fields.h"

namespace muster::wire {

namespace {

template <class Visitor, class Request>
void visit(Visitor& visitor, Request& request) {
  visitor.field("mpirun", request.mpirun);
  visitor.field("argv", request.argv);
  visitor.field("cwd", request.cwd);
  visitor.field("env", request.env);
}

}  // namespace

std::string to_json(const FactsRequest& request) {
  JsonWriter writer;
  visit(writer, request);
  return writer.text();
}

Result<FactsRequest> facts_request_from_json(std::string_view text) {
  FactsRequest request;
  if (text.empty()) return request;
  JsonReader reader(text, "message FactsRequest");
  visit(reader, request);
  if (auto status = reader.status(); !status) {
    return tl::unexpected(status.error());
  }
  return request;
}

}  // namespace muster::wire
