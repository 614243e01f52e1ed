// SPDX-License-Identifier: Apache-2.0
// Facts decide the exit code; no word that a program prints does.
#include "diagnosis/exit_status.h"

#include <array>
#include <csignal>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "catch.h"
#include "diagnosis/book/builtin_rules.h"
#include "diagnosis/book/rule_book.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

constexpr int64_t kMs = 1'000'000;

RankEvidence ended(int rank, int wait_status, int64_t at_ms) {
  RankEvidence evidence;
  evidence.rank = rank;
  evidence.node = rank + 1;
  evidence.host = "w-" + std::to_string(rank);
  evidence.outcome = RankOutcome::kExited;
  evidence.wait_status = wait_status;
  evidence.exit_ns = at_ms * kMs;
  return evidence;
}

RankEvidence stopped(RankEvidence rank) {
  rank.stopped_by_us = true;
  return rank;
}

NodeEvidence lost(int number, int64_t at_ms, const char* code) {
  NodeEvidence evidence;
  evidence.node = number;
  evidence.host = "w-" + std::to_string(number - 1);
  evidence.outcome = NodeOutcome::kLost;
  evidence.lost_ns = at_ms * kMs;
  evidence.error = {code, "worker lost", "", evidence.host, ""};
  return evidence;
}

Evidence job(std::vector<RankEvidence> ranks, const char* backend = "pmix") {
  Evidence evidence;
  evidence.job.backend = backend;
  evidence.job.phase = "run";
  evidence.job.world_size = static_cast<int>(ranks.size());
  evidence.ranks = std::move(ranks);
  return evidence;
}

Evidence by_mpirun(std::vector<RankEvidence> ranks, int tool_status) {
  Evidence evidence = job(std::move(ranks), "mpirun");
  evidence.job.tool_ended = true;
  evidence.job.tool_status = tool_status;
  return evidence;
}

Evidence with_finding(const char* code, const char* phase) {
  Evidence evidence = job({});
  evidence.job.phase = phase;
  evidence.findings.push_back({Severity::kError, code, "a reason", "", ""});
  return evidence;
}

Evidence never_ready(std::vector<const char*> codes) {
  Evidence evidence = job({});
  evidence.job.phase = "connect";
  for (const char* code : codes) {
    NodeEvidence node = lost(1, 0, code);
    node.outcome = NodeOutcome::kNeverReady;
    evidence.nodes.push_back(std::move(node));
  }
  return evidence;
}

template <class Change>
Evidence but(Evidence evidence, Change change) {
  change(evidence);
  return evidence;
}

constexpr int code(int exit_code) { return exit_code << 8; }

struct Row {
  const char* what;
  Evidence evidence;
  int exit_code;
  const char* exit_class;  // "" for a rank's or mpirun's own
  int rank;
};

void check(const Row& row) {
  INFO(row.what);
  const ExitStatus status = exit_status(row.evidence);
  CHECK(status.code == row.exit_code);
  CHECK((status.exit_class ? exit_class_name(*status.exit_class) : "") ==
        std::string_view(row.exit_class));
  CHECK(status.rank == row.rank);
}

}  // namespace

TEST_CASE("the rank that failed first decides") {
  for (const Row& row : {
           Row{"all well", job({ended(0, 0, 9), ended(1, 0, 9)}), 0, "success",
               -1},
           Row{"one code", job({ended(0, 0, 9), ended(1, code(7), 9)}), 7, "",
               1},
           Row{"a code of muster's own is still the rank's",
               job({ended(0, code(202), 9)}), 202, "", 0},
           Row{"the earlier of two",
               job({ended(0, code(3), 20), ended(1, code(7), 10)}), 7, "", 1},
           Row{"one that we stopped is no failure of its own",
               job({stopped(ended(0, SIGTERM, 5)), ended(1, code(7), 10)}), 7,
               "", 1},
           Row{"a signal", job({ended(0, SIGKILL, 10)}), 137, "", 0},
           Row{"the news of a crash comes behind that of its victims",
               job({ended(0, code(1), 400), ended(1, SIGABRT, 410),
                    ended(2, SIGSEGV, 450)}),
               139, "", 2},
           Row{"a crash much later is another story",
               job({ended(0, code(4), 400), ended(1, SIGSEGV, 9'000)}), 4, "",
               0},
           Row{"MPI_Abort, all stopped for it",
               but(job({stopped(ended(0, SIGTERM, 9))}),
                   [](Evidence& e) {
                     e.job.mpi_abort = true;
                     e.job.mpi_abort_code = 7;
                     e.job.mpi_abort_rank = 0;
                   }),
               7, "", 0},
           Row{"MPI_Abort with code 0 is no success",
               but(job({stopped(ended(0, SIGTERM, 9))}),
                   [](Evidence& e) { e.job.mpi_abort = true; }),
               1, "", -1},
       }) {
    check(row);
  }
}

TEST_CASE("mpirun's clean-up is never the cause") {
  for (const Row& row : {
           Row{"Hydra kills who is left after a code",
               by_mpirun({ended(0, SIGKILL, 10), ended(1, code(3), 11)},
                         code(3)),
               3, "", 1},
           Row{"whichever is heard of first",
               by_mpirun({ended(0, SIGKILL, 12), ended(1, code(3), 11)},
                         code(3)),
               3, "", 1},
           Row{"MPI_Abort under Hydra: all killed, the code is mpirun's",
               by_mpirun({ended(0, SIGKILL, 10), ended(1, SIGKILL, 11)},
                         code(7)),
               7, "", -1},
           Row{"a kill from outside, which Hydra returns as a bare number",
               by_mpirun({ended(0, SIGKILL, 10), ended(1, code(1), 30)},
                         9 << 8),
               137, "", 0},
           Row{"the same under Open MPI",
               by_mpirun({ended(0, SIGKILL, 10), ended(1, SIGTERM, 30)},
                         code(137)),
               137, "", 0},
           Row{"the news of the crash comes behind the kills",
               by_mpirun({ended(0, SIGTERM, 10), ended(1, SIGSEGV, 2'000)},
                         code(139)),
               139, "", 1},
           Row{"ranks killed by an mpirun that ended well",
               by_mpirun({ended(0, SIGTERM, 10), ended(1, 0, 5)}, 0), 1, "",
               -1},
           Row{"no rank was heard of", by_mpirun({}, code(5)), 5, "", -1},
           Row{"a script's end", by_mpirun({}, 0), 0, "success", -1},
           Row{"mpirun failed, its ranks did not",
               by_mpirun({ended(0, 0, 5)}, code(2)), 2, "", -1},
           Row{"mpirun itself was killed",
               but(by_mpirun({ended(0, SIGTERM, 10)}, SIGKILL),
                   [](Evidence& e) { e.job.tool_killed = true; }),
               137, "", -1},
       }) {
    check(row);
  }
}

TEST_CASE("mpirun's end counts where it was its own") {
  Evidence evidence =
      by_mpirun({ended(0, SIGTERM, 10), stopped(ended(1, 0, 50))}, code(5));
  CHECK(exit_status(evidence).code == 5);
  evidence.job.tool_stopped_by_us = true;
  CHECK(exit_status(evidence).code == 143);
  CHECK(exit_status(evidence).rank == 0);
  // Hydra ends with -1 where it fails itself.
  evidence.job.tool_stopped_by_us = false;
  evidence.job.tool_status = code(255);
  CHECK(exit_status(evidence).code == 143);
  // It crashed in its own clean-up.
  evidence = by_mpirun({ended(0, SIGKILL, 10), ended(1, SIGTERM, 30)}, SIGSEGV);
  CHECK(exit_status(evidence).code == 137);
}

TEST_CASE("an mpirun that starts nothing says why, and nobody else does") {
  const std::string missing =
      "mpirun was unable to launch the specified application as it could not "
      "access or execute an executable:";
  RankEvidence none;
  none.rank = 0;
  none.outcome = RankOutcome::kNeverStarted;
  Evidence evidence = by_mpirun({none}, code(132));
  CHECK(diagnose(evidence).exit_code == 132);
  evidence.job.tool_lines = {{5 * kMs, true, missing}};
  CHECK(diagnose(evidence).exit_code == 127);
  CHECK_FALSE(diagnose(evidence).retryable);
  evidence.job.tool_lines = {{5 * kMs, true, "the pod was evicted"}};
  CHECK(diagnose(evidence).exit_code == 132);
  // Once a rank has run, mpirun's words are as good as a rank's.
  evidence.ranks = {ended(0, code(7), 10)};
  evidence.job.tool_lines = {{5 * kMs, true, missing}};
  CHECK(diagnose(evidence).exit_code == 7);
}

TEST_CASE("what stopped the job decides where no rank had failed") {
  const auto stopping = [](auto change) {
    return but(job({stopped(ended(0, SIGTERM, 50)), stopped(ended(1, 0, 50))}),
               change);
  };
  const auto failed = [](Evidence evidence) {
    evidence.ranks.push_back(ended(2, code(9), 20));
    return evidence;
  };
  const std::array stops = {
      Row{"the time limit",
          stopping([](Evidence& e) { e.job.time_limit_hit = true; }), 124,
          "time_limit", -1},
      Row{"the start deadline",
          stopping([](Evidence& e) { e.job.start_deadline_hit = true; }), 203,
          "start_deadline", -1},
      Row{"Ctrl-C", stopping([](Evidence& e) { e.job.stop_signal = SIGINT; }),
          130, "", -1},
      Row{"SIGTERM from outside the pod", stopping([](Evidence& e) {
            e.job.stop_signal = SIGTERM;
            e.job.preempted = true;
          }),
          202, "preempted", -1},
      Row{"a worker that was told to leave", stopping([](Evidence& e) {
            e.nodes.push_back(lost(1, 0, ""));
            e.nodes[0].outcome = NodeOutcome::kConnected;
            e.nodes[0].told_to_leave = true;
          }),
          202, "preempted", -1},
      Row{"a hang", stopping([](Evidence& e) {
            e.findings.push_back({Severity::kError, "hang", "", "", ""});
          }),
          124, "time_limit", -1},
      Row{"a world of another size", stopping([](Evidence& e) {
            e.findings.push_back(
                {Severity::kError, "world_size_mismatch", "", "", ""});
          }),
          102, "placement", -1},
  };
  for (const Row& row : stops) {
    check(row);
    check({row.what, failed(row.evidence), 9, "", 2});
  }
}

TEST_CASE("a lost worker decides unless a rank had failed before") {
  const auto with = [](NodeEvidence node, std::vector<RankEvidence> ranks) {
    Evidence evidence = job(std::move(ranks));
    evidence.nodes.push_back(std::move(node));
    return evidence;
  };
  RankEvidence gone = ended(0, 0, 0);
  gone.outcome = RankOutcome::kLost;
  NodeEvidence oom = lost(1, 100, "worker_lost");
  oom.oom_kills_at_start = 0;
  oom.memory = {{90 * kMs, 1, 2, 2, 1}};
  NodeEvidence silent = lost(1, 12'000, "worker_silent");
  silent.memory = {{100 * kMs, 1, 20, 1, 0}};
  for (const Row& row : {
           Row{"lost", with(lost(1, 100, "worker_lost"), {gone}), 201,
               "worker_lost", -1},
           Row{"for its memory", with(oom, {gone}), 204, "worker_out_of_memory",
               -1},
           Row{"a rank elsewhere failed before",
               with(lost(1, 100, "worker_lost"), {gone, ended(1, code(3), 50)}),
               3, "", 1},
           Row{"a rank elsewhere missed it",
               with(lost(1, 100, "worker_lost"),
                    {gone, ended(1, code(3), 150)}),
               201, "worker_lost", -1},
           Row{"it was silent long before it was given up",
               with(silent, {gone, ended(1, code(3), 5'000)}), 201,
               "worker_lost", -1},
           Row{"its own rank failed, and it said so",
               with(lost(1, 100, "worker_lost"), {ended(0, code(3), 90)}), 3,
               "", 0},
           Row{"it gave the launcher up and ended its ranks",
               with(lost(1, 100, "launcher_silent"), {ended(0, code(3), 90)}),
               201, "worker_lost", -1},
           Row{"so, with ranks that end well when told",
               with(lost(1, 100, "launcher_silent"), {ended(0, 0, 90)}), 201,
               "worker_lost", -1},
       }) {
    check(row);
  }
}

TEST_CASE("of a launcher that stood still no order of news is a success") {
  const auto given_up = [](std::vector<RankEvidence> ranks, bool mpirun,
                           int tool_status) {
    Evidence evidence = job(std::move(ranks), mpirun ? "mpirun" : "pmix");
    evidence.job.tool_ended = mpirun;
    evidence.job.tool_status = tool_status;
    evidence.findings.push_back(
        {Severity::kError, "launcher_silent", "w-0 gave it up", "", ""});
    return evidence;
  };
  for (const int first : {0, code(1), code(143), int{SIGTERM}, int{SIGKILL}}) {
    for (const int second : {0, code(1), int{SIGKILL}}) {
      for (const int tool : {-1, 0, code(1), code(143), int{SIGTERM}}) {
        for (const bool told : {false, true}) {
          RankEvidence rank = ended(1, second, 20);
          rank.stopped_by_us = told;
          rank.lines.push_back({19 * kMs, true, "KeyError: 'pod was evicted'"});
          const Evidence evidence =
              given_up({ended(0, first, 10), rank}, tool >= 0, tool);
          INFO(first << ' ' << second << ' ' << tool << ' ' << told);
          const Verdict verdict = diagnose(evidence);
          CHECK(verdict.exit_code == 201);
          CHECK(verdict.code == "launcher_stalled");
          CHECK(verdict.retryable);
        }
      }
    }
  }
  CHECK(exit_status(given_up({ended(0, SIGSEGV, 10)}, false, 0)).code == 139);
}

TEST_CASE("what the same job would meet again is never worth a retry") {
  for (const auto& [codes, exit_code] :
       std::vector<std::pair<std::vector<const char*>, int>>{
           {{"dns_unresolved"}, 200},
           {{"tcp_refused"}, 200},
           {{"a_code_of_tomorrow"}, 200},
           {{"ssh_auth"}, 100},
           {{"ssh_hostkey"}, 100},
           {{"agent_missing"}, 100},
           {{"version_mismatch"}, 100},
           {{"tcp_refused", "ssh_auth", "dns_failure"}, 100}}) {
    INFO(codes.front());
    CHECK(exit_status(never_ready(codes)).code == exit_code);
  }
  CHECK(exit_status(with_finding("usage", "discover")).code == 2);
  CHECK(exit_status(with_finding("key_missing", "discover")).code == 100);
  CHECK(exit_status(with_finding("a_new_one", "discover")).code == 100);
  CHECK(exit_status(with_finding("a_new_one", "agree")).code == 101);
  CHECK(exit_status(with_finding("cuda_driver_too_old", "agree")).code == 101);
  CHECK(exit_status(with_finding("internal", "run")).code == 209);
  CHECK(exit_status(with_finding("hostfile_empty", "discover")).code == 200);
}

TEST_CASE("no launch of which something is unknown is a success") {
  RankEvidence running = ended(0, 0, 0);
  for (const RankOutcome outcome :
       {RankOutcome::kUnknown, RankOutcome::kNeverStarted,
        RankOutcome::kRunning, RankOutcome::kLost}) {
    running.outcome = outcome;
    CHECK(exit_status(job({ended(1, 0, 5), running})).code != 0);
  }
  CHECK(exit_status(job({})).code != 0);
  RankEvidence alone = ended(0, 0, 5);
  alone.loaded_mpi = true;  // and never connected
  CHECK(exit_status(job({alone})).code == 102);
}

TEST_CASE("the classes of the built-in rules are those of their facts") {
  for (const Rule& rule : RuleBook::built_in().rules()) {
    std::vector<std::string> codes = rule.aliases;
    codes.push_back(rule.code);
    for (const std::string& one : codes) {
      const auto exit_class = exit_class_of_fact(one);
      if (!exit_class || rule.exit_class.empty()) continue;
      INFO(one);
      // "agent_missing" is for ever, the class it belongs to need not be.
      if (*exit_class == ExitClass::kConfiguration) continue;
      CHECK(exit_class_name(*exit_class) == rule.exit_class);
    }
  }
}

namespace {

// Words of every class: as Kubernetes, schedulers and muster itself say it.
std::vector<std::string> words_of_classes() {
  std::vector<std::string> out = {
      "KeyError: \"pod was evicted\"",
      "AssertionError: expected DeadlineExceeded, got None",
      "FATAL: preempted requests exceeded limit of 4",
      "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE "
      "TO TIME LIMIT ***",
      "Reason: OOMKilled, Exit Code: 137",
      "muster: error: worker lost: w-1: no answer for 12 s",
      "muster: verdict: no_failure (proven)",
      "Received SIGTERM, exiting",
      "KeyboardInterrupt",
      "ssh: Could not resolve hostname w-1: Name or service not known",
      "w-1: Permission denied (publickey).",
      "bash: line 1: train.py: command not found",
      "mpirun was unable to launch the specified application",
      "the job ended well",
      "exit code 0",
      "exit status 124",
  };
  for (const Rule& rule : RuleBook::built_in().rules()) {
    out.push_back("error: " + rule.title);
    out.push_back("FATAL: " + rule.code);
  }
  for (int number = 0; number < 256; ++number) {
    const auto exit_class = exit_class_by_code(number);
    if (!exit_class) continue;
    out.push_back("error: " + std::string(exit_class_name(*exit_class)));
    out.push_back("error: " + std::string(exit_class_meaning(*exit_class)));
  }
  return out;
}

// The messages of the corpus: each is what some rule looks for.
std::vector<std::string> words_of_programs() {
  std::vector<std::string> out;
  for (const auto& file :
       std::filesystem::directory_iterator(MUSTER_CORPUS "/messages")) {
    if (file.path().extension() != ".tsv") continue;
    const std::string text = read_file(file.path().string()).value();
    for (const auto line : split(text, '\n')) {
      const size_t tab = line.find('\t');
      if (line.starts_with("#") || tab == std::string_view::npos) continue;
      out.emplace_back(line.substr(tab + 1, line.find("\\n", tab) - tab - 1));
    }
  }
  return out;
}

struct End {
  int wait_status;
  int exit_code;
};
constexpr std::array kEnds = {End{0, 0}, End{code(1), 1}, End{code(7), 7},
                              End{SIGKILL, 137}};

void check_words(const std::string& words, const End& end, bool mpirun) {
  Evidence evidence = job({ended(0, 0, 500), ended(1, end.wait_status, 490)},
                          mpirun ? "mpirun" : "pmix");
  LineEvidence line{480 * kMs, true, words};
  evidence.ranks[1].lines.push_back(line);
  if (mpirun) {
    evidence.job.tool_ended = true;
    evidence.job.tool_status = code(end.exit_code);
    evidence.job.tool_lines.push_back(line);
  }
  INFO(words << ", " << end.exit_code << (mpirun ? ", mpirun" : ", native"));
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.exit_code == end.exit_code);
  CHECK(verdict.exit_class == (end.exit_code == 0 ? "success" : "rank_failed"));
  CHECK_FALSE(verdict.retryable);
  CHECK(verdict.failed() == (end.exit_code != 0));
}

}  // namespace

TEST_CASE("no word of a rank or of mpirun changes how the job ended") {
  const std::vector<std::string> classes = words_of_classes();
  CHECK(classes.size() > 150);
  for (const std::string& words : classes) {
    for (const End& end : kEnds) {
      check_words(words, end, false);
      check_words(words, end, true);
    }
  }
  const std::vector<std::string> programs = words_of_programs();
  CHECK(programs.size() > 1000);
  for (size_t i = 0; i < programs.size(); ++i) {
    check_words(programs[i], kEnds[i % kEnds.size()], i % 8 >= 4);
  }
}

TEST_CASE("no rule of a site changes how the job ended") {
  std::vector<RuleBook::Source> sources;
  for (const BuiltinRules& file : builtin_rules()) {
    sources.push_back({std::string(file.name), std::string(file.text)});
  }
  sources.push_back({"site.rules",
                     "[at_our_site]\nphase: run\nrole: control\n"
                     "priority: 99\nexit: preempted\ntitle: ours\n"
                     "headline: ours\nmeaning: ours\nconfirm: ours\n"
                     "remedy: ours\nmatch: our words\n"});
  const auto rules = RuleBook::parse(sources);
  REQUIRE(rules);
  Evidence evidence = job({ended(0, code(7), 500)});
  evidence.ranks[0].lines.push_back({480 * kMs, true, "our words"});
  CHECK(diagnose(evidence, *rules).exit_code == 7);
}
