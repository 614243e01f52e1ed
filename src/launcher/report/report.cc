// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/report.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json_text.h"
#include "base/log_record.h"
#include "base/text.h"
#include "diagnosis/book/rule_book.h"
#include "diagnosis/verdict_record.h"
#include "job/exit_codes.h"
#include "job/termination_message.h"
#include "launcher/options/mpirun_words.h"
#include "launcher/report/bundle.h"
#include "launcher/report/report_checklist.h"
#include "launcher/report/report_html.h"
#include "launcher/report/xid_history.h"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kSuccessLines = 5;
// With its prefix a record has at most 4 KiB, as those of ranks.
constexpr size_t kVerdictRecord = 3584;

std::string timestamp(int64_t ns) {
  std::string text;
  append_timestamp(text, ns);
  return text;
}

const char* to_text(RankOutcome outcome) {
  switch (outcome) {
    case RankOutcome::kUnknown:
      return "unknown";
    case RankOutcome::kNeverStarted:
      return "never_started";
    case RankOutcome::kRefused:
      return "refused";
    case RankOutcome::kRunning:
      return "running";
    case RankOutcome::kExited:
      return "exited";
    case RankOutcome::kLost:
      return "lost";
  }
  return "unknown";
}

Json rank_json(const RankEvidence& rank) {
  Json out = {{"rank", rank.rank},
              {"worker", rank.host},
              {"state", to_text(rank.outcome)}};
  if (rank.outcome == RankOutcome::kExited) {
    out["exit"] = describe_wait_status(rank.wait_status);
    out["exit_code"] = exit_code_for(rank.wait_status);
    out["ended"] = timestamp(rank.exit_ns);
    out["stopped_by_launcher"] = rank.stopped_by_us;
    out["max_rss_kib"] = rank.max_rss_kib;
  }
  if (rank.outcome == RankOutcome::kRefused) {
    out["reason"] = rank.refusal.text();
  }
  return out;
}

Json xid_json(const NodeEvidence& node, const XidEvidence& xid) {
  return {{"worker", node.host},
          {"gpu", xid.gpu},
          {"pci", xid.pci},
          {"uuid", xid.uuid},
          {"xid", xid.xid},
          {"count", xid.count},
          {"first", timestamp(xid.first_ns)},
          {"last", timestamp(xid.last_ns)},
          {"text", xid_line(node.host, xid)}};
}

Verdict by_rules(const Evidence& evidence, const std::string& directory) {
  if (directory.empty()) return diagnose(evidence);
  const auto rules = RuleBook::with_directory(directory);
  if (rules) return diagnose(evidence, *rules);
  log::warn("{}", rules.error().text());
  return diagnose(evidence);
}

}  // namespace

Verdict judge(const Evidence& evidence, const LaunchOptions& options) {
  Verdict verdict = by_rules(evidence, options.rules_directory);
  if (options.drop_in) say_for_mpirun(verdict);
  return verdict;
}

Finding finding_of(const Error& error) {
  const std::string place = error.where.empty() ? "" : error.where + ": ";
  return {Severity::kError, error.code, place + error.what, error.why,
          error.hint};
}

std::string to_json(const LaunchReport& report) {
  Json out;
  out["report"] = 1;
  out["muster"] = MUSTER_VERSION;
  out["launch_id"] = report.launch_id;
  out["exit_code"] = report.verdict.exit_code;
  out["class"] = report.verdict.exit_class;
  out["bootstrap"] = report.bootstrap;
  out["started"] = timestamp(report.started_ns);
  out["ended"] = timestamp(report.ended_ns);
  out["phases"] = Json::array();
  for (const PhaseTime& phase : report.phases) {
    out["phases"].push_back({{"name", phase.name}, {"ms", phase.took.count()}});
  }
  if (report.first_rank_ms >= 0) out["first_rank_ms"] = report.first_rank_ms;
  if (report.all_ranks_ms >= 0) out["all_ranks_ms"] = report.all_ranks_ms;
  out["workers"] = Json::array();
  for (const WorkerReport& worker : report.workers) {
    Json entry = {{"name", worker.name}, {"state", worker.state}};
    if (!worker.reason.empty()) entry["reason"] = worker.reason;
    if (!worker.step.empty()) entry["step"] = worker.step;
    if (worker.connect_ms >= 0) entry["connect_ms"] = worker.connect_ms;
    if (worker.drivers_age_ms >= 0) {
      entry["drivers_age_ms"] = worker.drivers_age_ms;
    }
    out["workers"].push_back(std::move(entry));
  }
  out["ranks"] = Json::array();
  for (const RankEvidence& rank : report.evidence.ranks) {
    out["ranks"].push_back(rank_json(rank));
  }
  out["forgotten_ranks"] = report.forgotten_ranks;
  out["lines"] = report.lines;
  out["lost_output_bytes"] = report.lost_output_bytes;
  out["dropped_lines"] = report.dropped_lines;
  out["cut_outputs"] = report.cut_outputs;
  out["checklist"] = Json::array();
  for (const ChecklistItem& item : checklist(report)) {
    out["checklist"].push_back(
        {{"item", item.item}, {"state", item.state}, {"detail", item.detail}});
  }
  out["findings"] = Json::array();
  for (const Finding& finding : report.evidence.findings) {
    out["findings"].push_back({{"code", finding.code},
                               {"text", finding.text},
                               {"evidence", finding.evidence},
                               {"remedy", finding.remedy}});
  }
  out["collectives"] = Json::array();
  for (const CollectiveEvidence& one : report.evidence.collectives) {
    out["collectives"].push_back({{"text", one.text}, {"ranks", one.ranks}});
  }
  out["xids"] = Json::array();
  for (const NodeEvidence& node : report.evidence.nodes) {
    for (const XidEvidence& xid : node.xids) {
      out["xids"].push_back(xid_json(node, xid));
    }
  }
  out["verdict"] = Json::parse(verdict_json(report.verdict), nullptr, false);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string summary_line(const LaunchReport& report) {
  std::string phases;
  for (const PhaseTime& phase : report.phases) {
    if (phase.took.count() < 1) continue;
    phases += (phases.empty() ? "" : ", ") + phase.name + " " +
              human_duration_ms(phase.took.count());
  }
  const size_t ranks = report.evidence.ranks.size() + report.forgotten_ranks;
  const size_t workers = report.workers.size();
  if (ranks == 0 && report.verdict.exit_code != 0) {
    return "ended after " + human_duration_ms(report.took.count()) +
           (phases.empty() ? "" : " (" + phases + ")") +
           ", before any rank was started";
  }
  return std::to_string(ranks) + (ranks == 1 ? " rank on " : " ranks on ") +
         std::to_string(workers) + (workers == 1 ? " worker" : " workers") +
         (report.verdict.exit_code == 0 ? " ended well after "
                                        : " ended after ") +
         human_duration_ms(report.took.count()) +
         (phases.empty() ? "" : " (" + phases + ")");
}

void check_report_places(const LaunchOptions& options) {
  for (const std::string& path : {options.report_json, options.report_html}) {
    if (path.empty()) continue;
    std::error_code unknown;
    if (std::filesystem::is_directory(path, unknown)) {
      log::warn("{}: the report will be lost: this is a directory", path);
      continue;
    }
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "."
                               : slash == 0               ? "/"
                                            : path.substr(0, slash);
    if (::access(folder.c_str(), W_OK | X_OK) == 0) continue;
    log::warn("{}: the report will be lost: cannot write to {}: {}", path,
              folder, strerror(errno));
  }
}

void announce(const LaunchReport& report, const LaunchOptions& options) {
  log::info("{}", summary_line(report));
  const Verdict& verdict = report.verdict;
  if (verdict.failed()) {
    log::error("{}", trim(verdict_text(verdict)));
  } else {
    for (const std::string& line : success_lines(report, kSuccessLines - 1)) {
      log::info("{}", line);
    }
  }
  log::write_record(
      verdict.failed() ? log::Level::kError : log::Level::kInfo,
      "verdict: " + verdict.code + " (" + to_text(verdict.confidence) + ")",
      "\"verdict\":" + short_verdict_json(verdict, kVerdictRecord));
  write_termination_message(options.termination_log,
                            verdict.failed() ? termination_message(verdict)
                                             : summary_line(report) + "\n");
}

StoredReports store_reports(const LaunchReport& report,
                            const LaunchOptions& options) {
  StoredReports out;
  const auto store = [&out](const std::string& path, const std::string& text) {
    const auto written = write_file_atomically(path, text);
    if (!written) out.warnings.push_back(written.error().text());
  };
  if (!options.report_json.empty()) store(options.report_json, to_json(report));
  if (!options.report_html.empty()) {
    store(options.report_html, report_html(report));
  }
  if (!options.bundle_directory.empty()) {
    if (const auto kept = write_bundle(options.bundle_directory, report,
                                       options.log_directory)) {
      out.bundle = kept->folder;
      if (!kept->left_out.empty()) out.warnings.push_back(kept->left_out);
    } else {
      out.warnings.push_back(kept.error().text());
    }
  }
  return out;
}

}  // namespace muster
