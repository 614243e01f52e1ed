// SPDX-License-Identifier: Apache-2.0
#include "cli/command_table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "cli/completion.h"
#include "cli/entry.h"
#include "cli/version.h"
#include "diagnosis/explain.h"
#include "doctor/doctor_main.h"
#include "doctor/netpol_main.h"
#include "fabric/fabric_main.h"
#include "launcher/commands/check_run.h"
#include "launcher/commands/hostfile_main.h"
#include "launcher/commands/launch_main.h"
#include "launcher/commands/stack_main.h"
#include "launcher/commands/status_main.h"
#include "launcher/commands/task_main.h"
#include "logs/logs_main.h"
#include "sshd-lite/keygen.h"
#include "sshd-lite/ssh_main.h"
#include "worker/pod/pod_main.h"
#include "worker/pod/probe.h"

namespace muster {

namespace {

using Arguments = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// check, bench and mpi in a launcher pod are about the whole job.
int fabric_of_pod_or_job(const Arguments& args) {
  if (const auto job = job_fabric_main(args)) return *job;
  return fabric_main(args);
}

int worker_or_probe(const Arguments& args) {
  if (args.empty() || args[0] != "probe") return worker_main(args);
  return worker_probe_main({args.begin() + 1, args.end()});
}

Command launch_command() {
  return {"launch",
          "start an MPI job on the workers of this job",
          "[options] [--] PROGRAM [ARGUMENT...]",
          launch_main,
          {{"muster launch -n 16 -- python train.py",
            "16 ranks on the job's workers"},
           {"muster launch -- mpirun -np 16 -x NCCL_DEBUG python train.py",
            "a whole mpirun line, taken over"},
           {"muster launch --local 2x4 -- ./app",
            "2 emulated nodes with 4 slots each, on this machine"}},
          {{"N", "that of the rank that failed first"},
           {"128+N", "that rank was killed by signal N"},
           {"2", "wrong command line"},
           {"100-109", "permanent: settings, preflight, placement"},
           {"124", "the job's own time limit"},
           {"126, 127", "the program cannot be run, or is not there"},
           {"200-209", "worth a retry: workers not ready, lost, preempted"}}};
}

Command worker_command() {
  return {"worker",
          "be a worker pod; worker probe ready|live asks one",
          "[options] | probe ready|live [options]",
          worker_or_probe,
          {{"muster worker", "pid 1 of a worker pod"},
           {"muster worker --release success",
            "leave with 0 once a job has succeeded"},
           {"muster worker probe ready",
            "a readiness probe that tries the whole way"}},
          {{"0", "released, or stopped while idle; probe: yes"},
           {"1", "probe: no, with the reason on stdout"},
           {"2", "wrong command line"},
           {"100", "it could not start: keys, port, installation"},
           {"143", "SIGTERM ended it while a job ran"},
           {"201", "its launcher went away and did not come back"}},
          {},
          {"probe"}};
}

Command sshd_command() {
  return {"sshd",
          "the same as worker, with OpenSSH's options",
          "[-De] [-f FILE] [-p PORT] [-h FILE] [-o KEY=VALUE]",
          sshd_main,
          {{"/usr/sbin/sshd -De", "an operator's default worker command"},
           {"muster sshd -De -f /home/mpiuser/.sshd_config",
            "with the port and keys of that file"},
           {"muster sshd -t -f FILE", "only check the keys"}},
          {{"as worker", "see muster worker --help"},
           {"1", "-t: the keys cannot be used"}},
          "  -D, -e, -q, -4, -6      taken and dropped: always so\n"
          "  -d                      debug messages\n"
          "  -t, -T, -G              check the keys and leave\n"
          "  -V                      print the version and leave\n"
          "  -f FILE                 sshd_config to read\n"
          "  -p PORT                 port to listen on\n"
          "  -h FILE                 host key\n"
          "  -o KEY=VALUE            Port, ListenAddress, HostKey, "
          "AuthorizedKeysFile\n",
          {},
          false};
}

Command ssh_command() {
  return {"ssh",
          "run a command on a worker, with ssh's options",
          "[options] [USER@]HOST COMMAND [ARGUMENT...]",
          ssh_main,
          {{"muster ssh pi-worker-0 hostname", "one command on one worker"},
           {"muster ssh -p 2222 pi-worker-0.pi uname -r", "another port"},
           {"pdsh -R ssh -w pi-worker-[0-3] date",
            "dropin/bin/ssh on PATH serves pdsh and the like"}},
          {{"N", "that of the command"},
           {"128+N", "the command was killed by signal N"},
           {"255", "the way there failed; stderr says how"}},
          "  -p PORT                 port (MUSTER_PORT, ssh_config, 2222)\n"
          "  -l USER                 login name; the key decides, not it\n"
          "  -i FILE                 private key (found by itself)\n"
          "  -F FILE                 ssh_config whose Port counts\n"
          "  -n                      no stdin\n"
          "  -q                      errors only\n"
          "  -v                      debug messages\n"
          "  -V                      print the version and leave\n"
          "  -o KEY=VALUE            User, Port, IdentityFile, ConnectTimeout, "
          "MusterPinHostKey=no; the rest is dropped\n",
          {},
          false};
}

Command fabric_command() {
  return {
      "fabric",
      "the network of this pod: facts, settings with reasons, tests",
      "show|plan|explain|env|check|bench|mpi|nccl [options] [-- COMMAND]",
      fabric_of_pod_or_job,
      {{"muster fabric show -- python3 train.py",
        "adapters, GPUs, what the NCCL of this command would do"},
       {"muster fabric plan --profile rdma", "settings, and why"},
       {"muster fabric bench --report /tmp/fabric.html",
        "in the launcher pod: all pairs, with a map"}},
      {{"0", "well"},
       {"2", "wrong command line"},
       {"31-39", "a check or bench failed; the class says how"},
       {"100", "unreadable input"},
       {"101", "env: the settings are refused"}},
      "  --facts FILE...         facts files instead of this pod (-: stdin)\n"
      "  --sysroot DIR           a recorded system instead of this one\n"
      "  --profile NAME          auto, tcp, rdma, rl (ppo, grpo, gapo)\n"
      "  --app-profile APP=NAME  profile of one application of an MPMD line\n"
      "  --nccl VERSION          instead of the one in the image\n"
      "  --site FILE             the site's own values (env "
      "MUSTER_FABRIC_SITE)\n"
      "  --pod NAME              env: for which pod\n"
      "  --listen [HOST:]PORT    check, bench: wait there for the other pod\n"
      "  --peer HOST:PORT        check, bench: the other pod\n"
      "  --timeout TIME          1ms to 10m\n"
      "  --megabytes N           bench: how much to send at most\n"
      "  --port N                over a job: every pod listens there\n"
      "  --rounds N              over a job: at most so many (64)\n"
      "  --report FILE.html      over a job: a page with a map of all pairs\n"
      "  --connect-timeout TIME  over a job: to reach its pods (10s)\n"
      "  -H, --hostfile, --local, --transport, --key-dir, --ssh-port, "
      "--ssh-user\n"
      "                          over a job, as of muster launch\n"
      "  -o, --output text|json  what to print\n",
      {"show", "plan", "explain", "env", "check", "bench", "mpi", "nccl"},
      false};
}

Command doctor_command() {
  return {"doctor",
          "look for what usually breaks a job in this pod",
          "[options]",
          doctor_main,
          {{"muster doctor", "every check of this pod, with the YAML to add"},
           {"muster doctor --job --check-path /data",
            "in the launcher: all pods, and do they share /data"},
           {"muster doctor --program ./app -o json",
            "its shared libraries; for programs"}},
          {{"0", "nothing that stops a job"},
           {"2", "wrong command line"},
           {"101", "something here will stop a job"}}};
}

Command netpol_command() {
  return {
      "netpol",
      "print the NetworkPolicy that a job needs",
      "--job NAME [options]",
      netpol_main,
      {{"muster netpol --job pi | kubectl apply -f -",
        "the job's pods reach each other, and DNS"},
       {"muster netpol --job pi --posture restricted --port-range "
        "40000-40999",
        "only these ports between them"},
       {"muster netpol --job pi --posture isolated", "nothing else in or out"}},
      {{"0", "printed"}, {"2", "wrong command line"}}};
}

Command hostfile_command() {
  return {"hostfile",
          "write the job's hostfile for any MPI",
          "[options]",
          hostfile_main,
          {{"muster hostfile --format mpich", "as Hydra reads it"},
           {"muster hostfile --slots-per-node 8 -o /tmp/hostfile",
            "with 8 slots a host, into a file"},
           {"muster hostfile --explain", "and why so many slots"}},
          {{"0", "written"},
           {"2", "wrong command line"},
           {"100", "there is no usable hostfile"}}};
}

Command keygen_command() {
  return {"keygen",
          "make a job key, or a Secret with one",
          "[options]",
          keygen_main,
          {{"muster keygen -o yaml --name pi-ssh | kubectl apply -f -",
            "for a job without an operator"},
           {"muster keygen -o /tmp/keys", "id_rsa and authorized_keys there"},
           {"muster keygen -o yaml --type ed25519", "another kind of key"}},
          {{"0", "made"},
           {"1", "it could not be written"},
           {"2", "wrong command line"}}};
}

Command logs_command() {
  return {"logs",
          "read a job's log back: by rank, level, time, text",
          "[FILE|-] [options]",
          logs_main,
          {{"kubectl logs job/pi-launcher | muster logs --rank 3",
            "what rank 3 said"},
           {"muster logs job.log --level error --since 10m", "errors of late"},
           {"muster logs job.log --grep 'loss=' -o json", "for programs"}},
          {{"0", "read"}, {"1", "unreadable"}, {"2", "wrong command line"}},
          "  --rank LIST             ranks, as in 0,4-7\n"
          "  --worker NAME           a worker's name or number\n"
          "  --level LEVEL           that level and above: trace, debug, info, "
          "warn, error or fatal\n"
          "  --since TIME            an age (10m) or a timestamp\n"
          "  --until TIME            an age or a timestamp\n"
          "  --grep REGEX            lines that match it\n"
          "  -o text|json            what to print\n",
          {},
          false};
}

Command explain_command() {
  return {"explain",
          "what a failure code means and what to do about it",
          "[CODE]",
          explain_main,
          {{"muster explain", "all codes"},
           {"muster explain segfault", "one of them"},
           {"muster explain worker_lost", "another"}},
          {{"0", "found"}, {"2", "no such code"}},
          "",
          {},
          false};
}

Command explain_log_command() {
  return {"explain-log",
          "say why a job failed, from any log of it",
          "FILE|- [options]",
          explain_log_main,
          {{"kubectl logs job/pi-launcher | muster explain-log -",
            "mpirun, Hydra, srun, torchrun or muster wrote it"},
           {"muster explain-log job.log -o json", "for programs"},
           {"muster explain-log job.log --rules /etc/muster/rules",
            "with rules of your own"}},
          {{"0", "judged"}, {"1", "unreadable"}, {"2", "wrong command line"}},
          "  -o text|json            what to print\n"
          "  --rules DIR             a directory with further *.rules\n",
          {},
          false};
}

Command status_command() {
  return {"status",
          "how the launch in this pod is doing",
          "[options]",
          status_main,
          {{"kubectl exec job/pi-launcher -- muster status", "from outside"},
           {"muster status -o json", "for programs"},
           {"muster ps", "rank by rank"}},
          {{"0", "a launch runs"},
           {"1", "none runs here"},
           {"2", "wrong command line"}},
          "  -o text|json            what to print\n",
          {},
          false};
}

Command ps_command() {
  Command command = status_command();
  command.name = "ps";
  command.summary = "the ranks of the launch in this pod";
  command.run = ps_main;
  command.examples = {
      {"kubectl exec job/pi-launcher -- muster ps", "from outside"},
      {"muster ps -o json", "for programs"},
      {"muster status", "the launch as a whole"}};
  return command;
}

Command top_command() {
  Command command = status_command();
  command.name = "top";
  command.summary = "a live table of the ranks and pods of the launch";
  command.run = top_main;
  command.examples = {
      {"kubectl exec -it job/pi-launcher -- muster top", "live, from outside"},
      {"muster top -o json", "one sample, for programs"},
      {"muster top --interval 5 --record /tmp/top.jsonl",
       "a sample every 5 s until the job ends"}};
  command.exit_codes = {
      {"0", "shown, or the job has ended"},
      {"1", "no launch runs here, or its launcher was killed"},
      {"2", "wrong command line"}};
  command.option_lines =
      "  --interval SECONDS      between two looks, 0.5 to 60 (2)\n"
      "  --record FILE           appends a sample to FILE at each look, as a "
      "line of JSON,\n"
      "                          and shows no table\n"
      "  -o text|json            one sample, and no table that stays\n";
  return command;
}

Command stack_command() {
  Command command = status_command();
  command.name = "stack";
  command.summary = "where the ranks of the launch in this pod are";
  command.usage = "[RANKS] [options]";
  command.option_lines =
      "  RANKS                   as in 0-3,8; default all\n"
      "  --nccl                  asks NCCL (2.24 or later) and PyTorch's "
      "flight "
      "recorder,\n"
      "                          too, which ranks are behind; some releases of "
      "NCCL\n"
      "                          crash when they are asked while communicators "
      "are made\n" +
      command.option_lines;
  command.run = stack_main;
  command.examples = {
      {"muster stack", "all ranks, grouped by place"},
      {"muster stack 3,8-11", "only these"},
      {"muster stack --nccl", "and what NCCL and PyTorch know"}};
  return command;
}

Command task_command() {
  return {"task",
          "one rank that srun, flux or torchrun starts: logs and a verdict",
          "[--log-format FORMAT] -- PROGRAM [ARGUMENT...]",
          task_main,
          {{"srun -n 64 muster task -- ./app", "under Slurm"},
           {"flux run -n 64 muster task -- ./app", "under Flux"},
           {"muster task --log-format json -- python train.py",
            "one record per line"}},
          {{"N", "that of the program; 128+N if a signal killed it"},
           {"2", "wrong command line"},
           {"126, 127", "the program cannot be run, or is not there"}},
          "  --log-format FORMAT     text, plain or json (text) (env "
          "MUSTER_LOG_FORMAT)\n",
          {},
          false};
}

Command entry_command() {
  return {
      "entry",
      "an image's ENTRYPOINT: the pod's role, or any command",
      "[--] [COMMAND [ARGUMENT...]]",
      entry_main,
      {{"ENTRYPOINT [\"muster\", \"entry\"]", "in a Containerfile"},
       {"muster entry", "in a worker pod: muster worker"},
       {"muster entry -- python train.py", "python, with pid 1's duties done"}},
      {{"N", "the program's code; 128+N if signal N killed it"},
       {"2", "no role is to be seen and no command was given"},
       {"100", "a launcher pod without a program"},
       {"126, 127", "the command cannot be run, or is not there"}},
      "",
      {},
      false};
}

Command completion_command() {
  return {"completion",
          "print shell completion, or a man page",
          "bash|zsh | man COMMAND",
          completion_main,
          {{"muster completion bash > /etc/bash_completion.d/muster",
            "for all users"},
           {"source <(muster completion zsh)", "for this shell"},
           {"muster completion man launch | man -l -", "a manual page"}},
          {{"0", "printed"}, {"2", "wrong command line"}},
          "",
          {"bash", "zsh", "man"},
          false};
}

Command version_command() {
  return {"version",
          "print the version",
          "[--verbose] [-o text|json]",
          version_main,
          {{"muster version", "for people; muster --version is the same"},
           {"muster version --verbose",
            "with build, glibc and bundled libraries, for a report"},
           {"muster version --verbose -o json", "for programs"}},
          {{"0", "printed"}, {"2", "wrong command line"}},
          "  --verbose               the source revision, the build, the glibc "
          "that is needed,\n"
          "                          and the bundled libraries, too\n"
          "  -o text|json            what to print\n",
          {},
          false};
}

// By name, so that only a caller makes one: each is a page of text.
constexpr std::pair<std::string_view, Command (*)()> kTable[] = {
    {"launch", launch_command},
    {"worker", worker_command},
    {"sshd", sshd_command},
    {"ssh", ssh_command},
    {"fabric", fabric_command},
    {"doctor", doctor_command},
    {"netpol", netpol_command},
    {"hostfile", hostfile_command},
    {"keygen", keygen_command},
    {"logs", logs_command},
    {"status", status_command},
    {"ps", ps_command},
    {"top", top_command},
    {"stack", stack_command},
    {"explain", explain_command},
    {"explain-log", explain_log_command},
    {"task", task_command},
    {"entry", entry_command},
    {"completion", completion_command},
    {"version", version_command},
};

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> kCommands = [] {
    std::vector<Command> out;
    for (const auto& [name, make] : kTable) out.push_back(make());
    return out;
  }();
  return kCommands;
}

const Command* find_command(const std::string& name) {
  static std::map<std::string_view, Command> made;
  const auto* const found =
      std::find_if(std::begin(kTable), std::end(kTable),
                   [&](const auto& entry) { return entry.first == name; });
  if (found == std::end(kTable)) return nullptr;
  const auto old = made.find(found->first);
  if (old != made.end()) return &old->second;
  return &made.emplace(found->first, found->second()).first->second;
}

}  // namespace muster
