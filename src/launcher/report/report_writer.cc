// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/report_writer.h"

#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "job/exit_codes.h"

namespace muster {

namespace {

// Between looks for signals: as long as a file system that answers may take.
constexpr Milliseconds kLook{100};

// The first of `signals` that has come; 0: none.
int pending_of(const std::vector<int>& signals) {
  sigset_t pending;
  ::sigemptyset(&pending);
  ::sigpending(&pending);
  for (const int signal : signals) {
    if (::sigismember(&pending, signal) == 1) return signal;
  }
  return 0;
}

}  // namespace

// The thread keeps it alive, too; it may be left behind.
struct ReportWriter::Shared
    : std::enable_shared_from_this<ReportWriter::Shared> {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  Loop* loop = nullptr;  // null once the owner is gone
  LaunchReport report;
  LaunchOptions options;
  StoredReports stored;

  void store() {
    StoredReports all = store_reports(report, options);
    const std::lock_guard lock(mutex);
    stored = std::move(all);
    done = true;
    changed.notify_all();
    if (loop == nullptr) return;
    loop->post([self = shared_from_this()] { self->say(); });
  }

  // On the loop's thread.
  void say() {
    const std::lock_guard lock(mutex);
    for (const std::string& text : stored.warnings) log::warn("{}", text);
    if (!stored.bundle.empty()) {
      log::info("report, plan, evidence and logs are kept in {}",
                stored.bundle);
    }
    stored = {};
  }
};

ReportWriter::ReportWriter(Loop& loop, LaunchReport report,
                           const LaunchOptions& options)
    : shared_(std::make_shared<Shared>()) {
  shared_->loop = &loop;
  shared_->report = std::move(report);
  shared_->options = options;
  start();
}

bool ReportWriter::start() {
  try {
    thread_ = std::thread([shared = shared_] { shared->store(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

ReportWriter::~ReportWriter() { finish(Milliseconds{0}); }

void ReportWriter::finish(Milliseconds limit, const std::vector<int>& signals) {
  if (shared_->loop == nullptr) return;
  if (!thread_.joinable() && !start()) {
    shared_->loop = nullptr;
    log::warn(
        "reports are not written: no thread could be started for them (a limit "
        "of processes)");
    return;
  }
  const auto end = Clock::now() + limit;
  int signal = 0;
  std::unique_lock lock(shared_->mutex);
  while (!shared_->done && signal == 0 && Clock::now() < end) {
    shared_->changed.wait_until(lock, std::min(end, Clock::now() + kLook),
                                [this] { return shared_->done; });
    signal = pending_of(signals);
  }
  const bool done = shared_->done;
  shared_->loop = nullptr;
  lock.unlock();
  done ? thread_.join() : thread_.detach();
  if (done) return shared_->say();
  if (signal != 0) {
    log::warn(
        "reports are not written: {} came while their file system did not "
        "answer",
        signal_word(signal));
    return;
  }
  log::warn(
      "reports are not written after {}: their file system does not "
      "answer",
      human_duration_ms(limit.count()));
}

}  // namespace muster
