// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/fleet.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "job/hostfile.h"
#include "job/kubectl.h"

namespace muster {

namespace {
constexpr Milliseconds kLook{1'000};
// By then pods that come up with the others are in DNS, too.
constexpr Milliseconds kInDns{10'000};
constexpr size_t kFewNames = 3;

// The first attempt has not even failed yet.
Error no_answer(const std::string& host, const std::string& step) {
  const char* code = step == "resolve" ? "dns_failure"
                     : step == "tcp"   ? "tcp_filtered"
                     : step == "agent" ? "agent_silent"
                                       : "ssh_banner";
  return Error{code, "no answer yet (step " + step + ")", {}, host, {}};
}
}  // namespace

Fleet::Fleet(Loop& loop, wire::Hello hello, std::vector<FleetNode> nodes,
             FleetEvents events, const std::vector<wire::Frame>& questions)
    : events_(std::move(events)), deadline_(loop), progress_(loop) {
  const std::string common_job = hello.job;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto node = static_cast<uint16_t>(i);
    hello.node = static_cast<int>(i);
    hello.host = nodes[i].host;
    hello.worker = nodes[i].worker;
    hello.job = nodes[i].job.empty() ? common_job : nodes[i].job;
    DialerEvents dialer_events;
    dialer_events.on_ready = [this, node](const wire::HelloReply& reply) {
      greeted(node, reply);
    };
    dialer_events.on_frame = [this, node](const wire::Frame& frame) {
      this->frame(node, frame);
    };
    dialer_events.on_drained = [this, node] {
      if (drained_) drained_(node);
    };
    dialer_events.on_lost = [this, node](Error error) {
      events_.on_lost(node, std::move(error));
    };
    dialer_events.on_permanent = [this](const Error&) { failed(true); };
    looked_up_.push_back(nodes[i].looked_up);
    workers_ += nodes[i].worker ? 1 : 0;
    own_pod_apart_ = own_pod_apart_ || !nodes[i].worker;
    hostnames_.emplace_back();
    dialers_.push_back(std::make_unique<WorkerDialer>(
        loop, hello, std::move(nodes[i].make_transport),
        std::move(dialer_events), questions, nodes.size()));
  }
  on(wire::FrameType::kLog, [this](uint16_t node, const wire::Frame& frame) {
    log_line(node, frame);
  });
}

void Fleet::start(Milliseconds deadline) {
  wait_for_all(deadline);
  for (auto& dialer : dialers_) dialer->start();
}

void Fleet::reconnect(Milliseconds deadline) {
  wait_for_all(deadline);
  for (auto& dialer : dialers_) dialer->resume();
}

void Fleet::wait_for_all(Milliseconds deadline) {
  connecting_ = true;
  started_ = Clock::now();
  deadline_.start(deadline, [this] { failed(false); });
  pace_.start_again();
  progress_.start(kLook, [this] { report_progress(); });
}

void Fleet::stop_connecting() {
  connecting_ = false;
  deadline_.cancel();
  progress_.cancel();
  for (auto& dialer : dialers_) dialer->stop_trying();
}

void Fleet::send(uint16_t node, wire::FrameType type, uint32_t id,
                 std::string_view payload, uint8_t flags) {
  if (AgentLink* link = dialers_[node]->link()) {
    link->send(type, id, payload, flags);
  }
}

size_t Fleet::queued(uint16_t node) const {
  const AgentLink* link = std::as_const(*dialers_[node]).link();
  return link == nullptr ? 0 : link->queued();
}

void Fleet::send_all(wire::FrameType type, std::string_view payload) {
  for (size_t i = 0; i < dialers_.size(); ++i) {
    send(static_cast<uint16_t>(i), type, 0, payload);
  }
}

size_t Fleet::ready_count() const {
  return static_cast<size_t>(
      std::count_if(dialers_.begin(), dialers_.end(),
                    [](const auto& d) { return d->ready(); }));
}

std::vector<Laggard> Fleet::laggards() const {
  std::vector<Laggard> out;
  for (size_t i = 0; i < dialers_.size(); ++i) {
    const WorkerDialer& dialer = *dialers_[i];
    if (dialer.ready()) continue;
    // Step and reason of one attempt: the next one may have begun since.
    const bool failed = !dialer.last_error().code.empty();
    out.push_back({static_cast<uint16_t>(i), dialer.host(),
                   failed ? dialer.failed_step() : dialer.step(),
                   failed ? dialer.last_error()
                          : no_answer(dialer.host(), dialer.step())});
  }
  return out;
}

// One of them may add others.
void Fleet::frame(uint16_t node, const wire::Frame& frame) {
  for (auto handler = handlers_.lower_bound(frame.type);
       handler != handlers_.end() && handler->first == frame.type; ++handler) {
    handler->second(node, frame);
  }
}

void Fleet::log_line(uint16_t node, const wire::Frame& frame) {
  const auto line = wire::from_json<wire::LogLine>(frame.payload);
  if (!line) return;
  const bool warns = line->level == "error" || line->level == "warn";
  log::write(warns ? log::Level::kWarn : log::Level::kDebug,
             dialers_[node]->host() + ": " + line->text);
  if (line->leaving && events_.on_leaving) events_.on_leaving(node);
  if (line->gave_up && events_.on_gave_up) events_.on_gave_up(node);
}

// After a restart a name may still lead to the address of another pod of this
// job, whose key and agent match: two workers would be one pod. The worker
// whose name differs from the pod's own dials again. If neither name is the
// pod's own (host network, aliases), both stay.
void Fleet::greeted(uint16_t node, const wire::HelloReply& reply) {
  hostnames_[node] = reply.hostname;
  const auto is_own = [this, &reply](uint16_t n) {
    return first_label(dialers_[n]->host()) == reply.hostname;
  };
  for (size_t i = 0; i < dialers_.size() && looked_up_[node]; ++i) {
    const auto other = static_cast<uint16_t>(i);
    if (other == node || !looked_up_[i] || !dialers_[i]->ready() ||
        hostnames_[i] != reply.hostname || is_own(node) == is_own(other)) {
      continue;
    }
    const uint16_t stale = is_own(node) ? other : node;
    dialers_[stale]->reject(
        Error{"stale_address", "its name leads to another pod of this job",
              reply.hostname + " answered", dialers_[stale]->host(),
              "DNS still has an old address; it is asked again"});
    if (stale == node) return;
  }
  if (connecting_ && events_.on_node_ready) {
    events_.on_node_ready(node, reply);
  }
  became_ready();
}

void Fleet::became_ready() {
  if (!connecting_ || ready_count() < dialers_.size()) return;
  connecting_ = false;
  deadline_.cancel();
  progress_.cancel();
  for (auto& dialer : dialers_) dialer->commit();
  events_.on_ready();
}

// The launcher's own pod has an agent, too, but is not a worker.
std::string Fleet::missing_text(const std::vector<Laggard>& missing) const {
  const bool own = own_pod_apart_ && !missing.empty() && missing[0].node == 0;
  const size_t workers = missing.size() - (own ? 1 : 0);
  if (workers == 0) return "the agent of the launcher's own pod";
  return std::to_string(workers) + " of " + std::to_string(workers_) +
         " workers" + (own ? " and the agent of the launcher's own pod" : "");
}

void Fleet::report_progress() {
  const auto waited =
      std::chrono::duration_cast<Milliseconds>(Clock::now() - started_);
  const auto missing = laggards();
  const std::string who = missing_text(missing);
  const std::string why = laggards_text(missing, 8) + causes_text(missing);
  if (pace_.due(waited, who + why)) {
    log::info("waiting for {} since {}: {}", who,
              human_duration_ms(waited.count()), why);
  }
  suspect_a_name(waited, missing);
  progress_.start(kLook, [this] { report_progress(); });
}

void Fleet::suspect_a_name(Milliseconds waited,
                           const std::vector<Laggard>& missing) {
  if (waited < kInDns || suspected_) return;
  const auto names = static_cast<size_t>(
      std::count(looked_up_.begin(), looked_up_.end(), true));
  const std::string lone = lone_missing_names(missing, names);
  if (lone.empty()) return;
  suspected_ = true;
  log::warn(
      "{}: not in DNS, though all other workers are. Check the spelling in "
      "the hostfile; if it is right, the pod has no address yet: `{}`",
      lone, list_pods(namespace_of(missing[0].host, own_namespace())));
}

void Fleet::failed(bool permanent) {
  if (!connecting_) return;
  auto missing = laggards();
  if (permanent) {  // the fatal reason comes first
    std::stable_partition(missing.begin(), missing.end(), [](const Laggard& l) {
      return is_permanent(l.error.code);
    });
  }
  stop_connecting();
  events_.on_failed(std::move(missing), permanent);
}

std::string lone_missing_names(const std::vector<Laggard>& laggards,
                               size_t names) {
  std::vector<std::string> missing;
  for (const Laggard& laggard : laggards) {
    if (laggard.error.code == "dns_failure") return {};
    if (laggard.error.code == "dns_unresolved") missing.push_back(laggard.host);
  }
  const bool few = missing.size() <= kFewNames && 2 * missing.size() <= names;
  return few ? join(missing, ", ") : std::string();
}

std::string causes_text(const std::vector<Laggard>& laggards) {
  const std::string own = own_namespace();
  std::set<std::string> told;
  std::string out;
  for (const Laggard& laggard : laggards) {
    const std::string cause = likely_cause(laggard.error, laggard.host, own);
    if (cause.empty() || !told.insert(laggard.error.what).second) continue;
    out += (out.empty() ? ". Likely cause: " : "; of " + laggard.host + ": ");
    out += cause;
  }
  return out;
}

std::string laggards_text(const std::vector<Laggard>& laggards, size_t limit) {
  // Groups hosts by the step at which they are stuck: 60 pods wait for the same
  // thing. If waiting does not help, the first host's reason stands for all.
  std::map<std::string, std::vector<std::string>> groups;
  std::map<std::string, std::string> whys;
  for (const auto& [node, host, step, error] : laggards) {
    groups[error.what].push_back(host);
    std::string& why = whys[error.what];
    if (why.empty() && is_permanent(error.code)) why = error.why;
  }
  std::string out;
  for (const auto& [reason, hosts] : groups) {
    if (!out.empty()) out += "; ";
    for (size_t i = 0; i < hosts.size() && i < limit; ++i) {
      out += (i > 0 ? ", " : "") + hosts[i];
    }
    if (hosts.size() > limit) {
      out += " and " + std::to_string(hosts.size() - limit) + " more";
    }
    out += ": " + reason;
    if (const std::string& why = whys[reason]; !why.empty()) {
      out += " (" + why + ")";
    }
  }
  return out;
}

}  // namespace muster
