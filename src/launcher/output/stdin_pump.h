// SPDX-License-Identifier: Apache-2.0
// StdinPump: passes the launcher's standard input to its targets, no faster
// than the slowest takes it. Reads only while every target has credit, and from
// a terminal only in its foreground. Lives on the launcher's loop; borrows
// stdin.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/loop.h"
#include "launcher/model/process_key.h"

namespace muster {

class StdinPump {
 public:
  using Send = std::function<void(ProcessKey, std::string_view)>;
  using SendEof = std::function<void(ProcessKey)>;

  StdinPump(Loop& loop, int fd, Send send, SendEof send_eof);

  void add_target(ProcessKey key);
  void remove_target(ProcessKey key);
  void credit(ProcessKey key, uint32_t bytes);

 private:
  void update();
  void read_some();

  Loop& loop_;
  int fd_;
  Send send_;
  SendEof send_eof_;
  std::map<ProcessKey, uint32_t> credit_;
  std::unique_ptr<FdWatch> watch_;
  Timer foreground_;
  bool reading_ = false;
  bool ended_ = false;
};

}  // namespace muster
