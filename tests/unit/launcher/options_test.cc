// SPDX-License-Identifier: Apache-2.0
// Every option of `muster launch`, its variables, and what is said when one is
// wrong.
#include "launcher/options/options.h"
#include "launcher/commands/launch_options.h"

#include <stdlib.h>

#include <limits>

#include "base/spawn.h"
#include "captured_stdio.h"
#include "catch.h"

namespace muster {
namespace {

using Words = std::vector<std::string>;

struct Parsed {
  LaunchOptions o;
  std::optional<int> exit_code;
  std::string out;
  std::string err;
};

Parsed parse(const Words& words) {
  test::CapturedStdio captured;
  ParsedOptions parsed = parse_launch_options(words);
  Parsed all;
  all.o = std::move(parsed.options);
  all.exit_code = parsed.exit_code;
  all.out = captured.out();
  all.err = captured.err();
  return all;
}

LaunchOptions good(Words words) {
  words.insert(words.end(), {"--", "./app"});
  Parsed parsed = parse(words);
  INFO(parsed.err);
  CHECK_FALSE(parsed.exit_code);
  CHECK(parsed.o.command == Words{"./app"});
  return parsed.o;
}

// The error's text; "" if there was none.
std::string bad(Words words) {
  words.insert(words.end(), {"--", "./app"});
  const Parsed parsed = parse(words);
  return parsed.exit_code == 2 ? parsed.out + parsed.err : "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What is tested is not the environment of whoever tests.
const bool kForgotten = [] {
  for (const auto& [name, value] : current_environment()) {
    if (name.starts_with("MUSTER_")) ::unsetenv(name.c_str());
  }
  return true;
}();

struct Variable {
  Variable(const char* n, const char* value) : name(n) {
    ::setenv(n, value, 1);
  }
  ~Variable() { ::unsetenv(name); }
  const char* name;
};

TEST_CASE("defaults") {
  const LaunchOptions o = good({});
  CHECK_FALSE(o.np);
  CHECK(o.hostfile.empty());
  CHECK(o.bootstrap == Bootstrap::kAuto);
  CHECK_FALSE(o.local);
  CHECK(o.exec_transport.empty());
  CHECK(o.profile == "auto");
  CHECK(o.prove);
  CHECK(o.mask);
  CHECK_FALSE(o.log_drop);
  CHECK(o.stdin_mode == StdinMode::kRankZero);
  CHECK(o.log_format == "auto");
  CHECK(o.timeouts.connect_ms == 300'000);
  CHECK(o.timeouts.start_ms == 60'000);
  CHECK(o.timeouts.run_ms == 0);
  CHECK(o.termination_log == "/dev/termination-log");
}

TEST_CASE("placement options") {
  CHECK(good({"-n", "4"}).np == 4);
  CHECK(good({"--np", "4"}).np == 4);
  CHECK(good({"--np=4"}).np == 4);
  CHECK(good({"-n4"}).np == 4);
  CHECK(good({"--hostfile", "/h"}).hostfile == "/h");
  CHECK(good({"-H", "a:2,b"}).hosts == "a:2,b");
  CHECK(good({"--host", "a"}).hosts == "a");
  CHECK(good({"--slots-per-node", "8"}).slots_per_node == 8);
  CHECK(good({"--map-by", "ppr:2:node"}).map_by == "ppr:2:node");
  CHECK(good({"--oversubscribe"}).oversubscribe);
  CHECK(good({"--wdir", "/w"}).cwd == "/w");
  CHECK(good({"--mpi"}).mpi);
  const LaunchOptions local = good({"--local", "2x4"});
  REQUIRE(local.local);
  CHECK(local.local->nodes == 2);
  CHECK(local.local->slots == 4);
}

TEST_CASE("variables for ranks keep their order and their equals signs") {
  const LaunchOptions o =
      good({"-x", "A", "-x", "B=", "--env", "C=x=y", "-x", "NCCL_*"});
  REQUIRE(o.env.size() == 4);
  CHECK(o.env[0].name == "A");
  CHECK_FALSE(o.env[0].value);
  CHECK(o.env[1].value == "");
  CHECK(o.env[2].name == "C");
  CHECK(o.env[2].value == "x=y");
  CHECK(o.env[3].name == "NCCL_*");
  CHECK(contains(bad({"-x", "=5"}), "has no name"));
}

TEST_CASE("start options") {
  CHECK(good({"--bootstrap", "pmix"}).bootstrap == Bootstrap::kPmix);
  CHECK(good({"--bootstrap", "mpirun"}).bootstrap == Bootstrap::kMpirun);
  CHECK(good({"--once"}).once);
  CHECK(
      good({"--transport", "exec:kubectl exec -i {host} --"}).exec_transport ==
      Words{"kubectl", "exec", "-i", "{host}", "--"});
  CHECK(good({"--transport", "ssh"}).exec_transport.empty());
  CHECK(good({"--key-dir", "/k"}).key_dir == "/k");
  CHECK(good({"--ssh-port", "22"}).ssh_port == 22);
  CHECK(good({"--ssh-user", "u"}).ssh_user == "u");
  CHECK(good({"--profile", "tcp"}).profile == "tcp");
  CHECK(good({"--site", "/s"}).site_file == "/s");
  CHECK(good({"--allow-skew"}).allow_skew);
  CHECK(good({"--force"}).force);
  CHECK_FALSE(good({"--no-prove"}).prove);
  CHECK(good({"--dry-run"}).dry_run);
  CHECK(good({"--explain-env"}).explain_env);
  CHECK(good({"--dry-run", "-o", "json"}).json);
  CHECK_FALSE(good({"--output", "text"}).json);
}

TEST_CASE("bounds") {
  CHECK(good({"--connect-timeout", "10m"}).timeouts.connect_ms == 600'000);
  CHECK(good({"--start-timeout", "90"}).timeouts.start_ms == 90'000);
  // "Never" must not overflow a clock that counts nanoseconds.
  const auto never = good({"--start-timeout", "200000d"}).timeouts.start_ms;
  CHECK(never > int64_t{90} * 365 * 86'400'000);
  CHECK(never < std::numeric_limits<int64_t>::max() / 2'000'000);
  CHECK(good({"--timeout", "1h30m"}).timeouts.run_ms == 5'400'000);
  CHECK(good({"--heartbeat", "500ms"}).timeouts.heartbeat_ms == 500);
  CHECK(good({"--silence", "30s"}).timeouts.silence_ms == 30'000);
  CHECK(good({"--grace", "1s"}).timeouts.grace_ms == 1'000);
  CHECK(contains(bad({"--heartbeat", "7s"}), "--silence is too short"));
  CHECK(contains(bad({"--silence", "30d"}), "'30d' is too long"));
  CHECK(contains(bad({"--grace", "25d"}), "'25d' is too long"));
  CHECK(good({"--timeout", "999999d"}).timeouts.run_ms == 3'155'760'000'000);
  for (const char* option :
       {"--connect-timeout", "--start-timeout", "--timeout", "--heartbeat",
        "--silence", "--grace"}) {
    for (const char* value : {"0", "soon", "10x"}) {
      INFO(option << " " << value);
      CHECK(contains(bad({option, value}), option));
    }
  }
}

TEST_CASE("output options") {
  CHECK(good({"--stdin", "all"}).stdin_mode == StdinMode::kAll);
  CHECK(good({"--stdin", "none"}).stdin_mode == StdinMode::kNone);
  CHECK(good({"--stdin", "0"}).stdin_mode == StdinMode::kRankZero);
  CHECK(good({"--log-format", "json"}).log_format == "json");
  CHECK(good({"--log-dir", "/l"}).log_directory == "/l");
  CHECK(good({"--log-level", "debug"}).log_level == "debug");
  CHECK(good({"--rank-level", "warn"}).rank_level == "warn");
  CHECK(good({"--log-ranks", "0-3,8"}).log_ranks == "0-3,8");
  CHECK(good({"--log-overflow", "drop"}).log_drop);
  CHECK_FALSE(good({"--no-mask"}).mask);
  CHECK(good({"--mask", "a", "--mask", "b"}).mask_patterns == Words{"a", "b"});
  CHECK(good({"--report-json", "/r"}).report_json == "/r");
  CHECK(good({"--termination-log", "/t"}).termination_log == "/t");
}

TEST_CASE("each value out of its set or range is refused by name") {
  const std::pair<const char*, const char*> wrong[] = {
      {"--np", "0"},
      {"--np", "-1"},
      {"--np", "x"},
      {"--np", "1048577"},
      {"--slots-per-node", "0"},
      {"--ssh-port", "65536"},
      {"--bootstrap", "ssh"},
      {"--stdin", "1"},
      {"--log-format", "xml"},
      {"--log-level", "trace"},
      {"--rank-level", "all"},
      {"--log-overflow", "lose"},
      {"--output", "yaml"},
      {"--transport", "rsh"},
      {"--transport", "exec:"},
      {"--map-by", "core"},
      {"--map-by", "ppr:0:node"},
      {"--map-by", "slot:PE=2"},
      {"--map-by", "nodes"},
      {"--map-by", "ppr:1:node:PE=2"},
      {"--bind-to", "socket"},
      {"--bind-to", "core:x"},
      {"--gpu-bind", "all"},
      {"--profile", "rdna"},
      {"--local", "2"},
      {"--local", "0x4"},
      {"--local", "513x1"},
      {"--local", "2x4x8"},
      {"--log-ranks", "3-1"}};
  for (const auto& [option, value] : wrong) {
    INFO(option << " " << value);
    CHECK(contains(bad({option, value}), option));
  }
}

TEST_CASE("an option without its value") {
  CHECK(parse({"--np"}).exit_code == 2);
  CHECK(parse({"--hostfile"}).exit_code == 2);
}

TEST_CASE("variables stand for options, which win over them") {
  const Variable port("MUSTER_SSH_PORT", "2022");
  const Variable profile("MUSTER_PROFILE", "rdma");
  const Variable grace("MUSTER_GRACE", "9s");
  const Variable format("MUSTER_LOG_FORMAT", "plain");
  const Variable overflow("MUSTER_LOG_OVERFLOW", "drop");
  const LaunchOptions o = good({"--profile", "tcp"});
  CHECK(o.ssh_port == 2022);
  CHECK(o.profile == "tcp");
  CHECK(o.timeouts.grace_ms == 9'000);
  CHECK(o.log_format == "plain");
  CHECK(o.log_drop);
}

TEST_CASE("a variable out of range is refused as its option is") {
  const Variable port("MUSTER_SSH_PORT", "70000");
  CHECK(contains(bad({}), "--ssh-port"));
}

TEST_CASE("a bad value out of the environment is said to be from there") {
  ::setenv("MUSTER_LOG_FORMAT", "xml", 1);
  const std::string listed = parse({"--", "./app"}).err;
  ::unsetenv("MUSTER_LOG_FORMAT");
  CHECK(listed.find("(set by MUSTER_LOG_FORMAT)") != std::string::npos);
  ::setenv("MUSTER_TIMEOUT", "soon", 1);
  const std::string read = parse({"--", "./app"}).err;
  ::unsetenv("MUSTER_TIMEOUT");
  CHECK(read.find("(set by MUSTER_TIMEOUT)") != std::string::npos);
  CHECK(parse({"--timeout", "soon", "--", "./app"}).err.find("set by") ==
        std::string::npos);
}

TEST_CASE("an option without its value says so in words") {
  CHECK(parse({"--np"}).err ==
        "muster launch: --np needs a value. See `muster launch --help`.\n");
}

TEST_CASE("mpirun's spellings with one dash") {
  CHECK(good({"-np", "4"}).np == 4);
  CHECK(good({"-x", "A=1", "-np", "4"}).np == 4);
  CHECK(good({"--oversubscribe", "-np", "2"}).np == 2);
  // -h alone is help: "-hostfile f" must not print it and end well.
  CHECK(good({"-hostfile", "/h"}).hostfile == "/h");
  CHECK(good({"-hostfile=/h"}).hostfile == "/h");
  CHECK(good({"-host", "a:2"}).hosts == "a:2");
  CHECK(good({"-hosts", "a,b"}).hosts == "a,b");
  CHECK(good({"-oversubscribe"}).oversubscribe);
  CHECK(good({"-map-by", "node"}).map_by == "node");
  CHECK(good({"-wdir", "/w"}).cwd == "/w");
}

TEST_CASE("the program's own arguments are left alone") {
  const Parsed parsed = parse(
      {"-n", "2", "./app", "-np", "9", "-hostfile", "x", "--", "-n", "7"});
  CHECK_FALSE(parsed.exit_code);
  CHECK(parsed.o.np == 2);
  CHECK(parsed.o.command ==
        Words{"./app", "-np", "9", "-hostfile", "x", "--", "-n", "7"});
}

TEST_CASE("unknown options are told with the nearest that there is") {
  CHECK(contains(bad({"--timout", "5"}), "Did you mean --timeout?"));
  CHECK(contains(bad({"-n", "2", "-n", "3", "app"}), "--np is given twice"));
  CHECK(contains(bad({"--local", "1x2", "-H", "a", "app"}), "exclude"));
  CHECK(contains(bad({"--", "--timeout", "5s", "app"}),
                 "--timeout stands where the program is expected"));
  CHECK(contains(bad({"--", ""}), "the program's name is empty"));
  CHECK(contains(bad({"--hostfil=/h"}), "Did you mean --hostfile?"));
  CHECK(contains(bad({"--oversubscrib"}), "--oversubscribe"));
  CHECK(contains(bad({"--qwertyuiop"}), "muster launch --help"));
}

TEST_CASE("no program") {
  CHECK(contains(parse({"-n", "2"}).err, "no program is given"));
  CHECK(parse({"-n", "2", "--"}).exit_code == 2);
  CHECK(parse({}).exit_code == 2);
}

TEST_CASE("help ends well and shows the examples") {
  const Parsed parsed = parse({"--help"});
  CHECK(parsed.exit_code == 0);
  CHECK(contains(parsed.out, "muster launch --local 2x4"));
}

TEST_CASE("an mpirun line is told from a program") {
  CHECK(parse({"--", "mpirun", "-np", "2", "x"}).o.is_line);
  CHECK(parse({"--", "/usr/bin/mpiexec.hydra", "x"}).o.is_line);
  CHECK_FALSE(parse({"--", "./mpirun.sh"}).o.is_line);
  CHECK_FALSE(parse({"--once", "--", "mpirun", "x"}).o.is_line);
  // What builds its own mpirun line is not started in each rank.
  CHECK(parse({"--", "horovodrun", "-np", "4", "x"}).o.once);
  CHECK(parse({"--", "/usr/bin/deepspeed", "x.py"}).o.once);
  CHECK_FALSE(parse({"--", "python", "deepspeed"}).o.once);
  CHECK(parse({"--", "accelerate", "launch", "--mpirun_hostfile", "f", "x.py"})
            .o.once);
  CHECK_FALSE(parse({"--", "accelerate", "launch", "x.py"}).o.once);
  CHECK(is_mpirun_name("/opt/x/orterun"));
  CHECK_FALSE(is_mpirun_name("mpirunner"));
  CHECK_FALSE(is_mpirun_name(""));
}

}  // namespace
}  // namespace muster
