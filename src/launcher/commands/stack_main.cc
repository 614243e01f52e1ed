// SPDX-License-Identifier: Apache-2.0
#include "launcher/commands/stack_main.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/fd.h"
#include "base/loop.h"
#include "base/printable.h"
#include "base/random.h"
#include "launcher/commands/status_main.h"
#include "launcher/hang/hang_watch.h"
#include "logs/log_filter.h"

namespace muster {

namespace {

// Longer than a question before ours may wait for a node that is silent.
constexpr Milliseconds kAnswerLimit{60'000};
constexpr useconds_t kPoll = 50'000;

// Writes `path` as the owner of `directory`, who reads it. Root in a debug
// container does not write in another user's directory with its own rights:
// that directory may lead anywhere.
bool put_question(const std::string& directory, const std::string& path,
                  const std::string& text) {
  struct stat owner {};
  if (::lstat(directory.c_str(), &owner) != 0 || !S_ISDIR(owner.st_mode)) {
    return false;
  }
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  const bool other = owner.st_uid != user;
  if (other && (::setegid(owner.st_gid) != 0 || ::seteuid(owner.st_uid) != 0)) {
    return false;
  }
  const bool written = write_file_atomically(path, text, 0600).has_value();
  if (other && (::seteuid(user) != 0 || ::setegid(group) != 0)) return false;
  return written;
}

std::optional<std::string> ask(const std::string& directory,
                               const wire::StackRequest& request) {
  const std::string id = random_id();
  const std::string question = directory + "/" + stack_request_file(id);
  const std::string answer = directory + "/" + stack_answer_file(id);
  if (!put_question(directory, question, wire::to_json(request))) return {};
  const auto end = Clock::now() + kAnswerLimit;
  while (Clock::now() < end) {
    if (auto text = read_file(answer, 64 << 20)) {
      static_cast<void>(::unlink(answer.c_str()));
      return std::move(*text);
    }
    ::usleep(kPoll);
  }
  static_cast<void>(::unlink(question.c_str()));
  return {};
}

struct Answer {
  std::vector<PlacedStack> stacks;
  std::vector<std::string> sentences;  // of NCCL and PyTorch
  std::string note;                    // why PyTorch says nothing
  std::set<int> odd;
  std::string who;   // holds up the rest
  std::string work;  // what the ranks are at
};

void read_judgement(const nlohmann::json& value, Answer& out) {
  const auto who = value.value("holds_up", nlohmann::json::object());
  out.who = who.value("text", "");
  for (const auto& rank : who.value("ranks", nlohmann::json::array())) {
    if (rank.is_number_integer()) out.odd.insert(rank.get<int>());
  }
  const std::string progress = value.value("progress", "");
  if (progress == "works") {
    out.work = "The job is at work: " + value.value("work", "");
  } else if (progress == "hangs") {
    out.work = "Nothing moved between two looks at the ranks";
  } else if (progress == "rests") {
    out.work = "No rank is at work or waits for another";
  }
}

Answer read_answer(const std::string& text) {
  Answer out;
  const auto value = nlohmann::json::parse(text, nullptr, false);
  if (!value.is_object() || !value.contains("ranks")) return out;
  for (const char* who : {"nccl", "collectives"}) {
    for (const auto& sentence : value.value(who, nlohmann::json::array())) {
      if (sentence.is_string()) out.sentences.push_back(sentence);
    }
  }
  out.note = value.value("collectives_note", "");
  read_judgement(value, out);
  const nlohmann::json ranks = {{"ranks", value["ranks"]}};
  const auto reply = wire::stack_reply_from_json(ranks.dump());
  if (!reply) return out;
  for (size_t i = 0; i < reply->ranks.size(); ++i) {
    out.stacks.push_back(
        {reply->ranks[i], value["ranks"][i].value("host", "")});
  }
  return out;
}

// `asked`: NCCL and PyTorch were.
std::string answer_text(const Answer& answer, bool asked) {
  if (answer.stacks.empty()) return "no such rank runs\n";
  std::string text =
      groups_text(group_stacks(answer.stacks), answer.stacks, answer.odd);
  for (const std::string& one : answer.sentences) text += one + "\n";
  if (asked && !answer.note.empty()) text += answer.note + "\n";
  if (!answer.who.empty()) text += answer.who + "\n";
  if (!answer.work.empty()) text += answer.work + "\n";
  return text;
}

int usage_error(const std::string& word) {
  std::fprintf(stderr,
               word == "-o"
                   ? "muster stack: %s is text or json\n"
                   : "muster stack: '%s' is not a set of ranks such as "
                     "0-3,8, nor an option. See `muster stack --help`.\n",
               word.c_str());
  return 2;
}

}  // namespace

int stack_main(const std::vector<std::string>& args) {
  bool json = false;
  wire::StackRequest request;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "-o" && i + 1 < args.size() &&
        (args[i + 1] == "json" || args[i + 1] == "text")) {
      json = args[++i] == "json";
      continue;
    }
    if (args[i] == "--nccl") {
      request.nccl = 1;
      request.flight = wire::kFlightAsk;
      continue;
    }
    const auto ranks = parse_rank_set(args[i]);
    if (!ranks) return usage_error(args[i]);
    request.ranks.insert(request.ranks.end(), ranks->begin(), ranks->end());
  }
  const auto launches = running_launches();
  if (launches.empty()) {
    std::fprintf(stderr, "muster stack: %s\n", no_launch_sentence().c_str());
    return 1;
  }
  for (const RunningLaunch& launch : launches) {
    const auto text = ask(launch.directory, request);
    if (!text) {
      std::fprintf(stderr, "muster stack: launch %s does not answer\n",
                   launch.status.launch_id.c_str());
      return 1;
    }
    std::fputs(json ? (*text + "\n").c_str()
                    : printable_lines(
                          answer_text(read_answer(*text), request.nccl == 1))
                          .c_str(),
               stdout);
  }
  return 0;
}

}  // namespace muster
