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
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "diagnosis/evidence.h"
#include "launcher/output_writer.h"
#include "launcher/record_format.h"
#include "wire/frame.h"

namespace muster {

struct OutputOptions {
  LogFormat format = LogFormat::kText;
  bool color = false;
  std::string directory;  // per-rank files; empty: none
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

 private:
  struct Stream;
  struct Process;

  void take_line(Process& process, Stream& stream, std::string_view line);
  void hand_over(ProcessKey key, Process& process, Stream& stream,
                 uint32_t credit);
  int file_for(const Process& process, uint8_t stream);
  void write_failed(int fd, int error);

  OutputOptions options_;
  GiveCredit give_credit_;
  OutputWriter stdio_;
  OutputWriter files_;
  std::map<ProcessKey, std::unique_ptr<Process>> processes_;
  std::map<std::string, UniqueFd> open_files_;
  uint64_t lines_ = 0;
};

}  // namespace muster
