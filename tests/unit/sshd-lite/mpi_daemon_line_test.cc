// SPDX-License-Identifier: Apache-2.0
// The lines are those that the launchers sent, taken with a remote-shell agent
// that writes down its arguments.
#include "sshd-lite/mpi_daemon_line.h"

#include "catch.h"
#include "sshd-lite/exec_policy.h"

using namespace muster;

TEST_CASE("Open MPI 4 with a prefix") {
  const auto line = parse_mpi_daemon_line(
      "          PATH=/opt/ompi/bin:$PATH ; export PATH ; "
      "LD_LIBRARY_PATH=/opt/ompi/lib:${LD_LIBRARY_PATH:-} ; export "
      "LD_LIBRARY_PATH ; DYLD_LIBRARY_PATH=/opt/ompi/lib:"
      "${DYLD_LIBRARY_PATH:-} ; export DYLD_LIBRARY_PATH ;   "
      "/opt/ompi/bin/orted -mca ess \"env\" -mca ess_base_jobid \"1024065536\" "
      "-mca orte_hnp_uri "
      "\"1024065536.0;tcp://192.0.2.2:44619;tcp6://[fd00::2]:37391\" "
      "-mca plm \"rsh\" --tree-spawn -mca pmix \"^s1,s2,cray,isolated\"");
  REQUIRE(line);
  REQUIRE(line->changes.size() == 3);
  CHECK(line->changes[0].name == "PATH");
  CHECK(line->changes[0].value == "/opt/ompi/bin");
  CHECK(line->changes[0].keeps_old);
  CHECK(line->changes[1].name == "LD_LIBRARY_PATH");
  CHECK(line->changes[1].keeps_old);
  CHECK(line->argv[0] == "/opt/ompi/bin/orted");
  CHECK(line->argv[3] == "env");
  CHECK(line->argv[9] ==
        "1024065536.0;tcp://192.0.2.2:44619;tcp6://[fd00::2]:37391");
  CHECK(line->argv.back() == "^s1,s2,cray,isolated");
}

TEST_CASE("Open MPI 4 for a plain sh asks for the profile") {
  const auto line = parse_mpi_daemon_line(
      "( test ! -r ./.profile || . ./.profile;  orted --daemonize -mca ess "
      "\"env\" -mca orte_node_regex \"vm,nodea,nodeb@0(3)\" )");
  REQUIRE(line);
  CHECK(line->changes.empty());
  CHECK(line->argv[0] == "orted");
  CHECK(line->argv.back() == "vm,nodea,nodeb@0(3)");
}

TEST_CASE("Open MPI 5") {
  const auto line = parse_mpi_daemon_line(
      "PRTE_PREFIX=/usr;export PRTE_PREFIX;LD_LIBRARY_PATH=/usr/lib:/usr/lib/"
      "pmix2/lib:$LD_LIBRARY_PATH;export LD_LIBRARY_PATH;/usr/bin/prted "
      "--allow-run-as-root --prtemca ess \"env\" --prtemca prte_hnp_uri "
      "\"prterun-vm-1@0.0;tcp://192.0.2.2:45707:64,24\" --tree-spawn");
  REQUIRE(line);
  REQUIRE(line->changes.size() == 2);
  CHECK(line->changes[0].value == "/usr");
  CHECK_FALSE(line->changes[0].keeps_old);
  CHECK(line->changes[1].value == "/usr/lib:/usr/lib/pmix2/lib");
  CHECK(line->argv[0] == "/usr/bin/prted");
}

TEST_CASE("MPICH and Intel MPI") {
  const auto mpich = parse_mpi_daemon_line(
      "\"/usr/bin/hydra_pmi_proxy\" --control-port vm:39507 --rmk user "
      "--launcher ssh --demux poll --pgid 0 --retries 10 --usize -2 "
      "--proxy-id 1");
  REQUIRE(mpich);
  CHECK(mpich->argv[0] == "/usr/bin/hydra_pmi_proxy");
  CHECK(mpich->argv[2] == "vm:39507");
  CHECK(parse_mpi_daemon_line(
      "/opt/intel/oneapi/mpi/latest/bin//hydra_bstrap_proxy --upstream-host "
      "launcher --upstream-port 40001 --pgid 0 --launcher ssh --base-path "
      "/opt/intel/oneapi/mpi/latest/bin/ --tree-width 16 "
      "/opt/intel/oneapi/mpi/latest/bin//hydra_pmi_proxy --usize -1"));
}

TEST_CASE("what only looks like a daemon's line is refused") {
  const std::string command = GENERATE(
      "orted; id", "orted & id", "orted | id", "orted > /x", "orted `id`",
      "orted $(id)", "orted $HOME", "orted \"$HOME\"", "orted \"`id`\"",
      "orted \"unclosed", "orted 'unclosed", "./orted", "bin/orted",
      "/x/../bin/orted", "/tmp/xorted", "orted2", "sh -c orted", "id orted",
      "LD_PRELOAD=/x orted", "PATH=$(id) orted", "PATH=/x:$HOME orted",
      "export LD_PRELOAD; orted", "( orted", "orted )", "( orted ) )",
      "( orted ; id )", "test ! -r ./.profile || . ./x; orted",
      "test ! -r ./.profile || id; orted", "|| orted", "; orted", "orted\nid",
      "orted \\; id", "PATH=/x", "", "(", "export", "export PATH", "orted *",
      "orted ~", "orted #x", "orted {a}|b", "setenv PATH /x ; orted",
      "PATH=/x orted=1");
  INFO(command);
  CHECK_FALSE(parse_mpi_daemon_line(command));
}

TEST_CASE("the policy names the flag that would let a daemon in") {
  ExecPolicy policy{"/muster-agent"};
  policy.allow_mpi_daemons = false;
  const auto refused = decide_exec(policy, "orted --x");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().hint.find("--refuse-mpi-daemons") != std::string::npos);
  policy.allow_mpi_daemons = true;
  const auto allowed = decide_exec(policy, "orted --x");
  REQUIRE(allowed);
  CHECK(allowed->kind == CommandKind::kDaemon);
  CHECK_FALSE(decide_exec(policy, "id root"));
  CHECK(decide_exec(policy, "muster-agent agent")->kind == CommandKind::kAgent);
}
