// SPDX-License-Identifier: Apache-2.0
// RankOutput: the way of a rank's bytes from an agent's frame to stdout and to
// the per-rank files. Labels each stream, joins partial lines, formats, hands
// them to the writer threads, and returns credit to the agent once they left,
// so that memory stays bounded by the credits given out.
// Refuses: merging two streams within one line.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "diagnosis/evidence.h"
#include "launcher/output_writer.h"
#include "launcher/record_format.h"
#include "logs/level.h"
#include "logs/masker.h"
#include "wire/frame.h"

namespace muster {

struct OutputOptions {
  LogFormat format = LogFormat::kText;
  bool color = false;
  std::string directory;  // per-rank files; empty: none
  std::set<int> ranks;    // shown on stdout; empty: all
  LogLevel level = LogLevel::kTrace;  // least level shown on stdout
  // Never hold up a rank: what a slow reader does not take in time is dropped
  // and counted.
  bool drop = false;
  Milliseconds progress_interval{5'000};  // between states of a progress bar
};

// Which process a stream belongs to: agent and process id on it.
struct ProcessKey {
  uint16_t node = 0;
  uint32_t id = 0;
  auto operator<=>(const ProcessKey&) const = default;
};

class RankOutput {
 public:
  using GiveCredit =
      std::function<void(ProcessKey, uint8_t stream, uint32_t bytes)>;

  RankOutput(Loop& loop, OutputOptions options, GiveCredit give_credit);
  ~RankOutput();

  // Hides secrets in everything that follows; without: nothing is hidden.
  void set_masker(Masker masker) { masker_ = std::move(masker); }
  // One of muster's own lines, with its newline, to stderr; never blocks.
  void own_line(std::string line);

  // Before the first frame of the process. rank -1: `source` says who it is.
  void add_process(ProcessKey key, int rank, std::string source,
                   std::string host);
  void frame(ProcessKey key, const wire::Frame& frame);
  // The last `count` lines of each stream of a process, in order of time.
  [[nodiscard]] std::vector<LineEvidence> last_lines(ProcessKey key,
                                                     size_t count) const;
  // Waits for slow readers, at most `limit`. Bytes given up are counted.
  void drain(Milliseconds limit);
  [[nodiscard]] uint64_t lines() const { return lines_; }
  [[nodiscard]] uint64_t dropped_bytes() const;
  // How long nobody has read stdout, while something waits for it.
  [[nodiscard]] Milliseconds stalled() const { return stdio_.stalled(); }
  [[nodiscard]] uint64_t dropped_lines() const { return dropped_lines_; }

 private:
  struct Stream;
  struct Process;

  void take_line(Process& process, Stream& stream, std::string_view line,
                 bool progress);
  void watch_reader();
  void hand_over(ProcessKey key, Process& process, Stream& stream,
                 uint32_t credit);
  int file_for(const Process& process, uint8_t stream);
  void write_failed(int fd, int error);

  OutputOptions options_;
  GiveCredit give_credit_;
  std::optional<Masker> masker_;
  OutputWriter stdio_;
  OutputWriter files_;
  std::map<ProcessKey, std::unique_ptr<Process>> processes_;
  std::map<std::string, UniqueFd> open_files_;
  uint64_t lines_ = 0;
  uint64_t dropped_lines_ = 0;
  std::string scratch_;
  Timer reader_timer_;
  Milliseconds longest_stall_{0};  // of the stall that goes on now
};

}  // namespace muster
