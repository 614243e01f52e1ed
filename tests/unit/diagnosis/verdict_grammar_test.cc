// SPDX-License-Identifier: Apache-2.0
// The sentences of all rules, filled for one rank, for a worker, for the job
// and for all ranks: none may have a verb or a pronoun of the other number.
#include <re2/re2.h>

#include "base/fd.h"
#include "base/text.h"
#include "catch.h"
#include "diagnosis/book/rule_book.h"
#include "diagnosis/book/text_template.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"
#include "diagnosis/who.h"

using namespace muster;

namespace {

std::vector<std::string> alternatives(std::string_view text) {
  std::vector<std::string> out;
  constexpr std::string_view kOr = " || ";
  for (size_t at = 0; at != std::string_view::npos;) {
    const size_t end = text.find(kOr, at);
    out.emplace_back(trim(text.substr(at, end - at)));
    at = end == std::string_view::npos ? end : end + kOr.size();
  }
  return out;
}

// Every name that the template asks for is known, as "NAME".
Captures values_for(std::string_view text, const std::string& who, bool many) {
  Captures values;
  const RE2 name(R"(\{\??([a-z_]+)\})");
  re2::StringPiece rest(text.data(), text.size());
  std::string word;
  while (RE2::FindAndConsume(&rest, name, &word)) values[word] = "X";
  values["who"] = values["worker"] = who;
  if (many) values[kMany] = "yes";
  return values;
}

std::vector<std::string> filled(const Rule& rule, const std::string& who,
                                bool many) {
  std::vector<std::string> texts = alternatives(rule.headline);
  for (const std::string& more : alternatives(rule.cause)) {
    texts.push_back(more);
  }
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    if (auto one = fill_template(text, values_for(text, who, many))) {
      out.push_back(*one);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a template's words follow the number of who is meant") {
  const std::string text = "{who} {was|were} told {its name|their names}";
  CHECK(fill_template(text, {{"who", "Rank 1"}}) == "Rank 1 was told its name");
  CHECK(fill_template(text, {{"who", "All 2 ranks"}, {kMany, "yes"}}) ==
        "All 2 ranks were told their names");
  CHECK(fill_template("a {b c} and {D}", {}) == "a {b c} and {D}");
}

TEST_CASE("all headlines are right of one and of many") {
  // Behind "ranks" as the subject of the sentence.
  const RE2 wrong_many(
      R"(^All 4 ranks (\w+ )?(was|is|has|does|itself|uses|\w+ees|gets|makes|needs|runs|cannot \w+ its|loses|fails|wants|reads|sees)\b|^All 4 ranks\b[^:;,]*\b(its|itself)\b)");
  const RE2 wrong_one(
      R"(^(Rank 3|Worker-3|The job|Host a) (\w+ )?(were|are|have|do|themselves)\b|^(Rank 3|Worker-3|The job|Host a)\b[^:;,]*\b(their|themselves)\b)");
  size_t count = 0;
  for (const Rule& rule : RuleBook::built_in().rules()) {
    for (const std::string& text : filled(rule, "All 4 ranks", true)) {
      INFO(rule.code << ": " << text);
      CHECK_FALSE(RE2::PartialMatch(text, wrong_many));
      CHECK(text.find('|') == std::string::npos);
      ++count;
    }
    for (const char* const one : {"Rank 3", "Worker-3", "The job", "Host a"}) {
      for (const std::string& text : filled(rule, one, false)) {
        INFO(rule.code << ": " << text);
        CHECK_FALSE(RE2::PartialMatch(text, wrong_one));
        CHECK(text.find('|') == std::string::npos);
        ++count;
      }
    }
  }
  CHECK(count > 500);
}

TEST_CASE("a headline of several ranks, of two and of all") {
  const auto headline = [](const std::string& line, int ranks) {
    std::string log;
    for (int i = 0; i < ranks; ++i) {
      log += "[rank" + std::to_string(i) + "]: " + line + "\n";
    }
    return diagnose(evidence_from_log(log, RuleBook::built_in())).headline;
  };
  const std::string denied =
      "cp: cannot open '/data/x' for reading: "
      "Permission denied";
  CHECK(headline(denied, 1) ==
        "Rank 0 may not read /data/x: permission denied");
  CHECK(headline(denied, 2) ==
        "All 2 ranks may not read /data/x: permission denied");
  CHECK(headline("[Errno 1] Operation not permitted", 2) ==
        "All 2 ranks were denied access: permission denied");
  CHECK(headline("FileNotFoundError", 3) ==
        "All 3 ranks do not find their data");
}

TEST_CASE("who reads is not told how to write") {
  const auto verdict = [](const std::string& line) {
    return diagnose(evidence_from_log(line + "\n", RuleBook::built_in()));
  };
  for (const char* const line :
       {"cp: cannot open '/data/x' for reading: Permission denied",
        "cat: /data/x: Permission denied",
        "[rank0]:   File \"/app/a.py\", line 3, in <module>\n"
        "[rank0]:     data = open(\"/data/x\", \"rb\").read()\n"
        "[rank0]: PermissionError: [Errno 13] Permission denied: '/data/x'"}) {
    const Verdict read = verdict(line);
    INFO(verdict_text(read));
    CHECK(read.code == "permission_denied");
    for (const std::string& remedy : read.remedies) {
      CHECK(remedy.find("writ") == std::string::npos);
    }
  }
}

TEST_CASE("what a program did is its rank's, what a pod owns the worker's") {
  const std::string host = "pi-worker-1.pi.ns.svc";
  CHECK(who(1, host) == "Rank 1 on " + host);
  CHECK(who(-1, host) == "Worker-1");
  CHECK(worker_of(1, host) == "Worker-1");
  CHECK(worker_of(1, "gpu-a") == "Rank 1 on gpu-a");
  CHECK(worker_of(-1, "gpu-a") == "Host gpu-a");
}

TEST_CASE("evidence says each fact once, and the path that follows") {
  const auto text =
      read_file(std::string(MUSTER_CORPUS) + "/evidence/oom_cgroup.json");
  REQUIRE(text);
  const auto evidence = evidence_from_json(*text);
  REQUIRE(evidence);
  const Verdict verdict = diagnose(*evidence);
  for (const std::string& one : verdict.evidence) {
    CHECK(one != verdict.cause);
    for (const std::string& other : verdict.evidence) {
      CHECK((&one == &other || !other.starts_with(one)));
    }
  }
  const Verdict denied = diagnose(evidence_from_log(
      "Error: Permission denied\n  while opening /data/mesh.h5\n",
      RuleBook::built_in()));
  CHECK(denied.code == "permission_denied");
  CHECK(verdict_text(denied).find("/data/mesh.h5") != std::string::npos);
}

TEST_CASE("kubectl is given a pod's name, not its name in DNS") {
  const Verdict verdict = diagnose(evidence_from_log(
      "ssh: Could not resolve hostname pi-worker-2.pi.default.svc: Name or "
      "service not known\n",
      RuleBook::built_in()));
  const std::string text = verdict_text(verdict);
  INFO(text);
  CHECK(verdict.host == "pi-worker-2.pi.default.svc");
  CHECK(text.find("`kubectl describe pod pi-worker-2 -n default`") !=
        std::string::npos);
}

TEST_CASE("a launch in Kubernetes gives its namespace and its launcher's log") {
  Evidence evidence;
  evidence.job.backend = "pmix";
  evidence.job.phase = "run";
  evidence.job.world_size = 1;
  RankEvidence rank;
  rank.rank = 0;
  rank.node = 1;
  rank.host = "tj-node-0-0.tj";
  rank.outcome = RankOutcome::kExited;
  rank.wait_status = 7 << 8;
  rank.exit_ns = 1;
  evidence.ranks.push_back(rank);
  NodeEvidence launcher;
  launcher.node = 0;
  launcher.host = "pi-launcher-x7k2p";
  evidence.nodes.push_back(launcher);
  CHECK(verdict_text(diagnose(evidence)).find("`muster logs LOG --rank 0`") !=
        std::string::npos);
  evidence.job.name_space = "ml";
  const std::string text = verdict_text(diagnose(evidence));
  INFO(text);
  CHECK(text.find("`kubectl logs pi-launcher-x7k2p -n ml | muster logs --rank "
                  "0`") != std::string::npos);
}
