// SPDX-License-Identifier: Apache-2.0
#include "doctor/doctor_main.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/hostname.h"
#include "base/random.h"
#include "base/read_command_line.h"
#include "doctor/ask_workers.h"
#include "doctor/doctor_text.h"
#include "doctor/path_marks.h"
#include "job/exit_codes.h"
#include "job/hostfile.h"

namespace muster {

namespace {

constexpr size_t kNamesToFind = 16;  // for each worker, in --job

struct DoctorCommand {
  DoctorOptions examine;
  MarkRequest mark;
  std::string mark_text;
  std::string hosts;  // --hosts
  std::string output = "text";
  int port = 0;
  bool job = false;
};

void declare(CLI::App& app, DoctorCommand& command) {
  DoctorOptions& options = command.examine;
  app.add_option("--check-path", options.paths,
                 "directories that the job writes to: there, writable, space, "
                 "latency");
  app.add_option("--program", options.programs,
                 "programs whose shared libraries must be there; of a whole "
                 "command ('python3 train.py') also which NCCL it loads");
  app.add_option("--name", options.names, "further names that must resolve");
  app.add_option("--slots", options.slots,
                 "ranks that this pod is to run (default: the hostfile's)")
      ->transform(whole_number(1, 65536));
  app.add_flag("--job", command.job,
               "ask all workers too, and compare them (in the launcher)");
  app.add_option("--hosts", command.hosts,
                 "--job: these, as a,b,c (default: the hostfile's)");
  app.add_option("--ssh-port", command.port, "--job: the workers' port (2222)")
      ->transform(whole_number(1, 65535))
      ->envname("MUSTER_SSH_PORT");
  app.add_option("--sysroot", options.root,
                 "a recorded system instead of this one")
      ->check(CLI::ExistingDirectory);
  app.add_option("-o,--output", command.output, "what to print (text)")
      ->check(CLI::IsMember({"text", "json"}));
  // From a launcher's doctor to a worker's; hidden from users.
  app.add_option("--mark", command.mark_text)->group("");
}

// For the pod of this process. Only leaves marks if the options ask only for
// those.
DoctorReport own_report(const DoctorCommand& command) {
  if (command.mark.step == MarkStep::kList ||
      command.mark.step == MarkStep::kRemove) {
    DoctorReport report;
    report.hostname = own_hostname();
    for (const std::string& path : command.examine.paths) {
      PathState state;
      state.path = path;
      state.marks = do_mark(command.mark, path, report.hostname);
      report.paths.push_back(std::move(state));
    }
    return report;
  }
  const PodState pod = read_pod_state(command.examine);
  for (const std::string& path : command.examine.paths) {
    do_mark(command.mark, path, pod.facts.hostname);
  }
  return make_report(pod, examine(pod));
}

std::vector<std::string> words_for(const DoctorCommand& command) {
  std::vector<std::string> words = {"--output=json"};
  for (const auto& path : command.examine.paths) {
    words.push_back("--check-path=" + path);
  }
  if (command.mark.step == MarkStep::kList ||
      command.mark.step == MarkStep::kRemove) {
    return words;
  }
  for (const auto& program : command.examine.programs) {
    words.push_back("--program=" + program);
  }
  for (const auto& name : command.examine.names) {
    words.push_back("--name=" + name);
  }
  if (command.examine.slots > 0) {
    words.push_back("--slots=" + std::to_string(command.examine.slots));
  }
  return words;
}

// All pods, this one first.
std::vector<PodAnswer> ask_all(DoctorCommand command, MarkStep step,
                               const std::vector<std::string>& hosts) {
  command.mark.step = step;
  auto words = words_for(command);
  if (step != MarkStep::kNone) {
    const char* names[] = {"", "leave", "list", "remove"};
    words.push_back(std::string("--mark=") + names[static_cast<int>(step)] +
                    ":" + command.mark.id);
  }
  PodAnswer own;
  own.answered = true;
  own.report = own_report(command);
  own.host = own.report.hostname;
  std::vector<PodAnswer> answers = {std::move(own)};
  for (auto& one : ask_workers(hosts, words, command.port)) {
    answers.push_back(std::move(one));
  }
  return answers;
}

// The workers of this job without this pod. Error code "usage".
Result<std::vector<std::string>> worker_names(const DoctorCommand& command) {
  const Contract contract = own_contract(command.examine);
  Hostfile hosts;
  if (!command.hosts.empty()) {
    auto given = parse_host_list(command.hosts, "--hosts");
    if (!given) return fail(given.error());
    hosts = *std::move(given);
  } else if (contract.hostfile) {
    hosts = *contract.hostfile;
  } else {
    return fail(Error{"usage",
                      "--job needs the names of the workers",
                      "no hostfile was found in this pod",
                      {},
                      "run it in the launcher pod, or give --hosts a,b,c"});
  }
  const int self = find_self(hosts.hosts, own_hostname(), {});
  std::vector<std::string> names;
  for (size_t i = 0; i < hosts.hosts.size(); ++i) {
    if (static_cast<int>(i) != self) names.push_back(hosts.hosts[i].name);
  }
  return names;
}

std::vector<PodAnswer> examine_pods(const DoctorCommand& command,
                                    const std::vector<std::string>& hosts) {
  if (command.examine.paths.empty()) {
    return ask_all(command, MarkStep::kNone, hosts);
  }
  auto answers = ask_all(command, MarkStep::kLeave, hosts);
  const auto listed = ask_all(command, MarkStep::kList, hosts);
  ask_all(command, MarkStep::kRemove, hosts);
  for (size_t i = 0; i < answers.size(); ++i) {
    auto& paths = answers[i].report.paths;
    const auto& marked = listed[i].report.paths;
    for (size_t k = 0; k < paths.size() && k < marked.size(); ++k) {
      paths[k].marks = marked[k].marks;
    }
  }
  return answers;
}

Result<Severity> run(DoctorCommand& command) {
  if (!command.job) {
    const DoctorReport report = own_report(command);
    std::puts(command.output == "json" ? to_json(report).c_str()
                                       : doctor_text(report).c_str());
    return report.findings.empty() ? Severity::kInfo
                                   : report.findings[0].finding.severity;
  }
  auto hosts = worker_names(command);
  if (!hosts) return fail(hosts.error());
  command.mark.id = random_id();
  // Workers know no hostfile: the launcher passes the names that they must
  // find.
  command.examine.names.push_back(own_hostname());
  for (size_t i = 0; i < hosts->size() && i < kNamesToFind; ++i) {
    command.examine.names.push_back((*hosts)[i]);
  }
  const auto answers = examine_pods(command, *hosts);
  const auto findings = examine_job(answers);
  std::puts(command.output == "json"
                ? doctor_job_json(answers, findings).c_str()
                : doctor_job_text(answers, findings).c_str());
  return findings.empty() ? Severity::kInfo : findings[0].what.finding.severity;
}

}  // namespace

int doctor_main(const std::vector<std::string>& args) {
  DoctorCommand command;
  CLI::App app("Looks for what usually breaks a job in this pod.",
               "muster doctor");
  declare(app, command);
  if (const auto code = read_command_line(app, args)) return *code;
  if (!command.mark_text.empty() &&
      !parse_mark(command.mark_text, command.mark)) {
    std::fprintf(stderr, "muster doctor: bad --mark\n");
    return exit_code_for(ExitClass::kUsage);
  }
  const auto worst = run(command);
  if (!worst) {
    std::fprintf(stderr, "muster doctor: %s\n", worst.error().text().c_str());
    return exit_code_for(ExitClass::kUsage);
  }
  const int code = exit_code_for(
      *worst == Severity::kError ? ExitClass::kPreflight : ExitClass::kSuccess);
  std::fflush(stdout);
  // A thread that hangs in the resolver must not hold up, nor crash, the end.
  std::_Exit(code);
}

}  // namespace muster
