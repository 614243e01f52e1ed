// SPDX-License-Identifier: Apache-2.0
// Pods of both operators, as they look from inside, and what is made of them.
#include "job/operator_contract.h"

#include "catch.h"
#include "job/mountinfo.h"
#include "job/ssh_port.h"

namespace muster {
namespace {

PodView mpi_operator_launcher() {
  PodView view;
  view.hostname = "pi-launcher";
  view.env = {{"K_MPI_JOB_ROLE", "launcher"},
              {"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"}};
  view.key_dirs = {"/root/.ssh"};
  view.hostfiles = {{"/etc/mpi/hostfile",
                     "pi-worker-0.pi.ns.svc slots=2\n"
                     "pi-worker-1.pi.ns.svc slots=2\n"}};
  return view;
}

PodView trainer_launcher() {
  PodView view;
  view.hostname = "tj-launcher-0-0";
  view.env = {{"JOB_COMPLETION_INDEX", "0"},
              {"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"}};
  view.key_dirs = {"/home/mpiuser/.ssh"};
  view.hostfiles = {{"/etc/mpi/hostfile",
                     "tj-node-0-0.tj slots=8\ntj-launcher-0-0.tj slots=8\n"}};
  return view;
}

TEST_CASE("a launcher of mpi-operator") {
  const Contract contract = decide_contract(mpi_operator_launcher());
  CHECK(contract.role == Role::kLauncher);
  CHECK(contract.role_reason == "K_MPI_JOB_ROLE is launcher");
  CHECK(contract.operator_kind == OperatorKind::kMpiOperator);
  CHECK(contract.key_dir == "/root/.ssh");
  CHECK(contract.ssh_port == 2222);
  CHECK(contract.try_port_22);
  CHECK(contract.hostfile_path == "/etc/mpi/hostfile");
  REQUIRE(contract.hostfile);
  CHECK(contract.hostfile->hosts.size() == 2);
  CHECK(contract.mpi_family_hint == "openmpi");
  CHECK(contract.self_index == -1);
  CHECK_FALSE(contract.runs_ranks);
  CHECK(contract.findings.empty());
}

TEST_CASE("runLauncherAsWorker") {
  PodView view = mpi_operator_launcher();
  view.hostfiles[0].text =
      "PI-launcher.pi.ns.svc slots=2\npi-launcher-2.pi.ns.svc slots=2\n";
  const Contract contract = decide_contract(view);
  CHECK(contract.self_index == 0);
  CHECK(contract.runs_ranks);
}

TEST_CASE("a launcher that is a worker has its node's name (hostNetwork)") {
  PodView view = mpi_operator_launcher();
  view.hostname = "gpu-node-7";
  view.hostfiles[0].text =
      "pi-worker-0.pi.ns.svc slots=2\npi-launcher.pi.ns.svc slots=2\n";
  CHECK(decide_contract(view).self_index == 1);
  // Of another operator the same name says nothing.
  view.env = {{"MUSTER_ROLE", "launcher"}};
  CHECK(decide_contract(view).self_index == -1);

  view = mpi_operator_launcher();
  view.hostname = "gpu-node-7";
  view.hostfiles[0].text = "x-launcher.y.ns.svc\nlauncher\npi-launcher\n";
  CHECK(decide_contract(view).self_index == -1);
}

TEST_CASE("a worker of mpi-operator") {
  PodView view;
  view.hostname = "pi-worker-0";
  view.env = {{"K_MPI_JOB_ROLE", "worker"}};
  view.key_dirs = {"/home/mpiuser/.ssh"};
  view.ssh_configs = {{"/home/mpiuser/.sshd_config",
                       "HostKey /x\nStrictModes no\nPort 2233\n"}};
  const Contract contract = decide_contract(view);
  CHECK(contract.role == Role::kWorker);
  CHECK(contract.ssh_port == 2233);
  CHECK(contract.ssh_port_reason == "/home/mpiuser/.sshd_config says so");
  CHECK_FALSE(contract.try_port_22);
  CHECK(contract.runs_ranks);
  CHECK_FALSE(contract.hostfile);
}

TEST_CASE("pods of Trainer, which names no role") {
  Contract contract = decide_contract(trainer_launcher());
  CHECK(contract.role == Role::kLauncher);
  CHECK(contract.operator_kind == OperatorKind::kTrainer);
  CHECK(contract.self_index == 1);  // the launcher's line comes last
  CHECK(contract.runs_ranks);
  CHECK(contract.completion_index == 0);
  CHECK_FALSE(contract.is_spare_launcher);

  PodView spare = trainer_launcher();
  spare.hostname = "tj-launcher-0-1";
  spare.env[0].second = "1";
  CHECK(decide_contract(spare).is_spare_launcher);

  PodView node;
  node.hostname = "tj-node-0-3";
  node.env = {{"JOB_COMPLETION_INDEX", "3"}};
  node.key_dirs = {"/home/mpiuser/.ssh"};
  contract = decide_contract(node);
  CHECK(contract.role == Role::kWorker);
  CHECK(contract.operator_kind == OperatorKind::kTrainer);
  CHECK(contract.completion_index == 3);
  CHECK_FALSE(contract.is_spare_launcher);
}

TEST_CASE("no operator at all") {
  PodView view;
  view.hostname = "laptop";
  const Contract contract = decide_contract(view);
  CHECK(contract.role == Role::kManual);
  CHECK(contract.operator_kind == OperatorKind::kNone);
  CHECK(contract.completion_index == -1);
  CHECK(contract.findings.empty());
}

TEST_CASE("flags win over everything, then MUSTER_ variables") {
  ContractFlags flags;
  flags.role = Role::kWorker;
  flags.key_dir = "/keys";
  flags.ssh_port = 33;
  PodView view = mpi_operator_launcher();
  view.env.emplace_back("MUSTER_ROLE", "manual");
  view.env.emplace_back("MUSTER_KEY_DIR", "/env-keys");
  view.env.emplace_back("MUSTER_SSH_PORT", "44");
  Contract contract = decide_contract(view, flags);
  CHECK(contract.role == Role::kWorker);
  CHECK(contract.key_dir == "/keys");
  CHECK(contract.ssh_port == 33);
  CHECK_FALSE(contract.try_port_22);
  contract = decide_contract(view);
  CHECK(contract.role == Role::kManual);
  CHECK(contract.key_dir == "/env-keys");
  CHECK(contract.ssh_port == 44);
}

TEST_CASE("bad input is a finding, never a guess") {
  PodView view = mpi_operator_launcher();
  view.env.emplace_back("MUSTER_ROLE", "boss");
  view.env.emplace_back("MUSTER_SSH_PORT", "70000");
  view.key_dirs.clear();
  view.hostfiles[0].text = "a slots=0\n";
  const Contract contract = decide_contract(view);
  CHECK(contract.role == Role::kLauncher);
  CHECK(contract.ssh_port == 2222);
  std::string codes;
  for (const Finding& finding : contract.findings) codes += finding.code + " ";
  CHECK(codes == "unknown_role bad_port hostfile_slots no_job_key ");
  CHECK(contract.findings[2].severity == Severity::kError);
  CHECK(contract.findings[2].text ==
        "/etc/mpi/hostfile:1: bad host entry \"a slots=0\": 0 slots are "
        "outside 1 to 65536");
}

TEST_CASE("a key that this user cannot read is named with its remedy") {
  PodView view = mpi_operator_launcher();
  view.key_dirs.clear();
  view.locked_key_dirs = {"/root/.ssh"};
  const Contract contract = decide_contract(view);
  CHECK(contract.key_dir == "/root/.ssh");  // its error is told, not skipped
  REQUIRE(contract.findings.size() == 1);
  CHECK(contract.findings[0].code == "job_key_unreadable");
  CHECK(contract.findings[0].remedy.find("sshAuthMountPath") !=
        std::string::npos);
  view.key_dirs = {"/etc/mpi-ssh"};
  CHECK(decide_contract(view).key_dir == "/etc/mpi-ssh");
}

TEST_CASE("an empty hostfile is waited for") {
  PodView view = mpi_operator_launcher();
  view.hostfiles[0].text = "";
  const Contract contract = decide_contract(view);
  CHECK(contract.hostfile_pending);
  CHECK_FALSE(contract.hostfile);
  CHECK(contract.hostfile_path == "/etc/mpi/hostfile");
  CHECK(contract.findings.empty());
}

TEST_CASE("family hints") {
  for (const auto& [name, family] :
       {std::pair{"I_MPI_HYDRA_HOST_FILE", "intel"},
        std::pair{"HYDRA_HOST_FILE", "mpich"},
        std::pair{"PRTE_MCA_prte_default_hostfile", "openmpi"}}) {
    PodView view;
    view.env = {{name, "/etc/mpi/hostfile"}};
    CHECK(decide_contract(view).mpi_family_hint == family);
  }
}

TEST_CASE("self by name or address, never by resemblance") {
  const auto hosts =
      parse_hostfile("a-1.x\na.x\n10.0.0.1\nfd00::1\n", "F")->hosts;
  CHECK(find_self(hosts, "a", {}) == 1);
  CHECK(find_self(hosts, "a-1.elsewhere", {}) == 0);
  CHECK(find_self(hosts, "b", {"10.0.0.1"}) == 2);
  CHECK(find_self(hosts, "b", {"fd00::1"}) == 3);
  CHECK(find_self(hosts, "b", {"10.0.0.11"}) == -1);
  CHECK(find_self(hosts, "", {}) == -1);
  CHECK(find_self(hosts, "10", {}) == -1);
}

TEST_CASE("ports in ssh configuration") {
  const std::pair<const char*, int> rows[] = {
      {"", 0},
      {"Port 2222", 2222},
      {"  port=2222 # x\r\n", 2222},
      {"PORT \"33\"\nPort 44", 33},
      {"#Port 22\nPort 2200", 2200},
      {"Host a\n Port 5\nHost *\n Port 6", 6},
      {"Host * !b\n Port 5", 0},
      {"Match user x\nPort 7", 0},
      {"Match all\nPort 7", 7},
      {"Port 0\nPort 70000\nPort x\nPort 9", 9},
      {"GatewayPorts 1", 0},
      {"Port", 0}};
  for (const auto& [text, port] : rows) {
    INFO(text);
    CHECK(port_of_ssh_config(text).value_or(0) == port);
  }
}

TEST_CASE("mountinfo") {
  const auto mounts = parse_mountinfo(
      "22 1 0:20 / / rw,relatime shared:1 - overlay overlay rw\n"
      "23 22 0:21 / /a\\040b\\011c rw - tmpfs tmp\\134fs rw,size=1k\n"
      "24 22 0:22 / /opt rw master:1 propagate_from:2 - ext4 /dev/x rw\n"
      "garbage\n"
      "25 22 0:22 / relative rw - ext4 x rw\n"
      "26 22 0:22 / /no-dash rw ext4 x rw\n"
      "27 22 0:22 / /cut rw -\n"
      "28 22 0:22 / /odd\\04 rw - t \\999 rw\n"
      "29 22 0:22 / /end\\040 rw - tmpfs s\\400 rw");
  REQUIRE(mounts.size() == 5);
  CHECK(mounts[0].point == "/");
  CHECK(mounts[1].point == "/a b\tc");
  CHECK(mounts[1].type == "tmpfs");
  CHECK(mounts[1].source == "tmp\\fs");
  CHECK(mounts[2].type == "ext4");
  CHECK(mounts[3].point == "/odd\\04");
  CHECK(mounts[3].source == "\\999");
  CHECK(mounts[4].point == "/end ");
  CHECK(mounts[4].source == "s\\400");
  CHECK(parse_mountinfo("").empty());
}

}  // namespace
}  // namespace muster
