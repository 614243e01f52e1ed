// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/rank_output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/output/line_tail.h"
#include "logs/line_grouper.h"
#include "logs/mpirun_noise.h"

namespace muster {

namespace {

// With --log-overflow drop: what may wait for a slow reader of stdout.
constexpr size_t kMaxWaiting = 4 << 20;
constexpr Milliseconds kReaderCheck{1'000};
constexpr Milliseconds kStallWorthTelling{3'000};
constexpr size_t kTailLines = 12;
constexpr std::string_view kTraceback = "Traceback (most recent call last)";
// mpirun's own words: a crash of its own may follow what it said of a rank.
constexpr size_t kToolTailLines = 64;
// A group of lines that belong together waits at most so long, and so large.
constexpr Milliseconds kGroupWait{250};
constexpr size_t kMaxGroup = 64 << 10;
// A stream whose frames are that long prints without a pause. It may have more
// under way: its agent then need not wait for each answer.
constexpr size_t kBusyFrame = 4 << 10;
constexpr uint64_t kMostExtraCredit = 64 << 20;

}  // namespace

struct RankOutput::Stream {
  uint8_t flag = 0;
  std::string_view name;
  std::string json;  // json_origin()
  std::string mpi_tag;
  std::string ready;  // formatted, for stdout or stderr
  std::string raw;    // for the per-rank file
  uint64_t sequence = 0;
  int64_t time_ns = 0;
  int part = 0;         // of the line that goes on with the next piece
  bool within = false;  // … and there is such a line
  bool ended = false;
  std::optional<LineTail> tail;
  LineGrouper grouper;
  uint32_t held = 0;  // credit of what is held back
  uint32_t owed = 0;  // … of what has left, not sent to the agent yet
  bool wide = false;  // has extra credit
  MaskState mask;
  std::unique_ptr<ProgressBar> splitter;
};

struct RankOutput::Process {
  int rank = -1;
  std::string source;
  std::string host;
  std::string tag;
  Clock::time_point heard = Clock::now();
  bool raised = false;  // wrote a traceback, and that was not looked at yet
  Stream out;
  Stream err;

  [[nodiscard]] std::string file_name(uint8_t stream) const {
    return (rank >= 0 ? "rank-" + std::to_string(rank) : source) +
           (stream == wire::kStderr ? ".err" : ".out");
  }
};

RankOutput::RankOutput(Loop& loop, OutputOptions options,
                       GiveCredit give_credit)
    : options_(std::move(options)),
      give_credit_(std::move(give_credit)),
      stdio_(
          loop, [this](int fd, int error) { write_failed(fd, error); },
          [this] { return_credit(); }),
      files_(
          loop, [this](int fd, int error) { write_failed(fd, error); },
          [this] { return_credit(); }),
      log_files_(options_.directory, options_.rotation),
      reader_timer_(loop),
      group_timer_(loop),
      terminal_(loop,
                {options_.format == LogFormat::kText ? options_.fold
                                                     : Milliseconds{0},
                 options_.status_line},
                [this](std::string text) {
                  stdio_.write(STDOUT_FILENO, std::move(text), {});
                }) {
  reader_timer_.start(kReaderCheck, [this] { watch_reader(); });
}

RankOutput::~RankOutput() = default;

void RankOutput::add_process(ProcessKey key, int rank, std::string source,
                             std::string host) {
  auto process = std::make_unique<Process>();
  process->rank = rank;
  process->source = std::move(source);
  process->host = std::move(host);
  process->out.flag = wire::kStdout;
  process->out.name = "stdout";
  process->err.flag = wire::kStderr;
  process->err.name = "stderr";
  for (Stream* stream : {&process->out, &process->err}) {
    stream->tail.emplace(rank < 0 ? kToolTailLines : kTailLines,
                         stream->flag == wire::kStderr);
    stream->splitter = std::make_unique<ProgressBar>(
        std::chrono::nanoseconds(options_.progress_interval).count());
  }
  LineOrigin origin;
  origin.rank = rank;
  origin.source = process->source;
  origin.host = process->host;
  origin.color = options_.color;
  process->tag = text_tag(origin);
  for (Stream* stream : {&process->out, &process->err}) {
    origin.stream = stream->name;
    stream->json = json_origin(origin);
    stream->mpi_tag = mpi_tag(options_.tags, origin);
  }
  terminal_.name_rank(rank, process->tag);
  last_output_ = Clock::now();
  processes_[key] = std::move(process);
}

void RankOutput::frame(ProcessKey key, const wire::Frame& frame) {
  const auto found = processes_.find(key);
  const auto output = wire::parse_output(frame.payload);
  if (found == processes_.end() || !output) return;
  Process& process = *found->second;
  Stream& stream = (frame.flags & wire::kStreamMask) == wire::kStderr
                       ? process.err
                       : process.out;
  stream.time_ns = output->time_ns;
  if (output->bytes.size() >= kBusyFrame) widen(key, stream);
  if (stream.ready.empty()) stream.ready = stdio_.buffer();
  const auto sink = [&](const ProgressBar::Piece& piece) {
    take_line(process, stream, piece);
  };
  clean_ = masker_ && !masker_->needs_look(output->bytes, stream.mask)
               ? output->bytes
               : std::string_view{};
  wordless_ = on_line_ && output->bytes.find(word_) == std::string_view::npos
                  ? output->bytes
                  : std::string_view{};
  stream.splitter->feed(output->bytes, output->time_ns, sink);
  clean_ = {};
  wordless_ = {};
  if ((frame.flags & wire::kEnd) != 0) {
    stream.ended = true;
    narrow(stream);
    stream.splitter->finish(sink);
  }
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
  hand_over(key, process, stream, std::exchange(stream.held, 0));
}

void RankOutput::let_groups_go() {
  for (const auto& [key, flag] : std::exchange(grouping_, {})) {
    const auto found = processes_.find(key);
    if (found == processes_.end()) continue;
    Process& process = *found->second;
    Stream& stream = flag == wire::kStderr ? process.err : process.out;
    hand_over(key, process, stream, std::exchange(stream.held, 0));
  }
}

void RankOutput::take_line(Process& process, Stream& stream,
                           const ProgressBar::Piece& piece) {
  std::string_view line = piece.text;
  const bool begins = !stream.within;
  if (begins) {
    ++lines_;
    ++stream.sequence;
    stream.part = 0;
    if (on_line_ && !lies_in(line, wordless_)) {
      on_line_(process.rank, process.host, line);
    }
  }
  stream.within = piece.more;
  if (masker_ && !lies_in(line, clean_) &&
      masker_->needs_look(line, stream.mask)) {
    scratch_.assign(line);
    if (masker_->mask(scratch_, stream.mask)) line = scratch_;
  }
  if (!options_.directory.empty()) {
    stream.raw.append(line);
    if (!piece.more) stream.raw += '\n';
  }
  stream.tail->keep(line, stream.time_ns);
  if (line.starts_with(kTraceback)) process.raised = process.rank >= 0;
  if (process.rank < 0 && is_mpirun_noise(line)) return;
  // Text shows no level: then it is looked for only where lines are filtered.
  const bool level_counts =
      options_.format == LogFormat::kJson || options_.level > LogLevel::kTrace;
  const bool grouped =
      (level_counts || options_.format != LogFormat::kPlain) && !piece.progress;
  const LineGrouper::Step step = grouped
                                     ? stream.grouper.next(line, stream.time_ns)
                                     : LineGrouper::Step::kAlone;
  const LogLevel level =
      level_counts
          ? level_at(step, detect_level(line).value_or(LogLevel::kInfo))
          : LogLevel::kInfo;
  if (level < options_.level ||
      (!options_.ranks.empty() && options_.ranks.count(process.rank) == 0)) {
    return;
  }
  // With a whole line on its stream, or at its end, a bar is over.
  if (terminal_.bar({process.rank, stream.flag}, process.tag, line,
                    !piece.progress || stream.ended)) {
    return;
  }
  // What this frame has brought already must not be overtaken.
  const bool alone = step == LineGrouper::Step::kAlone && begins &&
                     !piece.more && stream.ready.empty();
  if (options_.format != LogFormat::kPlain &&
      terminal_.fold(process.rank, line, alone)) {
    return;
  }
  LineOrigin origin;
  origin.rank = process.rank;
  origin.source = process.source;
  origin.host = process.host;
  origin.stream = stream.name;
  origin.level = to_text(level);
  origin.progress = piece.progress;
  origin.tag = process.tag;
  origin.json = stream.json;
  origin.mpi_tag = stream.mpi_tag;
  origin.part = stream.part;
  origin.more = piece.more;
  stream.part = append_record(stream.ready, options_.format, origin,
                              stream.time_ns, stream.sequence, line);
}

void RankOutput::finish(ProcessKey key, Process& process) {
  for (Stream* stream : {&process.out, &process.err}) {
    stream->ended = true;
    narrow(*stream);
    stream->splitter->finish([&](const ProgressBar::Piece& piece) {
      take_line(process, *stream, piece);
    });
    hand_over(key, process, *stream, std::exchange(stream->held, 0));
  }
}

void RankOutput::forget(ProcessKey key) {
  auto process = processes_.extract(key);
  if (!process.empty()) finish(key, *process.mapped());
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
        "{} on {}: what it put out after line {} of stdout and line {} "
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
  if (::isatty(STDERR_FILENO) == 1) line = terminal_.around(std::move(line));
  stdio_.write(STDERR_FILENO, std::move(line), {});
}

// Says once that the reader of stdout holds up the ranks, and once for how
// long it did.
void RankOutput::watch_reader() {
  const Milliseconds stalled = stdio_.stalled();
  if (stalled > kStallWorthTelling) {
    if (longest_stall_.count() == 0) {
      log::warn("log_stalled: nobody has read stdout for {}{}",
                human_duration_ms(stalled.count()),
                options_.drop ? "" : "; ranks that print are held");
    }
    longest_stall_ = stalled;
  } else if (longest_stall_.count() > 0) {
    log::warn("log_stalled: stdout was not read for {}{}",
              human_duration_ms(longest_stall_.count()),
              options_.drop ? "; " + std::to_string(dropped_lines_) +
                                  " lines were dropped so far"
                            : "; nothing is lost");
    longest_stall_ = Milliseconds{0};
  }
  reader_timer_.start(kReaderCheck, [this] { watch_reader(); });
}

void RankOutput::hand_over(ProcessKey key, Process& process, Stream& stream,
                           uint32_t credit) {
  // Who drops never waits: credit returns before the bytes are written.
  if (options_.drop && credit > 0) {
    owe_credit(key, stream.flag, std::exchange(credit, 0));
    return_credit();
  }
  // Once for the file and once for stdout; the later one gives it back.
  const auto waits = std::make_shared<int>(1);
  auto done = [this, key, flag = stream.flag, credit, waits] {
    if (--*waits == 0) owe_credit(key, flag, credit);
  };
  const auto dropped = [this](const OutputWriter& writer, std::string& text) {
    if (!options_.drop || writer.waiting_bytes() <= kMaxWaiting) return false;
    dropped_lines_ +=
        static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
    text.clear();
    return true;
  };
  if (!stream.raw.empty() && !dropped(files_, stream.raw)) {
    const std::string name = process.file_name(stream.flag);
    if (const auto file = log_files_.file_for(name, stream.raw)) {
      ++*waits;
      files_.write(file->get(), std::move(stream.raw),
                   [done, file] { done(); });
    }
    stream.raw.clear();
  }
  stream.ready = terminal_.around(std::move(stream.ready));
  if (stream.ready.empty() || dropped(stdio_, stream.ready)) {
    stdio_.give_back(std::move(stream.ready));
    stream.ready = {};
    done();
    return_credit();
    return;
  }
  // Only plain output keeps a rank's stderr apart, as mpirun does; with a tag
  // on each line one ordered stream is worth more.
  const bool to_stderr =
      options_.format == LogFormat::kPlain && stream.flag == wire::kStderr;
  stdio_.write(to_stderr ? STDERR_FILENO : STDOUT_FILENO,
               std::move(stream.ready), std::move(done));
  stream.ready.clear();
}

RankOutput::Stream* RankOutput::stream_of(ProcessKey key, uint8_t flag) {
  const auto found = processes_.find(key);
  if (found == processes_.end()) return nullptr;
  return flag == wire::kStderr ? &found->second->err : &found->second->out;
}

void RankOutput::widen(ProcessKey key, Stream& stream) {
  const uint32_t extra = options_.extra_credit;
  if (stream.wide || extra_credit_ + extra > kMostExtraCredit) return;
  stream.wide = true;
  extra_credit_ += extra;
  if (extra > 0) give_credit_(key, stream.flag, extra);
}

void RankOutput::narrow(Stream& stream) {
  if (std::exchange(stream.wide, false)) extra_credit_ -= options_.extra_credit;
}

// A stream's agent stops with nothing left of its credit. All of it is then on
// the way through here, which makes more than a step: it goes on.
void RankOutput::owe_credit(ProcessKey key, uint8_t flag, uint32_t bytes) {
  Stream* stream = stream_of(key, flag);
  if (stream == nullptr) return;
  stream->owed += bytes;
  if (stream->owed >= options_.credit_step) credited_.insert({key, flag});
}

// One message for all that left together: with many small frames a message
// each would cost more than the frames.
void RankOutput::return_credit() {
  for (const auto& [key, flag] : std::exchange(credited_, {})) {
    if (Stream* stream = stream_of(key, flag)) {
      give_credit_(key, flag, std::exchange(stream->owed, 0));
    }
  }
}

void RankOutput::write_failed(int fd, int error) {
  if (fd == STDOUT_FILENO && error == EPIPE && on_reader_gone_) {
    on_reader_gone_();
    return;
  }
  const std::string name = fd == STDOUT_FILENO   ? "stdout"
                           : fd == STDERR_FILENO ? "stderr"
                                                 : log_files_.failed(fd);
  log::warn(
      "{}: cannot write rank output: {}. What follows for it is lost; "
      "the job goes on",
      name, strerror(error));
}

std::vector<LineEvidence> RankOutput::last_lines(ProcessKey key) const {
  const auto found = processes_.find(key);
  if (found == processes_.end()) return {};
  std::vector<LineEvidence> out;
  for (const Stream* stream : {&found->second->out, &found->second->err}) {
    stream->tail->append_to(out);
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.time_ns < b.time_ns;
  });
  return out;
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
  const auto left =
      std::chrono::duration_cast<Milliseconds>(end - Clock::now());
  return files_.drain(std::max(left, Milliseconds{100})) && written;
}

}  // namespace muster
