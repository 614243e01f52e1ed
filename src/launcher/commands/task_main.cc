// SPDX-License-Identifier: Apache-2.0
#include "launcher/commands/task_main.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#include "base/fd.h"
#include "base/forwarded_signals.h"
#include "base/ignored_signal.h"
#include "base/json_text.h"
#include "base/spawn.h"
#include "diagnosis/verdict.h"
#include "job/exit_codes.h"
#include "job/pod_view.h"
#include "job/workload.h"
#include "launcher/output/record_format.h"
#include "logs/line_reader.h"
#include "logs/masker.h"

namespace muster {

namespace {

constexpr size_t kLinesKept = 200;
// A process may keep the pipes open after the program has ended, or our reader
// may stop: after so long without a line it is over.
constexpr auto kLastWords = std::chrono::seconds(2);
constexpr auto kLongestEnd = std::chrono::seconds(30);  // whatever comes

// Both streams' readers and the end meet here.
struct TaskOutput {
  std::mutex writing;  // one record at a time; a stalled reader keeps it
  uint64_t sequence = 0;
  std::mutex mutex;  // of what follows; never kept over a write
  std::condition_variable moved;
  int open = 2;
  uint64_t written = 0;
  std::deque<LineEvidence> last;
};

struct TaskPlace {
  Workload workload;
  std::string host;
  LogFormat format = LogFormat::kText;
};

void keep_line(TaskOutput& output, LineEvidence line) {
  const std::lock_guard lock(output.mutex);
  output.last.push_back(std::move(line));
  if (output.last.size() > kLinesKept) output.last.pop_front();
}

void copy_lines(TaskOutput& output, const TaskPlace& place,
                const Masker& masker, int fd, bool is_stderr) {
  LineReader reader(fd, LineReader::From::kProgram);
  MaskState state;
  while (const auto next = reader.next()) {
    std::string line(*next);
    masker.mask(line, state);
    LineOrigin origin;
    origin.rank = place.workload.index;
    origin.source = "task";
    origin.host = place.host;
    origin.stream = is_stderr ? "stderr" : "stdout";
    {
      const std::lock_guard lock(output.writing);
      const int64_t now = realtime_ns();
      std::string record;
      append_record(record, place.format, origin, now, ++output.sequence, line);
      keep_line(output, {now, is_stderr, std::move(line)});
      static_cast<void>(write_all(1, record));
    }
    const std::lock_guard lock(output.mutex);
    ++output.written;
    output.moved.notify_all();
  }
  const std::lock_guard lock(output.mutex);
  --output.open;
  output.moved.notify_all();
}

void await_last_words(TaskOutput& output) {
  const auto end = std::chrono::steady_clock::now() + kLongestEnd;
  std::unique_lock lock(output.mutex);
  for (uint64_t seen = output.written;
       output.open > 0 && std::chrono::steady_clock::now() < end;
       seen = output.written) {
    if (!output.moved.wait_for(lock, kLastWords, [&] {
          return output.open == 0 || output.written != seen;
        })) {
      return;
    }
  }
}

// stderr may have no reader, too.
void say(const Verdict& verdict, int code) {
  std::thread([code] {
    std::this_thread::sleep_for(kLastWords);
    std::_Exit(code);
  }).detach();
  std::fprintf(stderr, "muster task: %s", verdict_text(verdict).c_str());
  std::fflush(stderr);
}

// The wait status; TERM and its like go to the program's process group. Any
// other child that has ended is an orphan that came to us as pid 1.
int wait_for(pid_t child, const sigset_t& signals) {
  for (;;) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&signals, &info);
    if (signal > 0 && signal != SIGCHLD) ::kill(-child, signal);
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (ended == child) return status;
    }
  }
}

Verdict judge(const TaskPlace& place, const std::vector<std::string>& argv,
              int status, TaskOutput& output) {
  Evidence evidence;
  evidence.job.backend = place.workload.manager;
  evidence.job.phase = "run";
  evidence.job.argv = argv;
  evidence.job.world_size = place.workload.size;
  RankEvidence rank;
  rank.rank = place.workload.index;
  rank.host = place.host;
  rank.outcome = RankOutcome::kExited;
  rank.wait_status = status;
  rank.exit_ns = realtime_ns();
  {
    const std::lock_guard lock(output.mutex);
    rank.lines.assign(output.last.begin(), output.last.end());
  }
  evidence.ranks.push_back(std::move(rank));
  return diagnose(evidence);
}

int run_task(const std::vector<std::string>& argv, const TaskPlace& place) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int one : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    if (!is_ignored(one)) sigaddset(&signals, one);
  }
  for (const int one : forwarded_signals()) sigaddset(&signals, one);
  sigaddset(&signals, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  auto out = make_pipe();
  auto err = make_pipe();
  const auto masker = Masker::create({current_environment(), {}});
  if (!out || !err || !masker) return exit_code_for(ExitClass::kInternal);
  SpawnOptions options;
  options.argv = argv;
  options.env = current_environment();
  options.fds = {{0, 0}, {out->write.get(), 1}, {err->write.get(), 2}};
  const auto child = spawn(options);
  if (!child) {
    std::fprintf(stderr, "muster task: %s\n", child.error().text().c_str());
    return exit_code_for(child.error().code == "exe_not_found"
                             ? ExitClass::kNotFound
                             : ExitClass::kNotExecutable);
  }
  out->write.reset();
  err->write.reset();
  TaskOutput output;
  std::thread(copy_lines, std::ref(output), std::cref(place),
              std::cref(*masker), out->read.get(), false)
      .detach();
  std::thread(copy_lines, std::ref(output), std::cref(place),
              std::cref(*masker), err->read.get(), true)
      .detach();
  const int status = wait_for(*child, signals);
  await_last_words(output);
  const int code =
      WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  const Verdict verdict = judge(place, argv, status, output);
  if (verdict.failed()) say(verdict, code);
  // A reader may still wait for a pipe that another process keeps open.
  std::_Exit(code);
}

int usage(const std::string& why) {
  std::fprintf(stderr,
               "muster task: %s; usage: muster task [--log-format "
               "text|plain|json] -- PROGRAM [ARGUMENT...]\n",
               why.c_str());
  return exit_code_for(ExitClass::kUsage);
}

}  // namespace

int task_main(const std::vector<std::string>& args) {
  TaskPlace place;
  size_t next = 0;
  const char* given = std::getenv("MUSTER_LOG_FORMAT");
  std::string format = given != nullptr ? given : "text";
  if (args.size() > 1 && args[0] == "--log-format") {
    format = args[1];
    next = 2;
  }
  if (format == "json") {
    place.format = LogFormat::kJson;
  } else if (format == "plain") {
    place.format = LogFormat::kPlain;
  } else if (format != "text" && format != "auto") {
    return usage("--log-format is text, plain or json");
  }
  if (next < args.size() && args[next] == "--") {
    ++next;
  } else if (next < args.size() && args[next].starts_with('-')) {
    return usage("unknown option " + args[next]);
  }
  if (next >= args.size()) return usage("no program given");
  const PodViewOptions view = own_pod_options();
  place.workload = detect_workload(view.env);
  place.host = view.hostname;
  return run_task(
      {args.begin() + static_cast<std::ptrdiff_t>(next), args.end()}, place);
}

}  // namespace muster
