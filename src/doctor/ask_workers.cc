// SPDX-License-Identifier: Apache-2.0
#include "doctor/ask_workers.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "base/fd.h"
#include "base/self_path.h"
#include "base/spawn.h"
#include "base/text.h"

namespace muster {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kDeadline = std::chrono::seconds(40);
constexpr size_t kAtOnce = 32;
constexpr size_t kMostOutput = 4 << 20;

struct Question {
  pid_t child = -1;
  UniqueFd out;
  UniqueFd err;
  std::string answer;
  std::string complaint;
};

SpawnOptions ssh_line(const std::string& host,
                      const std::vector<std::string>& words, int port) {
  SpawnOptions options;
  options.argv = {self_path(), "ssh", "-n", "-o", "ConnectTimeout=10"};
  if (port > 0) {
    options.argv.insert(options.argv.end(), {"-p", std::to_string(port)});
  }
  options.argv.insert(options.argv.end(), {host, "muster-agent", "doctor"});
  options.argv.insert(options.argv.end(), words.begin(), words.end());
  options.env = current_environment();
  return options;
}

// False, with the reason in `complaint`, if there is no child.
bool ask(Question& question, SpawnOptions options) {
  auto out = make_pipe();
  auto err = make_pipe();
  if (!out || !err) {
    question.complaint = "out of file descriptors";
    return false;
  }
  options.fds = {{out->write.get(), 1}, {err->write.get(), 2}};
  const auto child = spawn(options);
  if (!child) {
    question.complaint = child.error().text();
    return false;
  }
  question.child = *child;
  question.out = std::move(out->read);
  question.err = std::move(err->read);
  return true;
}

// Reads what is there; closes `fd` at its end.
void take(UniqueFd& fd, std::string& text) {
  char part[16 * 1024];
  const ssize_t n = ::read(fd.get(), part, sizeof part);
  if (n > 0) text.append(part, static_cast<size_t>(n));
  if (n <= 0 || text.size() > kMostOutput) fd.reset();
}

// Until all streams of [begin, end) have ended, or `end_time`.
void listen(std::vector<Question>& all, size_t begin, size_t end,
            Clock::time_point end_time) {
  for (;;) {
    std::vector<pollfd> fds;
    std::vector<std::pair<UniqueFd*, std::string*>> streams;
    for (size_t i = begin; i < end; ++i) {
      for (auto& [fd, text] : {std::pair{&all[i].out, &all[i].answer},
                               std::pair{&all[i].err, &all[i].complaint}}) {
        if (!*fd) continue;
        fds.push_back({fd->get(), POLLIN, 0});
        streams.emplace_back(fd, text);
      }
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end_time - Clock::now());
    if (fds.empty() || left.count() <= 0) return;
    if (::poll(fds.data(), fds.size(), static_cast<int>(left.count())) <= 0) {
      continue;
    }
    for (size_t i = 0; i < fds.size(); ++i) {
      if (fds[i].revents != 0) take(*streams[i].first, *streams[i].second);
    }
  }
}

PodAnswer judge(const std::string& host, Question& question) {
  PodAnswer answer;
  answer.host = host;
  const bool silent = question.child > 0 && (question.out || question.err);
  if (question.child > 0) {
    ::kill(question.child, SIGKILL);
    ::waitpid(question.child, nullptr, 0);
  }
  auto report = doctor_report_from_json(question.answer);
  if (report) {
    answer.answered = true;
    answer.report = *std::move(report);
    return answer;
  }
  answer.reason = std::string(trim(question.complaint));
  if (silent) answer.reason = "no answer within 40s";
  if (answer.reason.empty()) answer.reason = report.error().text();
  return answer;
}

}  // namespace

std::vector<PodAnswer> ask_workers(const std::vector<std::string>& hosts,
                                   const std::vector<std::string>& words,
                                   int port) {
  std::vector<Question> questions(hosts.size());
  std::vector<PodAnswer> answers;
  const auto end_time = Clock::now() + kDeadline;
  for (size_t begin = 0; begin < hosts.size(); begin += kAtOnce) {
    const size_t end = std::min(begin + kAtOnce, hosts.size());
    for (size_t i = begin; i < end; ++i) {
      ask(questions[i], ssh_line(hosts[i], words, port));
    }
    listen(questions, begin, end, end_time);
    for (size_t i = begin; i < end; ++i) {
      answers.push_back(judge(hosts[i], questions[i]));
    }
  }
  return answers;
}

}  // namespace muster
