// SPDX-License-Identifier: Apache-2.0
// InputPipe: the stdin of one process. Takes the launcher's bytes within their
// credit, writes without blocking, closes at EOF. A process that does not read
// never holds up the agent. Refuses: more than the credit. Owns the descriptor.
// Loop thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/loop.h"
#include "worker/base/agent_channel.h"

namespace muster {

class InputPipe {
 public:
  static constexpr uint32_t kWindow = 256 * 1024;  // bytes in flight at most

  // Grants the whole window at once.
  InputPipe(Loop& loop, SendFrame send, uint32_t id, UniqueFd pipe);

  // false: the launcher sent more than it had credit for.
  [[nodiscard]] bool write(std::string_view bytes);
  // Closes the pipe when everything before it is written.
  void end();

 private:
  void write_some();
  void grant(size_t bytes);

  SendFrame send_;
  uint32_t id_;
  UniqueFd pipe_;
  std::string queue_;
  bool ending_ = false;
  bool waiting_ = false;
  std::optional<FdWatch> watch_;
};

}  // namespace muster
