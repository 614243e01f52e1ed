// SPDX-License-Identifier: Apache-2.0
// RankOutput: takes a rank's bytes from an agent's frame to stdout and to the
// per-rank files. Labels each stream, joins partial lines, formats, passes them
// to the writer threads, and returns credit to the agent when they have left,
// so that credits bound the memory: 64 KiB for each stream and 192 more for
// those that print much, 64 MiB of these at most. Refuses: merging two streams
// within one line.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "diagnosis/evidence.h"
#include "launcher/model/process_key.h"
#include "launcher/output/output_credit.h"
#include "launcher/output/output_writer.h"
#include "launcher/output/process_output.h"
#include "launcher/output/record_format.h"
#include "launcher/output/terminal_lines.h"
#include "logs/level.h"
#include "logs/line_grouper.h"
#include "logs/line_splitter.h"
#include "logs/masker.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace muster {

struct OutputOptions {
  LogFormat format = LogFormat::kText;
  bool color = false;
  MpiTags tags = MpiTags::kNone;  // of plain lines
  std::string directory;          // per-rank files; empty: none
  LogRotation rotation;           // of those
  std::set<int> ranks;            // shown on stdout, with non-ranks; empty: all
  LogLevel level = LogLevel::kTrace;  // least level shown on stdout
  bool only_files = false;            // ranks' lines are not shown at all
  // Never holds up a rank: drops and counts lines that a slow reader does not
  // take in time.
  bool drop = false;
  Milliseconds progress_interval{5'000};  // between states of a progress bar
  bool status_line = false;  // stdout is a terminal: bars in its last line
  // Text only: equal lines of several ranks within it become one. 0: never.
  Milliseconds fold{0};
  // Gives credit back in no smaller pieces, in bytes: half of a stream's
  // initial credit, so that a rank that prints little costs no answers at all.
  uint32_t credit_step = wire::kFirstCredit / 2;
  // For a stream that prints without a pause, in bytes, once.
  uint32_t extra_credit = 192 << 10;
};

class RankOutput {
 public:
  RankOutput(Loop& loop, OutputOptions options, OutputCredit::Give give_credit);
  ~RankOutput();

  // Hides secrets in everything that follows; without: nothing is hidden.
  void set_masker(Masker masker) { masker_ = std::move(masker); }
  // Shows a rank's text from elsewhere than its output.
  [[nodiscard]] std::string masked(const std::string& text) const {
    return masker_ ? masker_->masked(text) : text;
  }
  // Sees every line of every process (rank -1: none) that has `word`, and some
  // others, before it is masked or filtered; of a line in pieces the first one.
  // `word` outlives this.
  using OnLine = std::function<void(int rank, const std::string& host,
                                    std::string_view line)>;
  void on_line(std::string_view word, OnLine on_line) {
    word_ = word;
    on_line_ = std::move(on_line);
  }
  // Called once when stdout's reader has hung up; without, that is a warning.
  void on_reader_gone(std::function<void()> gone) {
    on_reader_gone_ = std::move(gone);
  }
  // One of muster's own lines, with its newline, to stderr; never blocks.
  void own_line(std::string line);

  // Labels of plain lines, for processes that are added later.
  void set_tags(MpiTags tags) { options_.tags = tags; }
  // Before the first frame of the process. rank -1: `source` says who it is.
  void add_process(ProcessKey key, int rank, std::string source,
                   std::string host);
  void frame(ProcessKey key, const wire::Frame& frame);
  // The process has ended, and its last lines are not needed.
  void forget(ProcessKey key);
  // The worker is lost: writes its held lines, reports the loss.
  void node_lost(uint16_t node);
  // The last lines of both streams of a process, in order of time: 12 of each,
  // 64 of a process that is not a rank, and earlier lines of trouble, which
  // `rules` may help to find (LineTail).
  [[nodiscard]] std::vector<LineEvidence> last_lines(
      ProcessKey key, const RuleBook* rules = nullptr) const;
  // The last 12 of each stream alone, for who looks often.
  [[nodiscard]] std::vector<LineEvidence> newest_lines(ProcessKey key) const;
  // Lines that a process has written so far.
  [[nodiscard]] uint64_t lines_of(ProcessKey key) const;
  // Ranks that wrote a traceback and then, for `quiet`, nothing at all: each
  // once.
  std::vector<ProcessKey> quiet_after_traceback(Milliseconds quiet);
  // Output that an agent could not read, or that had no taker here.
  void add_lost(uint64_t bytes) { lost_at_source_ += bytes; }
  // Time since any rank printed, or was started.
  [[nodiscard]] Milliseconds silent_for() const {
    return std::chrono::duration_cast<Milliseconds>(Clock::now() -
                                                    last_output_);
  }
  // Ends every stream, and waits for slow readers, at most `limit`; false if
  // something still waits for them.
  bool drain(Milliseconds limit);
  // Bytes that no reader has taken yet.
  [[nodiscard]] size_t waiting_bytes() const {
    return stdio_.waiting_bytes() + files_.waiting_bytes() +
           (stderr_ ? stderr_->waiting_bytes() : 0);
  }
  // The readers that have not taken them.
  [[nodiscard]] const char* slow_reader() const {
    return stdio_.waiting_bytes() > 0   ? "stdout"
           : files_.waiting_bytes() > 0 ? "the file system of --log-dir"
                                        : "stderr";
  }
  [[nodiscard]] uint64_t lines() const { return lines_; }
  [[nodiscard]] uint64_t dropped_bytes() const {
    return stdio_.dropped_bytes() + files_.dropped_bytes() + lost_at_source_ +
           (stderr_ ? stderr_->dropped_bytes() : 0);
  }
  // How long stdout has not been read, while output waits for it.
  [[nodiscard]] Milliseconds stalled() const { return stdio_.stalled(); }
  [[nodiscard]] uint64_t dropped_lines() const { return dropped_lines_; }
  // Processes whose output was cut when their worker was lost.
  [[nodiscard]] int cut_processes() const { return cut_processes_; }

 private:
  ProcessOutput* find(ProcessKey key);
  void take_line(ProcessOutput& process, ProcessStream& stream,
                 const LineSplitter::Piece& piece);
  void begin_line(const ProcessOutput& process, ProcessStream& stream,
                  std::string_view line);
  std::string_view masked_line(ProcessStream& stream, std::string_view line);
  void show_partial(ProcessOutput& process, ProcessStream& stream);
  // Its bytes are written as they are, and not line by line.
  [[nodiscard]] bool is_verbatim(const ProcessOutput& process) const;
  void end_stream(ProcessKey key, ProcessOutput& process,
                  ProcessStream& stream);
  void keep_line(ProcessOutput& process, ProcessStream& stream,
                 std::string_view line, bool more);
  [[nodiscard]] LogLevel level_of(std::string_view line,
                                  LineGrouper::Step step) const;
  [[nodiscard]] LineGrouper::Step group_step(ProcessStream& stream,
                                             std::string_view line) const;
  [[nodiscard]] bool is_shown(int rank, LogLevel level) const;
  void finish(ProcessKey key, ProcessOutput& process);
  void watch_reader();
  void tell_stall(const OutputWriter& writer, Milliseconds& longest,
                  const char* what);
  void let_groups_go();
  void hand_over(ProcessKey key, ProcessOutput& process, ProcessStream& stream);
  OutputWriter& writer_of(int fd);
  [[nodiscard]] bool drops(const OutputWriter& writer, std::string& text);
  void write_failed(int fd, int error);

  [[nodiscard]] const Masker* masker() const {
    return masker_ ? &*masker_ : nullptr;
  }

  OutputOptions options_;
  // Text shows no level: it is computed only if lines are filtered.
  bool level_counts_;
  OutputCredit credit_;
  std::optional<Masker> masker_;
  OnLine on_line_;
  std::string_view word_;  // without it on_line_ is not called
  std::function<void()> on_reader_gone_;
  OutputWriter stdio_;
  // stderr's own writer, if it is another file: a stdout without a reader must
  // not keep muster's messages, and the verdict, from stderr's reader.
  std::unique_ptr<OutputWriter> stderr_;
  OutputWriter files_;
  std::map<ProcessKey, std::unique_ptr<ProcessOutput>> processes_;
  uint64_t lines_ = 0;
  uint64_t dropped_lines_ = 0;
  int cut_processes_ = 0;
  std::string scratch_;
  std::string_view clean_;     // the frame in hand, if nothing in it is secret
  std::string_view wordless_;  // the frame in hand, if it lacks word_
  Timer reader_timer_;
  Timer group_timer_;
  std::set<StreamKey> grouping_;  // held back
  TerminalLines terminal_;
  Clock::time_point last_output_ = Clock::now();
  uint64_t lost_at_source_ = 0;
  // Of the stall that goes on now: of stdout, of the files.
  Milliseconds longest_stall_{0};
  Milliseconds longest_files_stall_{0};
};

}  // namespace muster
