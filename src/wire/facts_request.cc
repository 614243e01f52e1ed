// SPDX-License-Identifier: Apache-2.0
#include "wire/facts_request.h"

#include "base/is.h"
#include "job/json_fields.h"

namespace muster::wire {

namespace {

template <class Visitor>
void visit(Visitor& visitor, Is<FactsProgram> auto& program) {
  visitor.field("argv", program.argv);
  visitor.field("cwd", program.cwd);
  visitor.field("env", program.env);
}

template <class Visitor>
void visit(Visitor& visitor, Is<FactsRequest> auto& request) {
  visitor.field("mpirun", request.mpirun);
  visit(visitor, request.first);
  visitor.field("drivers", request.drivers);
  visitor.objects("more", request.more,
                  [](auto& inner, auto& program) { visit(inner, program); });
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
