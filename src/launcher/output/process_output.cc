// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/process_output.h"

#include <chrono>
#include <utility>

#include "wire/frame.h"

namespace muster {

namespace {

constexpr size_t kTailLines = 12;
// mpirun's own lines: a crash of its own may follow its report of a rank.
constexpr size_t kToolTailLines = 64;

size_t tail_lines(int rank) { return rank < 0 ? kToolTailLines : kTailLines; }

}  // namespace

ProcessStream::ProcessStream(uint8_t stream, size_t tail_lines,
                             size_t tail_bytes, Milliseconds progress_interval)
    : flag(stream),
      tail(tail_lines, stream == wire::kStderr, tail_bytes),
      splitter(std::chrono::nanoseconds(progress_interval).count()) {}

ProcessOutput::ProcessOutput(int number, std::string who, std::string where,
                             Look look)
    : rank(number),
      source(std::move(who)),
      host(std::move(where)),
      out(wire::kStdout, tail_lines(number), look.tail_bytes,
          look.progress_interval),
      err(wire::kStderr, tail_lines(number), look.tail_bytes,
          look.progress_interval) {
  LineOrigin origin;
  origin.rank = rank;
  origin.source = source;
  origin.host = host;
  origin.color = look.color;
  tag = text_tag(origin);
  origin.tag = tag;
  for (ProcessStream* const one : {&out, &err}) {
    one->origin = origin;
    one->origin.stream = one == &out ? "stdout" : "stderr";
    one->json = json_origin(one->origin);
    one->mpi_tag = mpi_tag(look.tags, one->origin);
    one->origin.json = one->json;
    one->origin.mpi_tag = one->mpi_tag;
  }
}

ProcessStream& ProcessOutput::stream(uint8_t flag) {
  return flag == wire::kStderr ? err : out;
}

std::string ProcessOutput::file_name(uint8_t flag) const {
  return (rank >= 0 ? "rank-" + std::to_string(rank) : source) +
         (flag == wire::kStderr ? ".err" : ".out");
}

}  // namespace muster
