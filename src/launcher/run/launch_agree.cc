// SPDX-License-Identifier: Apache-2.0
// Phases "inspect", "agree" and "prove": from connected agents to a plan with
// proven reachability, or one error.
#include <cstdio>
#include <utility>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/options/mpirun_words.h"
#include "launcher/output/log_choice.h"
#include "launcher/plan/bootstrap_choice.h"
#include "launcher/plan/job_secrets.h"
#include "launcher/plan/launch_environment.h"
#include "launcher/plan/plan_text.h"
#include "launcher/plan/program_words.h"
#include "launcher/run/launch.h"

namespace muster {

namespace {

// Agents that live answer; on a starved machine asking mpirun takes long.
constexpr Milliseconds kFactsDeadline{60'000};
constexpr Milliseconds kProbeDeadline{12'000};
constexpr Milliseconds kListenDeadline{15'000};

// Precedes the sentences about a difference: a line per group of equal pods.
void show_skew(const SkewReport& skew) {
  if (skew.findings.empty()) return;
  for (const std::string_view row : split(skew.table, '\n')) {
    if (!row.empty()) log::warn("{}", row);
  }
}

void show_findings(const std::vector<Finding>& findings, bool drop_in) {
  for (const Finding& finding : findings) {
    const std::string remedy =
        drop_in ? for_mpirun(finding.remedy) : finding.remedy;
    log::write(
        finding.severity == Severity::kInfo ? log::Level::kInfo
                                            : log::Level::kWarn,
        finding.text + (remedy.empty() ? "" : ". What to do: " + remedy));
  }
}

}  // namespace

void Launch::inspect() {
  clock_.enter("inspect");
  log::info("{} of {} workers ready after {}", discovery_.hosts.size(),
            discovery_.hosts.size(),
            human_duration_ms(between(began_, ready_at_).count()));
  question_ = kFactsQuestion;
  survey_->start(
      kFactsDeadline, [](uint16_t) { /* was asked with the hello */ },
      [this](const Survey::Answers& answers) { agree_on_plan(answers); });
  answer_survey(known_facts_);
}

// A copy: the last answer may run all phases up to the ranks' start.
void Launch::answer_survey(Survey::Answers answers) {
  for (auto& [node, answer] : answers) {
    survey_->answer(node, std::move(answer));
  }
}

Result<AgreementInput> Launch::agreement_input() const {
  AgreementInput input;
  input.options = &options_;
  input.discovery = &discovery_;
  input.node_of_host = node_of_host_;
  input.agent = agent_;
  input.run_directory = directory_.path();
  for (size_t i = 0; i < facts_.size(); ++i) {
    const auto node = static_cast<uint16_t>(i);
    const WorkerDialer& dialer = fleet_->dialer(node);
    const auto pod = pods_.find(node);
    const AgentLink* link = dialer.link();
    input.nodes.push_back(
        {dialer.host(), facts_[i],
         link != nullptr ? link->transport().peer_address() : "",
         pod == pods_.end() ? 0 : pod->second.meeting_port});
    if (input.interface.empty() && link != nullptr) {
      input.interface =
          interface_of(facts_[0], link->transport().local_address());
    }
  }
  if (!options_.site_file.empty()) {
    auto site = read_file(options_.site_file, 1 << 16);
    if (!site) return tl::unexpected(site.error());
    input.site_text = std::move(*site);
    input.site_path = options_.site_file;
  }
  if (!discovery_.line && !discovery_.mpirun.empty()) {
    const auto names = [this](const std::vector<std::string>& functions) {
      return program_names(options_.command[0], discovery_.env, options_.cwd,
                           functions);
    };
    input.uses_sessions = needs_mpirun_for_sessions(facts_[0].mpi) &&
                          names({"MPI_Session_init", "mpi_session_init_",
                                 "mpi_session_init_f08_"});
    input.spawns =
        names({"MPI_Comm_spawn", "mpi_comm_spawn_", "mpi_comm_spawn_f08_",
               "MPI_Comm_spawn_multiple", "mpi_comm_spawn_multiple_",
               "mpi_comm_spawn_multiple_f08_"});
  }
  return input;
}

void Launch::agree_on_plan(const Survey::Answers& answers) {
  clock_.enter("agree");
  Inspected inspected = read_facts(*fleet_, answers);
  findings_ = std::move(inspected.findings);
  facts_ = std::move(inspected.facts);
  if (discovery_.line) {
    output_->set_tags(tags_of(*discovery_.line, facts_[0].mpi.version));
  }
  const auto input = agreement_input();
  if (!input) {
    fail(input.error());
    return;
  }
  show_skew(compare_software(*input));
  auto agreement = agree(*input);
  if (!agreement) {
    fail(agreement.error());
    return;
  }
  agreement_ = std::move(*agreement);
  if (auto learnt = learn_secrets(); !learnt) return fail(learnt.error());
  findings_.insert(findings_.end(), agreement_.findings.begin(),
                   agreement_.findings.end());
  if (!agreement_.fabric.summary.empty()) {
    log::info("{}", agreement_.fabric.summary);
  }
  show_findings(findings_, options_.drop_in);
  if (options_.explain_env) {
    std::vector<NativeRank> ranks;
    if (agreement_.bootstrap != Bootstrap::kMpirun) {
      ranks = native_ranks(agreement_, node_of_host_, options_);
    }
    show(environment_text(agreement_, hosts(), ranks));
  }
  if (options_.dry_run) {
    show(options_.json ? plan_json(agreement_, discovery_, facts_)
                       : plan_text(agreement_, discovery_, facts_));
    leave();
    return;
  }
  prove();
}

// First for this pod and the command line, for a launch may fail early; then
// for all pods.
Status Launch::learn_secrets() {
  if (!options_.mask) return {};
  auto masker =
      make_masker(options_, job_secrets(discovery_, options_, agreement_.env));
  if (!masker) return muster::fail(masker.error());
  output_->set_masker(std::move(*masker));
  return {};
}

void Launch::show(const std::string& text) const {
  const std::string shown = output_->masked(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
}

std::vector<std::string> Launch::hosts() const {
  std::vector<std::string> out;
  for (size_t i = 0; i < fleet_->size(); ++i) {
    out.push_back(fleet_->dialer(static_cast<uint16_t>(i)).host());
  }
  return out;
}

bool Launch::proves() const {
  return options_.prove && !options_.local && !options_.dry_run;
}

void Launch::prove() {
  clock_.enter("prove");
  if (!proves() || fleet_->size() < 2) {
    start_ranks();
    return;
  }
  question_ = kListenQuestion;
  survey_->start(
      kListenDeadline, [](uint16_t) { /* was asked with the hello */ },
      [this](const Survey::Answers& answers) { prove_reach(answers); });
  answer_survey(known_ports_);
}

void Launch::prove_reach(const Survey::Answers& ports) {
  std::map<uint16_t, int> listening;
  for (const auto& [node, payload] : ports) {
    const auto reply = wire::from_json<wire::ProbeReply>(payload);
    if (reply && reply->listen_port > 0) listening[node] = reply->listen_port;
  }
  reach_tests_ = plan_reach_tests(*fleet_, listening);
  question_ = kReachQuestion;
  survey_->start(
      kProbeDeadline,
      [this](uint16_t node) {
        wire::ProbeRequest request;
        for (const ReachTest& test : reach_tests_) {
          if (test.from == node) {
            request.targets.push_back({test.address, test.port});
          }
        }
        fleet_->send(node, wire::FrameType::kProbe, kReachQuestion,
                     wire::to_json(request));
      },
      [this](const Survey::Answers& answers) {
        const auto findings = read_reach(*fleet_, reach_tests_, answers);
        findings_.insert(findings_.end(), findings.begin(), findings.end());
        const Finding* blocked = nullptr;
        for (const Finding& one : findings) {
          if (one.severity != Severity::kError) {
            log::warn("{}: {}", one.text, one.evidence);
          } else if (blocked == nullptr) {
            blocked = &one;
          }
        }
        if (blocked == nullptr) return start_ranks();
        fail(Error{blocked->code,
                   blocked->text,
                   blocked->evidence,
                   {},
                   blocked->remedy});
      });
}

}  // namespace muster
