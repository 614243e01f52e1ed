// SPDX-License-Identifier: Apache-2.0
// LaunchOptions: the request to `muster launch`. A plain value; nothing has
// been checked against the pod yet. commands/launch_options.h reads it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/env_request.h"
#include "job/plan.h"

namespace muster {

struct LocalShape {  // --local 2x4: emulated nodes on this machine
  int nodes = 1;     // 1..512
  int slots = 1;     // 1..1024
};

struct LaunchOptions {
  std::vector<std::string> command;  // a program and its arguments …
  bool is_line = false;              // … or a whole mpirun line
  bool drop_in = false;              // called under the name of mpirun
  bool once = false;                 // run `command` once, in the launcher

  std::optional<int> np;
  std::string hostfile;
  std::string hosts;  // -H a:2,b
  int slots_per_node = 0;
  std::string map_by;
  std::string bind_to;   // "", "none", "core", "core:4", "numa", "gpu"
  std::string gpu_bind;  // "", "none", "single", "closest"
  bool display_map = false;
  bool oversubscribe = false;
  std::vector<EnvRequest> env;
  std::string cwd;
  bool mpi = false;

  Bootstrap bootstrap = Bootstrap::kAuto;
  std::optional<LocalShape> local;
  std::vector<std::string> exec_transport;  // {host}, {pod} expand; empty: ssh
  std::string key_dir;
  int ssh_port = 0;  // 0: automatic
  std::string ssh_user;
  std::string profile = "auto";
  std::string site_file;  // of the fabric; docs/fabric.md

  Timeouts timeouts;
  bool allow_skew = false;
  bool force = false;  // start despite findings of the network checks
  bool prove = true;
  bool dry_run = false;
  bool explain_env = false;
  bool json = false;  // -o json, for output instead of a run

  StdinMode stdin_mode = StdinMode::kRankZero;
  std::string log_format = "auto";  // auto, text, plain, json
  std::string log_directory;
  std::string log_rotate;            // "1G,8", "off"; empty: the default
  std::string log_level = "info";    // of muster's own messages
  std::string rank_level = "trace";  // least level of ranks' lines
  std::string log_ranks;             // "0-3,8"; empty: all
  bool log_drop = false;             // --log-overflow drop
  std::string fold = "auto";         // equal lines of ranks: auto, on, off
  int64_t hang_ms = 0;               // --hang-timeout; 0: off
  bool hang_stop = false;            // --hang-action stop
  int hang_signal = 0;               // --hang-signal
  int64_t exception_ms = 10'000;     // --exception-timeout; 0: never
  int checkpoint_signal = 0;         // --timeout-signal
  bool warn_at_limit = false;        // --timeout-action warn
  std::string rules_directory;       // --rules
  std::string bundle_directory;      // --bundle
  int64_t hold_ms = 0;               // --hold-on-failure
  bool mask = true;
  std::vector<std::string> mask_patterns;
  std::string report_json;
  std::string report_html;
  int metrics_port = 0;  // 0: none
  std::string mesh;      // --mesh; empty: none
  bool post_progress = true;
  std::string event = "off";  // or auto, or what it is about: mpijob/pi
  std::string termination_log = "/dev/termination-log";
};

// Is this the name (or path) of an MPI's launcher?
bool is_mpirun_name(const std::string& program);

}  // namespace muster
