// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/failed_discovery.h"

#include "base/hostname.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/random.h"
#include "base/reaper.h"
#include "base/self_path.h"
#include "job/kubectl.h"
#include "launcher/model/launcher_signals.h"
#include "launcher/report/report_writer.h"
#include "launcher/report/verdict_event.h"

namespace muster {

namespace {

// The command is left out: its secrets are not known yet.
Evidence evidence_of(const Error& error, int stopped_by) {
  Evidence out;
  out.job.phase = "discover";
  out.job.name_space = own_namespace();
  if (error.code == "preempted") {
    out.job.preempted = true;
  } else if (stopped_by != 0) {
    out.job.stop_signal = stopped_by;
  } else {
    out.findings.push_back(finding_of(error));
  }
  return out;
}

void tell_cluster(Loop& loop, const Verdict& verdict,
                  const LaunchOptions& options) {
  Reaper reaper(loop);
  const auto agent = agent_path();
  VerdictEvent event(loop, reaper, agent ? *agent : "");
  bool told = false;
  event.post(options.event, verdict, own_hostname(), [&] {
    told = true;
    loop.stop();
  });
  if (!told) loop.run();
}

}  // namespace

int report_failed_discovery(const Error& error, int stopped_by,
                            const LaunchOptions& options,
                            Clock::time_point began) {
  LaunchReport report;
  report.launch_id = random_id();
  report.took = since(began);
  report.ended_ns = realtime_ns();
  report.started_ns = report.ended_ns - report.took.count() * 1'000'000;
  report.phases = {{"discover", report.took}};
  report.evidence = evidence_of(error, stopped_by);
  report.verdict = judge(report.evidence, options);
  const int exit_code = report.verdict.exit_code;
  // The verdict says that it was stopped, but not in which phase.
  if (report.evidence.findings.empty()) log::info("{}", error.text());
  announce(report, options);
  Loop loop;
  if (options.event != "off") tell_cluster(loop, report.verdict, options);
  ReportWriter(loop, std::move(report), options)
      .finish(kReportLimit, launch_signals().ending);
  return exit_code;
}

}  // namespace muster
