// SPDX-License-Identifier: Apache-2.0
// The whole way of a line through the launcher: frame in, record on stdout
// (/dev/null here), credit back.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include "launcher/output/rank_output.h"
#include "sample_lines.h"

namespace muster {
namespace {

// /dev/null in place of stdout, where the results go as well.
class QuietStdout {
 public:
  QuietStdout() : saved_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
    const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    ::dup2(null.get(), STDOUT_FILENO);
  }
  ~QuietStdout() { ::dup2(saved_.get(), STDOUT_FILENO); }
  QuietStdout(const QuietStdout&) = delete;
  QuietStdout& operator=(const QuietStdout&) = delete;

 private:
  UniqueFd saved_;
};

// range(0): lines in a frame. `masked`: as a launch does it by default.
void rank_output(benchmark::State& state, LogFormat format, bool masked) {
  const QuietStdout quiet;
  Loop loop;
  OutputOptions options;
  options.format = format;
  RankOutput output(loop, options, [](ProcessKey, uint8_t, uint32_t) {});
  if (masked) output.set_masker(std::move(*Masker::create({})));
  constexpr int kRanks = 16;
  for (int rank = 0; rank < kRanks; ++rank) {
    output.add_process({static_cast<uint16_t>(rank), 1}, rank, "",
                       "train-worker-" + std::to_string(rank / 8));
  }
  wire::Frame frame;
  frame.type = wire::FrameType::kOutput;
  frame.flags = wire::kStdout;
  frame.payload = wire::output_payload(
      1, bench::sample_block(static_cast<size_t>(state.range(0))));
  int rank = 0;
  for (auto _ : state) {
    output.frame({static_cast<uint16_t>(rank++ % kRanks), 1}, frame);
  }
  output.drain(Milliseconds{10'000});
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(frame.payload.size()));
}
BENCHMARK_CAPTURE(rank_output, json_masked, LogFormat::kJson, true)
    ->Arg(1)
    ->Arg(64)
    ->UseRealTime();
BENCHMARK_CAPTURE(rank_output, json, LogFormat::kJson, false)
    ->Arg(64)
    ->UseRealTime();
BENCHMARK_CAPTURE(rank_output, text, LogFormat::kText, false)
    ->Arg(64)
    ->UseRealTime();

}  // namespace
}  // namespace muster
