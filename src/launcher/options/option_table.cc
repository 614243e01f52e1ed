// SPDX-License-Identifier: Apache-2.0
// Every option of `muster launch`, in the groups of its help. The manual page
// and the shells' completion have the same texts.
#include <CLI/CLI.hpp>

#include "base/read_command_line.h"
#include "launcher/options/option_words.h"

namespace muster {

namespace {

void add_most_used(CLI::App& app, LaunchOptions& o, OptionWords& raw) {
  app.add_option("-n,--np", raw.np, "ranks to start (default: every slot)")
      ->transform(whole_number(1, kMaxRanks));
  app.add_option("--hostfile", o.hostfile,
                 "hostfile of any MPI (default: the operator's)")
      ->envname("MUSTER_HOSTFILE");
  app.add_option("--slots-per-node", o.slots_per_node,
                 "slots of every worker (default: hostfile, GPUs, CPU quota)")
      ->transform(whole_number(1, kMaxSlots))
      ->envname("MUSTER_SLOTS_PER_NODE");
  app.add_option("-x,--env", raw.env, "NAME or NAME=VALUE for every rank")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--local", raw.local,
                 "NxM: emulate N nodes with M slots on this machine");
  app.add_option("--bootstrap", raw.bootstrap,
                 "starter of the ranks: pmix (muster), mpirun, auto")
      ->check(CLI::IsMember({"auto", "pmix", "mpirun"}))
      ->envname("MUSTER_BOOTSTRAP");
  app.add_option("--profile", o.profile,
                 "network profile: auto, tcp, rdma, "
                 "rl (ppo, grpo, gapo)")
      ->envname("MUSTER_PROFILE");
  app.add_flag("--dry-run", o.dry_run,
               "stop before starting ranks and print "
               "the plan");
  app.add_option("--timeout", raw.timeout, "time limit of the job, as 72h")
      ->envname("MUSTER_TIMEOUT");
  app.add_option("--log-format", o.log_format,
                 "form of the log: auto, text, plain, json")
      ->check(CLI::IsMember({"auto", "text", "plain", "json"}))
      ->envname("MUSTER_LOG_FORMAT");
  app.add_option("--log-dir", o.log_directory,
                 "also write one file per rank and stream there")
      ->envname("MUSTER_LOG_DIR");
  app.add_option("--report", o.report_html,
                 "write a page for people there (FILE.html)")
      ->envname("MUSTER_REPORT");
}

void add_placement(CLI::App& app, LaunchOptions& o) {
  app.add_option("-H,--host,--hosts", o.hosts, "hosts, as in a:2,b:2");
  app.add_option("--map-by", o.map_by, "slot, node or ppr:N:node");
  app.add_option("--bind-to", o.bind_to,
                 "CPUs of a rank: none (default), core, core:N, numa, gpu "
                 "(near its GPU)")
      ->envname("MUSTER_BIND_TO");
  app.add_option("--gpu-bind", o.gpu_bind,
                 "GPUs that a rank sees: none (default: all), single, closest")
      ->check(CLI::IsMember({"none", "single", "closest"}))
      ->envname("MUSTER_GPU_BIND");
  app.add_flag("--display-map", o.display_map,
               "print where each rank goes, before it starts");
  app.add_flag("--oversubscribe", o.oversubscribe,
               "allow more ranks than slots");
}

void add_start(CLI::App& app, LaunchOptions& o, OptionWords& raw) {
  app.add_option("--wdir", o.cwd,
                 "working directory of the ranks (default: the launcher's, "
                 "where a worker has it)");
  app.add_flag("--mpi", o.mpi, "treat the program as an MPI program");
  app.add_flag("--once", o.once,
               "run the command once, in the launcher; an mpirun in it becomes "
               "muster's");
  app.add_option("--stdin", raw.stdin_mode,
                 "ranks that read stdin: 0, all, none")
      ->check(CLI::IsMember({"0", "all", "none"}));
  app.add_option("--connect-timeout", raw.connect_timeout,
                 "wait so long for all workers (default 300s)")
      ->envname("MUSTER_CONNECT_TIMEOUT");
  app.add_option("--start-timeout", raw.start_timeout,
                 "wait so long for MPI_Init of all ranks (default 60s)")
      ->envname("MUSTER_START_TIMEOUT");
  app.add_flag("--allow-skew", o.allow_skew,
               "start although the pods' software differs")
      ->envname("MUSTER_ALLOW_SKEW");
  app.add_flag("--explain-env", o.explain_env,
               "print where each variable of the ranks comes from");
  app.add_option("-o,--output", raw.output, "of --dry-run: text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

void add_network(CLI::App& app, LaunchOptions& o, OptionWords& raw) {
  app.add_option("--transport", raw.transport,
                 "how to reach an agent: ssh, or exec:COMMAND with "
                 "{host}, or {pod} for the name before its first dot")
      ->envname("MUSTER_TRANSPORT");
  app.add_option("--key-dir", o.key_dir, "directory with the job's ssh key")
      ->envname("MUSTER_KEY_DIR");
  app.add_option("--ssh-port", o.ssh_port, "port of the workers")
      ->transform(whole_number(1, 65535))
      ->envname("MUSTER_SSH_PORT");
  app.add_option("--ssh-user", o.ssh_user, "login name for the workers")
      ->envname("MUSTER_SSH_USER");
  app.add_option("--site", o.site_file,
                 "file with values of the network that detection cannot find")
      ->envname("MUSTER_FABRIC_SITE");
  app.add_flag("!--no-prove", o.prove, "skip the reachability check");
  app.add_flag("--force", o.force,
               "start although a variable or profile of the network is "
               "refused")
      ->envname("MUSTER_FORCE");
  app.add_option("--mesh", o.mesh,
                 "wait for this pod's mesh proxy, and end it with the job")
      ->check(CLI::IsMember({"none", "istio", "linkerd"}))
      ->envname("MUSTER_MESH");
}

void add_limits(CLI::App& app, OptionWords& raw) {
  app.add_option("--timeout-action", raw.timeout_action,
                 "at the time limit: stop the job, or warn and go on")
      ->check(CLI::IsMember({"stop", "warn"}))
      ->envname("MUSTER_TIMEOUT_ACTION");
  app.add_option(
         "--timeout-signal", raw.timeout_signal,
         "send it to the ranks at the time limit; they have --grace to save "
         "and end")
      ->envname("MUSTER_TIMEOUT_SIGNAL");
  app.add_option("--hang-timeout", raw.hang_timeout,
                 "look for a hang after so long without output of any rank")
      ->envname("MUSTER_HANG_TIMEOUT");
  app.add_option("--hang-action", raw.hang_action,
                 "when ranks hang: warn and go on, or stop the job")
      ->check(CLI::IsMember({"warn", "stop"}))
      ->envname("MUSTER_HANG_ACTION");
  app.add_option("--hang-signal", raw.hang_signal,
                 "send it to the ranks then, as for Python's faulthandler")
      ->envname("MUSTER_HANG_SIGNAL");
  app.add_option(
         "--exception-timeout", raw.exception_timeout,
         "count a rank as failed that waits so long in MPI_Finalize after "
         "an uncaught exception (default 10s, 0: never)")
      ->envname("MUSTER_EXCEPTION_TIMEOUT");
  app.add_option("--heartbeat", raw.heartbeat,
                 "time between heartbeats of a worker (default 2s)")
      ->envname("MUSTER_HEARTBEAT");
  app.add_option(
         "--silence", raw.silence,
         "give a worker up after so long without a heartbeat (default 12s)")
      ->envname("MUSTER_SILENCE");
  app.add_option("--grace", raw.grace,
                 "time between TERM and KILL (default 5s)")
      ->envname("MUSTER_GRACE");
}

void add_output(CLI::App& app, LaunchOptions& o, OptionWords& raw) {
  app.add_option("--log-rotate", o.log_rotate,
                 "SIZE[,OLDER] of those files, or off (default 1G,8)")
      ->envname("MUSTER_LOG_ROTATE");
  app.add_option("--log-level", o.log_level,
                 "least level of muster's own lines")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->envname("MUSTER_LOG_LEVEL");
  app.add_option("--rank-level", o.rank_level,
                 "least level of ranks' lines on stdout")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error"}))
      ->envname("MUSTER_RANK_LEVEL");
  app.add_option("--log-ranks", o.log_ranks, "ranks on stdout, as 0-3,8")
      ->envname("MUSTER_LOG_RANKS");
  app.add_option(
         "--log-overflow", raw.overflow,
         "when stdout's reader is too slow: block the ranks, or drop lines")
      ->check(CLI::IsMember({"block", "drop"}))
      ->envname("MUSTER_LOG_OVERFLOW");
  app.add_option("--log-fold", o.fold,
                 "print equal lines of ranks once (auto: on a terminal)")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->envname("MUSTER_LOG_FOLD");
  app.add_flag("!--no-mask", o.mask, "do not hide secrets in ranks' lines");
  app.add_option("--mask", o.mask_patterns,
                 "also hide text that this RE2 pattern matches")
      ->take_all()
      ->allow_extra_args(false);
}

void add_reports(CLI::App& app, LaunchOptions& o, OptionWords& raw) {
  app.add_option("--report-json", o.report_json, "write the report there")
      ->envname("MUSTER_REPORT_JSON");
  app.add_option("--bundle", o.bundle_directory,
                 "keep report, evidence and verdict of each launch there")
      ->envname("MUSTER_BUNDLE");
  app.add_option("--hold-on-failure", raw.hold,
                 "keep the pods for so long after a failure")
      ->envname("MUSTER_HOLD_ON_FAILURE");
  app.add_option("--rules", o.rules_directory,
                 "directory with further *.rules for the verdict")
      ->envname("MUSTER_RULES");
  app.add_option("--metrics-port", o.metrics_port,
                 "serve Prometheus metrics on this port")
      ->transform(whole_number(1, 65535))
      ->envname("MUSTER_METRICS_PORT");
  app.add_flag("!--no-post-progress", o.post_progress,
               "do not post progress to Kubeflow Trainer");
  app.add_option(
         "--event", o.event,
         "post a failure's sentence as an Event: off (default), auto (on "
         "this pod), or on KIND/NAME[/UID], as mpijob/pi")
      ->envname("MUSTER_EVENT");
  app.add_option("--termination-log", o.termination_log,
                 "file of the pod's termination message")
      ->envname("MUSTER_TERMINATION_LOG");
}

}  // namespace

void declare_options(CLI::App& app, LaunchOptions& options,
                     OptionWords& words) {
  if (CLI::Option* const help = app.get_help_ptr()) help->group("Most used");
  app.option_defaults()->group("Most used");
  add_most_used(app, options, words);
  app.option_defaults()->group("Placement");
  add_placement(app, options);
  app.option_defaults()->group("Start");
  add_start(app, options, words);
  app.option_defaults()->group("Network");
  add_network(app, options, words);
  app.option_defaults()->group("Limits");
  add_limits(app, words);
  app.option_defaults()->group("Output");
  add_output(app, options, words);
  app.option_defaults()->group("Reports");
  add_reports(app, options, words);
}

}  // namespace muster
