// SPDX-License-Identifier: Apache-2.0
// ProcessTransport: the agent behind a child process: muster-agent itself
// (--local, and the launcher pod's own ranks) or any command that carries its
// stdio (--transport exec:…, for example kubectl exec). Clears what a killed
// child leaves: processes with its environment, and an agent's files. At the
// end it kills a silent agent, which may be stopped and deaf to orders.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "base/reaper.h"
#include "base/spawn.h"
#include "launcher/connect/transport.h"

namespace muster {

class ProcessTransport : public Transport {
 public:
  // An agent leaves by itself when its input ends, once its ranks have ended. A
  // carrier only leads to an agent and may hang, as kubectl does while its API
  // server does not answer: the transport ends it.
  enum class Child { kAgent, kCarrier };

  ProcessTransport(Loop& loop, Reaper& reaper, std::string host, Child child,
                   std::vector<std::string> argv, Environment env);
  ~ProcessTransport() override;

  void start(TransportEvents events) override;
  void send(std::string_view bytes) override;
  void agent_is_silent() override;
  [[nodiscard]] size_t queued() const override { return out_.size(); }

 private:
  void read_some(int fd, bool is_stderr);
  void write_some();
  void tell_end();
  void close(Error error);

  Loop& loop_;
  Reaper& reaper_;
  std::string host_;
  Child child_;
  std::string tag_;  // in the environment of all that the child starts
  bool silent_ = false;
  std::vector<std::string> argv_;
  Environment env_;
  TransportEvents events_;
  // Until the child is reaped, perhaps after our own end, or ended by us.
  std::shared_ptr<pid_t> pid_ = std::make_shared<pid_t>(0);
  UniqueFd stdin_;
  UniqueFd stdout_;
  UniqueFd stderr_;
  std::unique_ptr<FdWatch> stdin_watch_;
  std::unique_ptr<FdWatch> stdout_watch_;
  std::unique_ptr<FdWatch> stderr_watch_;
  std::string out_;
  bool above_ = false;   // out_ was, of kQueueMark
  bool at_end_ = false;  // of its output
  std::optional<int> wait_status_;
  Timer exit_follows_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster
