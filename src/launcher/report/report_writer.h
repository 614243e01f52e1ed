// SPDX-License-Identifier: Apache-2.0
// ReportWriter: writes what is kept of a launch on a thread of its own. The
// directories are often another machine's, and who waits there for a file
// system that does not answer must not keep the workers. What became of it is
// logged on the loop's thread. Left behind, with a warning, after a limit or
// when somebody asks the launcher to end. Without room for a thread it is tried
// again once the ranks have left room.
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

  // Waits for it, once; one of `signals`, which are blocked, ends that.
  void finish(Milliseconds limit, const std::vector<int>& signals = {});

 private:
  struct Shared;
  bool start();  // false: no thread
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace muster
