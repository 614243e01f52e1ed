// SPDX-License-Identifier: Apache-2.0
// Any bytes as each control message; what decodes must encode to a fixed
// point. The first byte picks the message.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "job/node_facts.h"
#include "wire/messages.h"

namespace {

using namespace muster::wire;

template <class Message>
void check(std::string_view text) {
  const auto message = from_json<Message>(text);
  if (!message) return;
  const std::string once = to_json(*message);
  const auto again = from_json<Message>(once);
  if (!again || to_json(*again) != once) std::abort();
}

void check_facts(std::string_view text) {
  const auto facts = muster::node_facts_from_json(text);
  if (!facts) return;
  const std::string once = muster::to_json(*facts);
  const auto again = muster::node_facts_from_json(once);
  if (!again || muster::to_json(*again) != once) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1),
                              size - 1);
  constexpr void (*kChecks[])(std::string_view) = {
      check<Hello>,        check<HelloReply>,    check<Refused>,
      check<ProbeRequest>, check<ProbeReply>,    check<StartRequest>,
      check<Started>,      check<StartFailed>,   check<Attached>,
      check<Exited>,       check<SignalRequest>, check<StopRequest>,
      check<HealthSample>, check<LogLine>,       check<ByeMessage>,
      check_facts};
  kChecks[data[0] % std::size(kChecks)](text);
  return 0;
}
