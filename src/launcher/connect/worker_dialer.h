// SPDX-License-Identifier: Apache-2.0
// WorkerDialer: keeps trying until the agent of one worker has answered hello.
// Each retry starts from the name again, because addresses change when a pod
// is restarted; a worker that was ready and vanished is dialled again too.
// After commit() it only passes on what the link says: a lost agent is not
// dialled again then, its ranks are gone; resume() is for one that had none.
// Refuses to go on against an error that waiting cannot heal (see
// is_permanent).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "launcher/connect/agent_link.h"
#include "launcher/connect/retry_delay.h"
#include "launcher/connect/transport.h"

namespace muster {

struct DialerEvents {
  std::function<void(const wire::HelloReply&)> on_ready;
  std::function<void(const wire::Frame&)> on_frame;
  std::function<void()> on_drained;         // as in TransportEvents
  std::function<void(Error)> on_lost;       // after commit()
  std::function<void(Error)> on_permanent;  // before: no use to wait
};

class WorkerDialer {
 public:
  using MakeTransport = std::function<std::unique_ptr<Transport>()>;

  // `workers`: so many are dialled beside each other.
  WorkerDialer(Loop& loop, wire::Hello hello, MakeTransport make_transport,
               DialerEvents events, std::vector<wire::Frame> questions = {},
               size_t workers = 1);

  void start();
  // From here on a lost agent is final (DialerEvents::on_lost).
  void commit() { committed_ = true; }
  [[nodiscard]] bool committed() const { return committed_; }
  // Takes commit() back, and dials again if the agent is lost.
  void resume();
  // As commit(), and who is not ready yet never will be.
  void stop_trying();
  // Before commit(): this agent is not the one that was asked for; try again.
  void reject(Error error) { closed(std::move(error)); }

  [[nodiscard]] const std::string& host() const { return hello_.host; }
  [[nodiscard]] bool ready() const { return link_ && link_->ready(); }
  AgentLink* link() { return ready() ? link_.get() : nullptr; }
  [[nodiscard]] const AgentLink* link() const {
    return ready() ? link_.get() : nullptr;
  }
  // Where the current or last attempt is.
  [[nodiscard]] const std::string& step() const { return step_; }
  // Why the last attempt that ended did so, and at which step; empty before.
  [[nodiscard]] const Error& last_error() const { return last_error_; }
  [[nodiscard]] const std::string& failed_step() const { return failed_step_; }
  [[nodiscard]] int attempts() const { return attempts_; }
  // From start() to hello; 0 while not ready.
  [[nodiscard]] Milliseconds connect_time() const { return connect_time_; }

 private:
  void attempt();
  void retry_later();
  void closed(Error error);

  Loop& loop_;
  wire::Hello hello_;
  MakeTransport make_transport_;
  DialerEvents events_;
  std::vector<wire::Frame> questions_;  // for each attempt's hello
  std::unique_ptr<AgentLink> link_;
  std::string step_ = "resolve";
  Error last_error_;
  std::string failed_step_;
  std::string permanent_code_;
  Clock::time_point permanent_since_;
  int attempts_ = 0;
  bool committed_ = false;
  Clock::time_point started_;
  Milliseconds connect_time_{0};
  RetryDelay delay_;
  Timer retry_;
};

// Errors that waiting hardly heals: after `kPermanentAfter` of nothing else
// the launch is stopped instead of waiting out the connect deadline.
bool is_permanent(const std::string& code);

// The likely outside cause of a worker stuck with this error, for people, and
// the command that shows what only the API server knows of its pod. Empty: the
// message says all.
// `own`: the launcher's namespace; may be empty.
std::string likely_cause(const Error& error, std::string_view host,
                         std::string_view own);

}  // namespace muster
