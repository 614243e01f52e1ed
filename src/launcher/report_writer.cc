// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_writer.h"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace muster {

// Kept alive by the thread, too, which may be left behind.
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
  try {
    thread_ = std::thread([shared = shared_] { shared->store(); });
  } catch (const std::system_error&) {  // no room for a thread
    shared_->store();
  }
}

ReportWriter::~ReportWriter() { finish(Milliseconds{0}); }

void ReportWriter::finish(Milliseconds limit) {
  if (shared_->loop == nullptr) return;
  std::unique_lock lock(shared_->mutex);
  const bool done =
      shared_->changed.wait_for(lock, limit, [this] { return shared_->done; });
  shared_->loop = nullptr;
  lock.unlock();
  if (thread_.joinable()) done ? thread_.join() : thread_.detach();
  if (done) return shared_->say();
  log::warn(
      "reports are not written after {}: their file system does not "
      "answer",
      human_duration_ms(limit.count()));
}

}  // namespace muster
