// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/rank_output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "logs/mpirun_noise.h"

namespace muster {

namespace {

// With --log-overflow drop: the most that may wait for a slow reader of stdout.
constexpr size_t kMaxWaiting = 4 << 20;
constexpr Milliseconds kReaderCheck{1'000};
constexpr Milliseconds kStallWorthTelling{3'000};
constexpr std::string_view kTraceback = "Traceback (most recent call last)";
// A group of lines that belong together waits at most this long, at most this
// large.
constexpr Milliseconds kGroupWait{250};
constexpr size_t kMaxGroup = 64 << 10;
// The bytes that may wait for a slow reader while lines are folded.
constexpr size_t kMostFolded = 256 << 10;
// A stream whose frames are that long prints without a pause.
constexpr size_t kBusyFrame = 4 << 10;

bool stderr_is_stdout() {
  struct stat out {};
  struct stat err {};
  return ::fstat(STDOUT_FILENO, &out) == 0 &&
         ::fstat(STDERR_FILENO, &err) == 0 && out.st_dev == err.st_dev &&
         out.st_ino == err.st_ino;
}

void sort_by_time(std::vector<LineEvidence>& lines) {
  std::stable_sort(
      lines.begin(), lines.end(),
      [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
}

// A frame of output for each of a few hundred processes, less for each of
// thousands.
size_t tail_bytes(size_t processes) {
  constexpr size_t kAll = 32 << 20;
  constexpr size_t kMost = 48 << 10;
  constexpr size_t kLeast = 16 << 10;
  return std::clamp(kAll / processes, kLeast, kMost);
}

}  // namespace

RankOutput::RankOutput(Loop& loop, OutputOptions options,
                       OutputCredit::Give give_credit)
    : options_(std::move(options)),
      level_counts_(options_.format == LogFormat::kJson ||
                    options_.level > LogLevel::kTrace),
      credit_(options_.credit_step, options_.extra_credit,
              std::move(give_credit)),
      stdio_(
          loop, [this](int fd, int error) { write_failed(fd, error); },
          [this] { credit_.settle(); }),
      files_(
          loop, [this](int fd, int error) { write_failed(fd, error); },
          [this] { credit_.settle(); }),
      reader_timer_(loop),
      group_timer_(loop),
      terminal_(loop,
                {options_.format == LogFormat::kText ? options_.fold
                                                     : Milliseconds{0},
                 options_.status_line},
                [this](std::string text) {
                  stdio_.write(STDOUT_FILENO, std::move(text), {});
                }) {
  if (!stderr_is_stdout()) {
    stderr_ = std::make_unique<OutputWriter>(
        loop, [this](int fd, int error) { write_failed(fd, error); },
        [this] { credit_.settle(); });
  }
  if (!options_.directory.empty()) {
    files_.keep_files(LogFiles(options_.directory, options_.rotation),
                      [](const std::string& words) { log::warn("{}", words); });
  }
  reader_timer_.start(kReaderCheck, [this] { watch_reader(); });
}

OutputWriter& RankOutput::writer_of(int fd) {
  return fd == STDERR_FILENO && stderr_ ? *stderr_ : stdio_;
}

RankOutput::~RankOutput() = default;

void RankOutput::add_process(ProcessKey key, int rank, std::string source,
                             std::string host) {
  auto process = std::make_unique<ProcessOutput>(
      rank, std::move(source), std::move(host),
      ProcessOutput::Look{options_.color, options_.tags,
                          options_.progress_interval,
                          tail_bytes(processes_.size() + 1)});
  for (const ProcessStream* stream : {&process->out, &process->err}) {
    credit_.add({key, stream->flag});
  }
  terminal_.name_rank(rank, process->tag);
  last_output_ = Clock::now();
  processes_[key] = std::move(process);
}

ProcessOutput* RankOutput::find(ProcessKey key) {
  const auto found = processes_.find(key);
  return found == processes_.end() ? nullptr : found->second.get();
}

void RankOutput::frame(ProcessKey key, const wire::Frame& frame) {
  ProcessOutput* const known = find(key);
  const auto output = wire::parse_output(frame.payload);
  if (known == nullptr || !output) return;
  ProcessOutput& process = *known;
  ProcessStream& stream = process.stream(frame.flags & wire::kStreamMask);
  stream.time_ns = output->time_ns;
  if (output->bytes.size() >= kBusyFrame) credit_.widen({key, stream.flag});
  if (stream.ready.empty()) stream.ready = stdio_.buffer();
  const auto sink = [&](const LineSplitter::Piece& piece) {
    take_line(process, stream, piece);
  };
  clean_ = masker_ && !masker_->needs_look(output->bytes, stream.mask)
               ? output->bytes
               : std::string_view{};
  wordless_ = on_line_ && output->bytes.find(word_) == std::string_view::npos
                  ? output->bytes
                  : std::string_view{};
  stream.splitter.feed(output->bytes, output->time_ns, sink);
  if (is_verbatim(process)) {
    const bool clean = !clean_.empty() && stream.verbatim.at_rest();
    stream.verbatim.append(stream.ready, output->bytes,
                           clean ? nullptr : masker());
  }
  show_partial(process, stream);
  clean_ = {};
  wordless_ = {};
  if ((frame.flags & wire::kEnd) != 0) end_stream(key, process, stream);
  if (process.rank >= 0 && !output->bytes.empty()) {
    last_output_ = process.heard = Clock::now();
  }
  stream.held += static_cast<uint32_t>(output->bytes.size());
  // A traceback comes line by line: its lines wait for each other.
  if (stream.grouper.open() && !stream.ended &&
      stream.ready.size() < kMaxGroup) {
    grouping_.insert({key, stream.flag});
    if (!group_timer_.pending()) {
      group_timer_.start(kGroupWait, [this] { let_groups_go(); });
    }
    return;
  }
  hand_over(key, process, stream);
}

void RankOutput::let_groups_go() {
  for (const auto& [key, flag] : std::exchange(grouping_, {})) {
    if (ProcessOutput* const process = find(key)) {
      hand_over(key, *process, process->stream(flag));
    }
  }
}

void RankOutput::take_line(ProcessOutput& process, ProcessStream& stream,
                           const LineSplitter::Piece& piece) {
  const bool begins = !stream.within;
  if (begins) begin_line(process, stream, piece.text);
  stream.within = piece.more;
  const std::string_view line = masked_line(stream, piece.text);
  keep_line(process, stream, line, piece.more);
  if (process.rank < 0 && is_mpirun_noise(line)) return;
  const LineGrouper::Step step =
      piece.progress ? LineGrouper::Step::kAlone : group_step(stream, line);
  const LogLevel level = level_of(line, step);
  if (!is_shown(process.rank, level) || is_verbatim(process)) return;
  // A whole line on its stream, or its end, ends a bar.
  if (terminal_.bar({process.rank, stream.flag}, process.tag, line,
                    !piece.progress || stream.ended)) {
    return;
  }
  // Keeps the order with earlier text of this frame. Credit of folded lines
  // returns at once: a slow reader folds none.
  const bool alone = options_.fold.count() > 0 &&
                     step == LineGrouper::Step::kAlone && begins &&
                     !piece.more && stream.ready.empty() &&
                     stdio_.waiting_bytes() < kMostFolded;
  if (options_.format != LogFormat::kPlain &&
      terminal_.fold(process.rank, line, alone)) {
    return;
  }
  stream.origin.level = to_text(level);
  stream.origin.progress = piece.progress;
  stream.origin.more = piece.more;
  stream.origin.part =
      append_record(stream.ready, options_.format, stream.origin,
                    stream.time_ns, stream.sequence, line);
}

void RankOutput::begin_line(const ProcessOutput& process, ProcessStream& stream,
                            std::string_view line) {
  ++lines_;
  ++stream.sequence;
  stream.origin.part = 0;
  if (on_line_ && !lies_in(line, wordless_)) {
    on_line_(process.rank, process.host, line);
  }
}

// Valid until the next one.
std::string_view RankOutput::masked_line(ProcessStream& stream,
                                         std::string_view line) {
  if (!masker_ || lies_in(line, clean_) ||
      !masker_->needs_look(line, stream.mask)) {
    return line;
  }
  scratch_.assign(line);
  if (!masker_->mask(scratch_, stream.mask)) return line;
  return scratch_;
}

// Whether it is shown or not.
void RankOutput::keep_line(ProcessOutput& process, ProcessStream& stream,
                           std::string_view line, bool more) {
  if (!options_.directory.empty()) {
    stream.raw.append(line);
    if (!more) stream.raw += '\n';
  }
  stream.tail.keep(line, stream.time_ns);
  if (without_rank_mark(line).starts_with(kTraceback)) {
    process.raised = process.rank >= 0;
  }
}

LineGrouper::Step RankOutput::group_step(ProcessStream& stream,
                                         std::string_view line) const {
  if (!level_counts_ && options_.format == LogFormat::kPlain) {
    return LineGrouper::Step::kAlone;
  }
  return stream.grouper.next(line, stream.time_ns);
}

LogLevel RankOutput::level_of(std::string_view line,
                              LineGrouper::Step step) const {
  if (!level_counts_) return LogLevel::kInfo;
  return level_at(step, detect_level(line).value_or(LogLevel::kInfo));
}

bool RankOutput::is_shown(int rank, LogLevel level) const {
  if (level < options_.level) return false;
  if (rank < 0) return true;
  return !options_.only_files &&
         (options_.ranks.empty() || options_.ranks.count(rank) > 0);
}

// A prompt, or dots that count: stays in the last line until the rest comes.
void RankOutput::show_partial(ProcessOutput& process, ProcessStream& stream) {
  const std::string_view text = stream.splitter.partial();
  if (!options_.status_line || text.empty() ||
      !is_shown(process.rank, options_.level)) {
    return;
  }
  terminal_.bar({process.rank, stream.flag}, process.tag,
                masked(std::string(text)), false);
}

bool RankOutput::is_verbatim(const ProcessOutput& process) const {
  return options_.format == LogFormat::kPlain &&
         options_.tags == MpiTags::kNone && !level_counts_ &&
         process.rank >= 0 && is_shown(process.rank, options_.level);
}

void RankOutput::end_stream(ProcessKey key, ProcessOutput& process,
                            ProcessStream& stream) {
  stream.ended = true;
  credit_.narrow({key, stream.flag});
  stream.splitter.finish([&](const LineSplitter::Piece& piece) {
    take_line(process, stream, piece);
  });
  stream.verbatim.finish(stream.ready, masker());
}

void RankOutput::finish(ProcessKey key, ProcessOutput& process) {
  for (ProcessStream* stream : {&process.out, &process.err}) {
    end_stream(key, process, *stream);
    hand_over(key, process, *stream);
  }
}

void RankOutput::forget(ProcessKey key) {
  auto process = processes_.extract(key);
  if (process.empty()) return;
  for (const uint8_t flag : {wire::kStdout, wire::kStderr}) {
    credit_.forget({key, flag});
  }
  finish(key, *process.mapped());
}

void RankOutput::node_lost(uint16_t node) {
  constexpr int kTold = 4;
  int cut = 0;
  for (auto& [key, process] : processes_) {
    if (key.node != node || (process->out.ended && process->err.ended)) {
      continue;
    }
    finish(key, *process);
    ++cut_processes_;
    if (++cut > kTold) continue;
    log::warn(
        "{} on {}: its output after line {} of stdout and line {} "
        "of stderr did not arrive",
        process->rank >= 0 ? "rank " + std::to_string(process->rank)
                           : process->source,
        process->host, process->out.sequence, process->err.sequence);
  }
  if (cut > kTold) {
    log::warn("… and so for {} more processes of that worker", cut - kTold);
  }
}

void RankOutput::own_line(std::string line) {
  line = masked(line);
  if (::isatty(STDERR_FILENO) == 1) line = terminal_.around(std::move(line));
  writer_of(STDERR_FILENO).write(STDERR_FILENO, std::move(line), {});
}

void RankOutput::watch_reader() {
  tell_stall(stdio_, longest_stall_, "stdout was not read");
  tell_stall(files_, longest_files_stall_,
             "the file system of --log-dir did not take anything");
  reader_timer_.start(kReaderCheck, [this] { watch_reader(); });
}

// Reports once that a reader holds up the ranks, and once for how long it did.
void RankOutput::tell_stall(const OutputWriter& writer, Milliseconds& longest,
                            const char* what) {
  const Milliseconds stalled = writer.stalled();
  if (stalled > kStallWorthTelling) {
    if (longest.count() == 0) {
      log::warn("log_stalled: {} for {}{}", what,
                human_duration_ms(stalled.count()),
                options_.drop ? "" : "; ranks that print are held");
    }
    longest = stalled;
  } else if (longest.count() > 0) {
    log::warn("log_stalled: {} for {}{}", what,
              human_duration_ms(longest.count()),
              options_.drop ? "; " + std::to_string(dropped_lines_) +
                                  " lines were dropped so far"
                            : "; nothing is lost");
    longest = Milliseconds{0};
  }
}

void RankOutput::hand_over(ProcessKey key, ProcessOutput& process,
                           ProcessStream& stream) {
  uint32_t credit = std::exchange(stream.held, 0);
  // With --log-overflow drop, credit returns before the bytes are written, so
  // that a rank never waits.
  if (options_.drop && credit > 0) {
    credit_.owe({key, stream.flag}, std::exchange(credit, 0));
    credit_.settle();
  }
  // Once for the file and once for stdout; the later one gives it back.
  const auto waits = std::make_shared<int>(1);
  auto done = [this, key, flag = stream.flag, credit, waits] {
    if (--*waits == 0) credit_.owe({key, flag}, credit);
  };
  // The same lines go to both: each counts once, wherever it is lost.
  const uint64_t lost_before = dropped_lines_;
  if (!stream.raw.empty() && !drops(files_, stream.raw)) {
    ++*waits;
    files_.write_file(process.file_name(stream.flag), std::move(stream.raw),
                      done);
  }
  stream.raw.clear();
  stream.ready = terminal_.around(std::move(stream.ready));
  // Only plain output keeps a rank's stderr apart, as mpirun does; with a tag
  // on each line one ordered stream is worth more.
  const bool to_stderr =
      options_.format == LogFormat::kPlain && stream.flag == wire::kStderr;
  const int fd = to_stderr ? STDERR_FILENO : STDOUT_FILENO;
  const uint64_t of_file = std::exchange(dropped_lines_, lost_before);
  const bool no_room =
      stream.ready.empty() || drops(writer_of(fd), stream.ready);
  dropped_lines_ = std::max(dropped_lines_, of_file);
  if (no_room) {
    stdio_.give_back(std::move(stream.ready));
    stream.ready = {};
    done();
    credit_.settle();
    return;
  }
  writer_of(fd).write(fd, std::move(stream.ready), std::move(done));
  stream.ready.clear();
}

bool RankOutput::drops(const OutputWriter& writer, std::string& text) {
  if (!options_.drop || writer.waiting_bytes() <= kMaxWaiting) return false;
  dropped_lines_ +=
      static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
  text.clear();
  return true;
}

void RankOutput::write_failed(int fd, int error) {
  if (fd == STDOUT_FILENO && error == EPIPE && on_reader_gone_) {
    on_reader_gone_();
    return;
  }
  log::warn(
      "{}: cannot write rank output: {}. Further output to it is lost; "
      "the job goes on",
      fd == STDOUT_FILENO ? "stdout" : "stderr", strerror(error));
}

std::vector<LineEvidence> RankOutput::last_lines(ProcessKey key,
                                                 const RuleBook* rules) const {
  const auto found = processes_.find(key);
  if (found == processes_.end()) return {};
  std::vector<LineEvidence> out;
  for (const ProcessStream* stream :
       {&found->second->out, &found->second->err}) {
    stream->tail.append_to(out, rules);
  }
  sort_by_time(out);
  return out;
}

std::vector<LineEvidence> RankOutput::newest_lines(ProcessKey key) const {
  const auto found = processes_.find(key);
  if (found == processes_.end()) return {};
  std::vector<LineEvidence> out;
  found->second->out.tail.append_newest(out);
  found->second->err.tail.append_newest(out);
  sort_by_time(out);
  return out;
}

uint64_t RankOutput::lines_of(ProcessKey key) const {
  const auto found = processes_.find(key);
  if (found == processes_.end()) return 0;
  return found->second->out.sequence + found->second->err.sequence;
}

std::vector<ProcessKey> RankOutput::quiet_after_traceback(Milliseconds quiet) {
  std::vector<ProcessKey> out;
  for (auto& [key, process] : processes_) {
    if (!process->raised || Clock::now() - process->heard < quiet) continue;
    process->raised = false;
    out.push_back(key);
  }
  return out;
}

bool RankOutput::drain(Milliseconds limit) {
  for (auto& [key, process] : processes_) {
    if (!process->out.ended || !process->err.ended) finish(key, *process);
  }
  terminal_.finish();
  const auto end = Clock::now() + limit;
  const bool written = stdio_.drain(limit);
  const auto left = [end] {
    return std::max(
        std::chrono::duration_cast<Milliseconds>(end - Clock::now()),
        Milliseconds{100});
  };
  const bool told = !stderr_ || stderr_->drain(left());
  return files_.drain(left()) && told && written;
}

}  // namespace muster
