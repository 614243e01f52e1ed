// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

#include "base/log.h"

namespace muster {

namespace {

// A line without an end is held back up to here, then written as if it ended.
constexpr size_t kMaxHeld = 256 << 10;
constexpr size_t kTailLines = 12;
constexpr size_t kTailLineLength = 400;

}  // namespace

struct RankOutput::Stream {
  uint8_t flag = 0;
  std::string_view name;
  std::string held;    // an incomplete line
  std::string ready;   // formatted, for stdout or stderr
  std::string raw;     // for the per-rank file
  uint64_t sequence = 0;
  int64_t time_ns = 0;
  std::deque<LineEvidence> tail;
};

struct RankOutput::Process {
  int rank = -1;
  std::string source;
  std::string host;
  Stream out;
  Stream err;
};

RankOutput::RankOutput(Loop& loop, OutputOptions options,
                       GiveCredit give_credit)
    : options_(std::move(options)),
      give_credit_(std::move(give_credit)),
      stdio_(loop, [this](int fd, int error) { write_failed(fd, error); }),
      files_(loop, [this](int fd, int error) { write_failed(fd, error); }) {
  if (!options_.directory.empty()) {
    ::mkdir(options_.directory.c_str(), 0777);
  }
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
  processes_[key] = std::move(process);
}

void RankOutput::frame(ProcessKey key, const wire::Frame& frame) {
  const auto found = processes_.find(key);
  const auto output = wire::parse_output(frame.payload);
  if (found == processes_.end() || !output) return;
  Process& process = *found->second;
  Stream& stream =
      (frame.flags & wire::kStreamMask) == wire::kStderr ? process.err
                                                         : process.out;
  std::string_view bytes = output->bytes;
  stream.time_ns = output->time_ns;
  for (;;) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) break;
    if (stream.held.empty()) {
      take_line(process, stream, bytes.substr(0, end));
    } else {
      stream.held.append(bytes.substr(0, end));
      take_line(process, stream, stream.held);
      stream.held.clear();
    }
    bytes.remove_prefix(end + 1);
  }
  stream.held.append(bytes);
  const bool ended = (frame.flags & wire::kEnd) != 0;
  if (!stream.held.empty() && (ended || stream.held.size() > kMaxHeld)) {
    take_line(process, stream, stream.held);
    stream.held.clear();
  }
  hand_over(key, process, stream, static_cast<uint32_t>(output->bytes.size()));
}

void RankOutput::take_line(Process& process, Stream& stream,
                           std::string_view line) {
  ++lines_;
  ++stream.sequence;
  const LineOrigin origin{process.rank, process.source, process.host,
                          stream.name, options_.color};
  append_record(stream.ready, options_.format, origin, stream.time_ns,
                stream.sequence, line);
  if (!options_.directory.empty()) {
    stream.raw.append(line);
    stream.raw += '\n';
  }
  stream.tail.push_back({stream.time_ns, stream.flag == wire::kStderr,
                         std::string(line.substr(0, kTailLineLength))});
  if (stream.tail.size() > kTailLines) stream.tail.pop_front();
}

void RankOutput::hand_over(ProcessKey key, Process& process, Stream& stream,
                           uint32_t credit) {
  auto done = [this, key, flag = stream.flag, credit] {
    if (credit > 0) give_credit_(key, flag, credit);
  };
  if (!options_.directory.empty() && !stream.raw.empty()) {
    const int fd = file_for(process, stream.flag);
    if (fd >= 0) files_.write(fd, std::move(stream.raw), {});
    stream.raw.clear();
  }
  if (stream.ready.empty()) {
    done();
    return;
  }
  // Only plain output keeps a rank's stderr apart, as mpirun does; with a tag
  // on each line one ordered stream is worth more.
  const bool to_stderr = options_.format == LogFormat::kPlain &&
                         stream.flag == wire::kStderr;
  stdio_.write(to_stderr ? STDERR_FILENO : STDOUT_FILENO,
               std::move(stream.ready), std::move(done));
  stream.ready.clear();
}

int RankOutput::file_for(const Process& process, uint8_t stream) {
  const std::string name =
      options_.directory + "/" +
      (process.rank >= 0 ? "rank-" + std::to_string(process.rank)
                         : process.source) +
      (stream == wire::kStderr ? ".err" : ".out");
  const auto known = open_files_.find(name);
  if (known != open_files_.end()) return known->second.get();
  UniqueFd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                     0666));
  if (!fd) {
    log::warn("{}: cannot write the log file: {}. Its lines are on stdout only",
              name, strerror(errno));
  }
  return open_files_.emplace(name, std::move(fd)).first->second.get();
}

void RankOutput::write_failed(int fd, int error) {
  std::string name = fd == STDOUT_FILENO ? "stdout" : "stderr";
  for (const auto& [path, file] : open_files_) {
    if (file.get() == fd) name = path;
  }
  log::warn("{}: cannot write rank output: {}. What follows for it is lost; "
            "the job goes on",
            name, strerror(error));
}

std::vector<LineEvidence> RankOutput::last_lines(ProcessKey key,
                                                 size_t count) const {
  const auto found = processes_.find(key);
  if (found == processes_.end()) return {};
  std::vector<LineEvidence> out;
  for (const Stream* stream : {&found->second->out, &found->second->err}) {
    const size_t size = stream->tail.size();
    for (size_t i = size > count ? size - count : 0; i < size; ++i) {
      out.push_back(stream->tail[i]);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.time_ns < b.time_ns;
  });
  return out;
}

void RankOutput::drain(Milliseconds limit) {
  const auto end = Clock::now() + limit;
  if (!stdio_.drain(limit)) {
    log::warn("stdout does not take the ranks' output: gave up after {} ms",
              limit.count());
  }
  const auto left =
      std::chrono::duration_cast<Milliseconds>(end - Clock::now());
  files_.drain(std::max(left, Milliseconds{100}));
}

uint64_t RankOutput::dropped_bytes() const {
  return stdio_.dropped_bytes() + files_.dropped_bytes();
}

}  // namespace muster
