// SPDX-License-Identifier: Apache-2.0
// One line: its JSON record, its level, and what hides its secrets.
#include <benchmark/benchmark.h>

#include "launcher/output/record_format.h"
#include "logs/level.h"
#include "logs/masker.h"
#include "sample_lines.h"

namespace muster {
namespace {

using bench::sample_lines;

LineOrigin sample_origin() {
  LineOrigin origin;
  origin.rank = 12;
  origin.host = "train-worker-3";
  origin.stream = "stdout";
  return origin;
}

void format_record(benchmark::State& state, LogFormat format) {
  const auto lines = sample_lines();
  std::string out;
  size_t i = 0;
  int64_t bytes = 0;
  for (auto _ : state) {
    out.clear();
    append_record(out, format, sample_origin(), 1'700'000'000'123'456'789, i,
                  lines[i % lines.size()]);
    bytes += static_cast<int64_t>(lines[i++ % lines.size()].size());
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(bytes);
}
BENCHMARK_CAPTURE(format_record, json, LogFormat::kJson);
BENCHMARK_CAPTURE(format_record, text, LogFormat::kText);

// A line of 64 KiB: 17 parts. 'x', or bytes that are no UTF-8.
void format_long_record(benchmark::State& state) {
  const std::string line(64 << 10, static_cast<char>(state.range(0)));
  std::string out;
  for (auto _ : state) {
    out.clear();
    append_record(out, LogFormat::kJson, sample_origin(), 1, 1, line);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(line.size()));
}
BENCHMARK(format_long_record)->Arg('x')->Arg(0x80);

void mask_line(benchmark::State& state) {
  MaskOptions options;
  options.environment = {{"HF_TOKEN", "hf_abcdefghijklmnopqrstuvwxyz"},
                         {"WANDB_API_KEY", "0123456789abcdef0123456789"}};
  const auto masker = Masker::create(options);
  const auto lines = sample_lines();
  MaskState mask_state;
  std::string line;
  size_t i = 0;
  int64_t bytes = 0;
  for (auto _ : state) {
    line = lines[i++ % lines.size()];
    bytes += static_cast<int64_t>(line.size());
    masker->mask(line, mask_state);
    benchmark::DoNotOptimize(line.data());
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(bytes);
}
BENCHMARK(mask_line);

// A frame in which there is nothing to hide, by the number of known values.
void glance_at_frame(benchmark::State& state) {
  MaskOptions options;
  for (int64_t i = 0; i < state.range(0); ++i) {
    options.environment.emplace_back(
        "SERVICE_" + std::to_string(i) + "_API_KEY",
        std::string(1, "lts0"[i % 4]) + std::to_string(1234567 * (i + 3)) +
            "9abcdef0123456789abcdef01");
  }
  const auto masker = Masker::create(options);
  std::string frame;
  const auto lines = sample_lines();
  for (size_t i = 0; frame.size() < 32768; ++i) {
    const std::string line = lines[i % lines.size()];
    if (!masker->needs_look(line, {})) frame += line + '\n';
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(masker->needs_look(frame, {}));
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(frame.size()));
}
BENCHMARK(glance_at_frame)->Arg(0)->Arg(1)->Arg(4)->Arg(16);

void find_level(benchmark::State& state) {
  const auto lines = sample_lines();
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(detect_level(lines[i++ % lines.size()]));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(find_level);

}  // namespace
}  // namespace muster
