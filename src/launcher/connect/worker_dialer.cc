// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/worker_dialer.h"

#include <algorithm>
#include <bit>
#include <random>

#include "base/log.h"
#include "base/no_descriptors.h"
#include "base/random.h"
#include "job/kubectl.h"

namespace muster {

namespace {

// A stale DNS record may point at another job's pod for some seconds, and a
// Secret may be swapped: permanent-looking errors get this long.
constexpr std::chrono::seconds kPermanentAfter{20};

double chance() {
  thread_local std::minstd_rand random{
      static_cast<std::minstd_rand::result_type>(random_bits())};
  return std::uniform_real_distribution<double>(0, 1)(random);
}

}  // namespace

bool is_permanent(const std::string& code) {
  static const std::vector<std::string> kCodes = {
      "ssh_auth",     "ssh_hostkey",      "ssh_kex",       "ssh_exec",
      "ssh_foreign",  "version_mismatch", "agent_refused", "no_writable_dir",
      "protocol",     kNoDescriptors,     "exe_not_found", "exe_not_runnable",
      "agent_missing"};
  return std::find(kCodes.begin(), kCodes.end(), code) != kCodes.end();
}

std::string likely_cause(const Error& error, std::string_view host,
                         std::string_view own) {
  if (error.code == "dns_unresolved") {
    return "its pod is not scheduled, its image is not pulled, it has failed, "
           "or it is not Ready; only the API server knows which: `" +
           list_pods(namespace_of(host, own)) + "`, `" +
           describe_pod(host, own) + "`";
  }
  if (error.code == "dns_failure") {
    return "the cluster's DNS does not answer: `kubectl get pods -n "
           "kube-system -l k8s-app=kube-dns` shows whether it runs; or a "
           "NetworkPolicy blocks port 53";
  }
  if (error.code == "tcp_refused") {
    return "the container runs but its worker does not listen yet, or it has "
           "ended; its command must start `muster worker` or "
           "/usr/sbin/sshd: `" +
           describe_pod(host, own) + "`";
  }
  if (error.code == "tcp_unreachable" && !error.hint.empty()) return error.hint;
  if (error.code == "tcp_filtered" || error.code == "tcp_unreachable") {
    return "a NetworkPolicy or firewall drops the traffic: allow TCP on this "
           "port between the pods of the job";
  }
  if (error.code == "ssh_banner") {
    return "a service-mesh sidecar swallows the connection: annotate the pods "
           "with sidecar.istio.io/inject: \"false\"";
  }
  if (error.code == "ssh_closed") {
    return "the worker closed at once: a mesh sidecar that is not ready, or an "
           "sshd that cannot start: `" +
           logs_of_pod(host, own) + "`";
  }
  if (error.code == "ssh_foreign") {
    return "something else listens on this port: with hostNetwork choose "
           "another port";
  }
  if (error.code == "ssh_hostkey") {
    return "another sshd answers there (the node's own, or a pod of another "
           "job behind a stale address)";
  }
  if (error.code == "stale_address") {
    return "the pod was restarted and DNS still has its old address";
  }
  if (error.code == "ssh_auth") {
    return "the worker does not hold this job's key: was the Secret replaced "
           "after the worker started?";
  }
  if (error.code == "ssh_exec" || error.code == "agent_exited" ||
      error.code == "agent_missing") {
    return "the worker's image has no working muster-agent: use an image with "
           "muster for the workers too";
  }
  if (error.code == "version_mismatch") {
    return "launcher and worker images hold incompatible muster versions";
  }
  if (error.code == kNoDescriptors) {
    return "each connection needs some; many workers need a higher limit";
  }
  return {};
}

WorkerDialer::WorkerDialer(Loop& loop, wire::Hello hello,
                           MakeTransport make_transport, DialerEvents events,
                           std::vector<wire::Frame> questions, size_t workers)
    : loop_(loop),
      hello_(std::move(hello)),
      make_transport_(std::move(make_transport)),
      events_(std::move(events)),
      questions_(std::move(questions)),
      delay_(workers),
      retry_(loop) {}

void WorkerDialer::start() {
  started_ = Clock::now();
  attempt();
}

void WorkerDialer::resume() {
  committed_ = false;
  if (!link_) retry_later();
}

void WorkerDialer::retry_later() {
  retry_.start(delay_.after(last_error_.code, Clock::now(), chance()),
               [this] { attempt(); });
}

void WorkerDialer::stop_trying() {
  retry_.cancel();
  committed_ = true;
  if (!ready()) link_.reset();
}

void WorkerDialer::attempt() {
  ++attempts_;
  AgentLinkEvents events;
  events.on_step = [this](std::string_view step) { step_ = step; };
  events.on_ready = [this](const wire::HelloReply& reply) {
    connect_time_ =
        std::chrono::duration_cast<Milliseconds>(Clock::now() - started_);
    step_ = "ready";
    events_.on_ready(reply);
  };
  events.on_frame = events_.on_frame;
  events.on_drained = events_.on_drained;
  events.on_closed = [this](Error error) { closed(std::move(error)); };
  link_ = std::make_unique<AgentLink>(loop_, make_transport_(), hello_,
                                      std::move(events), questions_);
  link_->start();
}

void WorkerDialer::closed(Error error) {
  const bool was_ready = ready();
  // The link is on the stack above us: let it unwind before it goes.
  loop_.post([link = std::shared_ptr<AgentLink>(std::move(link_))] {});
  last_error_ = std::move(error);
  failed_step_ = step_;
  if (was_ready && committed_) {
    events_.on_lost(last_error_);
    return;
  }
  if (!is_permanent(last_error_.code)) {
    permanent_code_.clear();
  } else if (permanent_code_ != last_error_.code) {
    permanent_code_ = last_error_.code;
    permanent_since_ = Clock::now();
  } else if (Clock::now() - permanent_since_ > kPermanentAfter) {
    events_.on_permanent(last_error_);
    return;
  }
  // Of this pod, where nothing will come that is not there now: the command of
  // --transport.
  const bool carrier = last_error_.code == "exe_not_found" ||
                       last_error_.code == "exe_not_runnable";
  if (carrier || last_error_.code == "version_mismatch" ||
      last_error_.code == kNoDescriptors) {
    events_.on_permanent(last_error_);
    return;
  }
  retry_later();
  // Many a second end alike.
  if (std::has_single_bit(static_cast<unsigned>(delay_.in_a_row()))) {
    log::debug("{}: attempt {} ended at step {}: {}", hello_.host, attempts_,
               step_, last_error_.text());
  }
}

}  // namespace muster
