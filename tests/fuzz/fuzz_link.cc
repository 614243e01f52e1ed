// SPDX-License-Identifier: Apache-2.0
// What a connection child under a stranger's control may send to pid 1: what
// is accepted means the same after encoding it again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sshd-lite/exec_policy.h"
#include "sshd-lite/link.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto request = muster::decode_request(bytes)) {
    if (const auto* exec = std::get_if<muster::ExecRequest>(&*request)) {
      for (const auto& [name, value] : exec->env) {
        if (!muster::env_allowed(name, value)) std::abort();
      }
    }
    const std::string again = muster::encode(*request);
    const auto second = muster::decode_request(again);
    if (!second || muster::encode(*second) != again) std::abort();
  }
  if (const auto reply = muster::decode_reply(bytes)) {
    if (!muster::decode_reply(muster::encode(*reply))) std::abort();
  }
  return 0;
}
