// SPDX-License-Identifier: Apache-2.0
// ReportWriter: writes the files of a launch on a thread of its own. The
// directories are often another machine's, and a thread that waits there for a
// dead file system must not keep the workers. The loop's thread logs the
// result. After a limit, or when the launcher is asked to end, it leaves the
// thread behind with a warning. If it cannot start a thread, it tries again
// after the ranks' end.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "base/loop.h"
#include "launcher/report/report.h"

namespace muster {

constexpr Milliseconds kReportLimit{30'000};  // for finish(), after all else

class ReportWriter {
 public:
  ReportWriter(Loop& loop, LaunchReport report, const LaunchOptions& options);
  ~ReportWriter();
  ReportWriter(const ReportWriter&) = delete;
  ReportWriter& operator=(const ReportWriter&) = delete;

  // Waits for it, once; one of `signals`, which are blocked, ends the wait.
  void finish(Milliseconds limit, const std::vector<int>& signals = {});

 private:
  struct Shared;
  bool start();  // false: no thread
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace muster
