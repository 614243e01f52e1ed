// SPDX-License-Identifier: Apache-2.0
// Frames between launcher and agent: bytes in, frames out.
#include <benchmark/benchmark.h>

#include "wire/frame.h"

namespace muster {
namespace {

void encode_frame(benchmark::State& state) {
  const std::string payload(static_cast<size_t>(state.range(0)), 'x');
  std::string out;
  for (auto _ : state) {
    out.clear();
    wire::encode(wire::FrameType::kOutput, wire::kStdout, 1, 7, payload, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(encode_frame)->Arg(64)->Arg(4096)->Arg(65536);

// As it comes off a socket: reads of 64 KiB, whatever the frames' size.
void decode_frames(benchmark::State& state) {
  constexpr size_t kStream = 4 << 20;
  constexpr size_t kRead = 64 << 10;
  const std::string payload(static_cast<size_t>(state.range(0)), 'x');
  std::string stream;
  int64_t frames = 0;
  while (stream.size() < kStream) {
    wire::encode(wire::FrameType::kOutput, wire::kStdout, 1, 7, payload,
                 stream);
    ++frames;
  }
  for (auto _ : state) {
    wire::FrameReader reader;
    for (size_t at = 0; at < stream.size(); at += kRead) {
      auto bytes = std::string_view(stream).substr(at, kRead);
      for (auto frame = reader.next(bytes); frame && *frame;
           frame = reader.next(bytes)) {
        benchmark::DoNotOptimize((*frame)->payload.data());
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * frames);
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(stream.size()));
}
BENCHMARK(decode_frames)->Arg(64)->Arg(4096)->Arg(65536);

}  // namespace
}  // namespace muster
