// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/survey.h"

#include <set>

#include "base/log.h"
#include "wire/messages.h"

namespace muster {

void Survey::start(Milliseconds deadline,
                   const std::function<void(uint16_t)>& ask,
                   std::function<void(Answers)> done) {
  answers_.clear();
  asked_.clear();
  done_ = std::move(done);
  for (size_t i = 0; i < fleet_.size(); ++i) {
    const auto node = static_cast<uint16_t>(i);
    if (!fleet_.alive(node)) continue;
    asked_.insert(node);
    ask(node);
  }
  timer_.start(deadline, [this] {
    const auto done_now = std::move(done_);
    done_ = nullptr;
    if (done_now) done_now(std::move(answers_));
  });
}

void Survey::answer(uint16_t node, std::string payload) {
  if (!done_ || asked_.count(node) == 0) return;
  answers_.emplace(node, std::move(payload));
  consider_done();
}

void Survey::cancel() {
  timer_.cancel();
  done_ = nullptr;
}

void Survey::consider_done() {
  if (answers_.size() < asked_.size()) return;
  timer_.cancel();
  const auto done = std::move(done_);
  done_ = nullptr;
  done(std::move(answers_));
}

Inspected read_facts(const Fleet& fleet, const Survey::Answers& answers) {
  Inspected out;
  for (size_t i = 0; i < fleet.size(); ++i) {
    const auto node = static_cast<uint16_t>(i);
    const std::string& host = fleet.dialer(node).host();
    const auto answer = answers.find(node);
    auto facts = answer == answers.end()
                     ? Result<NodeFacts>(fail(Error{
                           "timeout", "no facts", "no answer in time", {}, {}}))
                     : node_facts_from_json(answer->second);
    if (!facts) {
      out.findings.push_back({Severity::kWarning, "facts_missing",
                              "nothing is known about " + host,
                              facts.error().text(), ""});
    }
    if (facts && !facts->left_out.empty()) {
      out.findings.push_back(
          {Severity::kWarning, "environment_too_large",
           "the environment of " + host +
               " is too large to be looked at as a whole: its programs have "
               "it all, but these are neither compared, shown nor masked: " +
               facts->left_out,
           "", "pass long values in files"});
    }
    out.facts.push_back(facts ? std::move(*facts) : NodeFacts{});
  }
  return out;
}

std::string interface_of(const NodeFacts& facts, const std::string& address) {
  for (const NetInterface& interface : facts.interfaces) {
    for (const std::string& own : interface.addresses) {
      if (!address.empty() && own.substr(0, own.find('/')) == address) {
        return interface.name;
      }
    }
  }
  return "";
}

std::vector<ReachTest> plan_reach_tests(
    const Fleet& fleet, const std::map<uint16_t, int>& listen_ports) {
  std::vector<ReachTest> tests;
  std::vector<uint16_t> workers;
  std::string launcher;
  for (size_t i = 1; i < fleet.size(); ++i) {
    const auto node = static_cast<uint16_t>(i);
    const AgentLink* link = fleet.dialer(node).link();
    if (link == nullptr || link->transport().peer_address().empty()) continue;
    workers.push_back(node);
    launcher = link->transport().local_address();
    if (const auto port = listen_ports.find(0); port != listen_ports.end()) {
      tests.push_back({node, 0, launcher, port->second});
    }
  }
  for (size_t i = 0; workers.size() > 1 && i < workers.size(); ++i) {
    const uint16_t next = workers[(i + 1) % workers.size()];
    const auto port = listen_ports.find(next);
    if (port == listen_ports.end()) continue;
    tests.push_back({workers[i], next,
                     fleet.dialer(next).link()->transport().peer_address(),
                     port->second});
  }
  if (!workers.empty()) {
    const auto port = listen_ports.find(workers[0]);
    if (port != listen_ports.end()) {
      tests.push_back(
          {0, workers[0],
           fleet.dialer(workers[0]).link()->transport().peer_address(),
           port->second});
    }
  }
  return tests;
}

std::vector<Finding> read_reach(const Fleet& fleet,
                                const std::vector<ReachTest>& tests,
                                const Survey::Answers& answers) {
  std::vector<Finding> findings;
  std::set<uint16_t> silent;
  for (const ReachTest& test : tests) {
    const auto answer = answers.find(test.from);
    const auto reply =
        answer == answers.end()
            ? Result<wire::ProbeReply>(fail(
                  Error{"timeout", "no answer", "none came in time", {}, {}}))
            : wire::from_json<wire::ProbeReply>(answer->second);
    if (!reply) {
      if (!silent.insert(test.from).second) continue;
      findings.push_back({Severity::kWarning, "reach_unproved",
                          "whom " + fleet.dialer(test.from).host() +
                              " can reach is not proved",
                          reply.error().text(), ""});
      continue;
    }
    const std::string target = (test.address.find(':') == std::string::npos
                                    ? test.address
                                    : "[" + test.address + "]") +
                               ":" + std::to_string(test.port);
    for (const wire::ProbeResult& result : reply->results) {
      if (result.outcome == "ok" ||
          (result.subject != target &&
           result.subject != test.address + ":" + std::to_string(test.port))) {
        continue;
      }
      // Silence may be a firewall's or a starved machine's: try again.
      findings.push_back(
          {Severity::kError,
           result.outcome == "timeout" ? "unanswered" : "unreachable",
           fleet.dialer(test.from).host() + " cannot open a connection to " +
               fleet.dialer(test.to).host() + " on a high port",
           target + ": " + result.outcome +
               (result.detail.empty() ? "" : " (" + result.detail + ")"),
           "MPI needs every TCP port between the pods of the job: add a "
           "NetworkPolicy that allows them, or remove the firewall between "
           "the nodes."});
    }
  }
  return findings;
}

}  // namespace muster
