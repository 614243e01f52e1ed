// SPDX-License-Identifier: Apache-2.0
// Drives a real muster-agent as a child over a socketpair, as a launcher would.
// Every wait has a deadline; on expiry the caller gets nothing and its REQUIRE
// fails. Gives output credit back by itself unless told not to.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace muster::test {

std::string agent_binary();
// Unique for this process and call; fit for launch ids and file names.
std::string unique_name(const std::string& prefix);

struct ProcessLog {
  std::string out;
  std::string err;
  std::vector<std::string> out_pieces;  // one for each frame
  std::vector<uint8_t> out_flags;
  bool out_ended = false;
  bool err_ended = false;
  bool ended_before_exit = false;  // both kEnd had come when kExited came
  std::optional<wire::Exited> exited;
  std::optional<wire::Started> started;
  std::optional<wire::StartFailed> failed;
  std::optional<wire::Attached> attached;
  uint32_t stdin_credit = 0;
};

class AgentHarness {
 public:
  explicit AgentHarness(Environment extra_env = {});
  ~AgentHarness();

  void send(wire::FrameType type, uint32_t id, const std::string& payload,
            uint8_t flags = 0);
  void send_raw(const std::string& bytes);
  // Handles frames until `done` says so; false after `seconds`.
  bool run_until(const std::function<bool()>& done, double seconds = 60);
  // hello with defaults that tests may change before; waits for the reply.
  bool say_hello(double seconds = 60);
  bool start(uint32_t id, const std::string& script);
  bool start(uint32_t id, const wire::StartRequest& request);
  bool wait_exit(uint32_t id, double seconds = 60);
  void hang_up() { socket_.reset(); }
  // The agent's exit code, 128+N for a signal; -1 if it does not leave.
  int wait_agent(double seconds = 60);
  [[nodiscard]] pid_t pid() const { return pid_; }

  wire::Hello hello;
  bool give_credit = true;
  bool answer_heartbeats = true;
  std::map<uint32_t, ProcessLog> processes;
  std::map<wire::FrameType, std::vector<wire::Frame>> frames;

 private:
  void handle(const wire::Frame& frame);
  void handle_output(const wire::Frame& frame);

  UniqueFd socket_;
  pid_t pid_ = 0;
  wire::FrameReader reader_;
};

// Polls until `condition` or `seconds` have passed.
bool eventually(const std::function<bool()>& condition, double seconds = 60);

}  // namespace muster::test
