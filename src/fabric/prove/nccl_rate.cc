// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/nccl_rate.h"

#include <array>
#include <chrono>

namespace muster {

namespace {

constexpr size_t kCount = kNcclBytes / sizeof(float);
constexpr size_t kSample = 1024;
constexpr int kWarmUp = 2;
constexpr int kTimed = 8;

// Leaves what it holds to the end of the process.
class Reduction {
 public:
  Reduction(const NcclCalls& nccl, const CudaCalls& cuda, const NcclSeat& seat)
      : nccl_(nccl), cuda_(cuda), seat_(seat) {}

  Status prepare() {
    const std::vector<float> data(kCount, static_cast<float>(seat_.rank + 1));
    if (Status s = cuda(cuda_.allocate(&from_, kNcclBytes), "memory"); !s)
      return s;
    if (Status s = cuda(cuda_.allocate(&to_, kNcclBytes), "memory"); !s)
      return s;
    if (Status s = cuda(cuda_.to_device(from_, data.data(), kNcclBytes),
                        "a copy to the GPU");
        !s)
      return s;
    if (Status s = cuda(cuda_.make_stream(&stream_, 0), "a stream"); !s)
      return s;
    return nccl(nccl_.init(&communicator_, seat_.ranks, seat_.id, seat_.rank),
                "ncclCommInitRank");
  }

  Status run(int times) {
    for (int i = 0; i < times; ++i) {
      const int code =
          nccl_.all_reduce(address(from_), address(to_), kCount, kNcclFloat,
                           kNcclSum, communicator_, stream_);
      if (Status s = nccl(code, "ncclAllReduce"); !s) return s;
    }
    return cuda(cuda_.wait_for(stream_), "waiting for the all-reduce");
  }

  // Begin and end of the sum.
  Status compare() {
    const auto ranks = static_cast<float>(seat_.ranks);
    const float wanted = ranks * (ranks + 1) / 2;
    std::array<float, kSample> sample{};
    for (const size_t at : {size_t{0}, kCount - kSample}) {
      if (Status s = cuda(cuda_.to_host(sample.data(), to_ + at * sizeof(float),
                                        sizeof sample),
                          "a copy from the GPU");
          !s)
        return s;
      for (const float value : sample) {
        if (value == wanted) continue;
        return fail(
            {"nccl_wrong",
             "an all-reduce gave a wrong sum",
             std::to_string(value) + " instead of " + std::to_string(wanted),
             {},
             "do not train on these nodes before this is understood"});
      }
    }
    return {};
  }

  void end() { static_cast<void>(nccl_.destroy(communicator_)); }

 private:
  static void* address(uint64_t value) {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(value));
  }

  static Status cuda(int code, const char* step) {
    if (code == 0) return {};
    return fail({"nccl_fails",
                 std::string(step) + " fails",
                 "CUDA code " + std::to_string(code),
                 {},
                 {}});
  }

  Status nccl(int code, const char* step) {
    if (code == 0) return {};
    std::string why = nccl_.error_text(code);
    if (nccl_.last_error != nullptr) {
      const char* more = nccl_.last_error(communicator_);
      if (more != nullptr && *more != 0) why += std::string(": ") + more;
    }
    return fail({"nccl_fails",
                 std::string(step) + " fails",
                 std::move(why),
                 {},
                 "NCCL_DEBUG=INFO in the job shows more; `muster fabric check` "
                 "tests the network"});
  }

  const NcclCalls& nccl_;
  const CudaCalls& cuda_;
  const NcclSeat& seat_;
  uint64_t from_ = 0;
  uint64_t to_ = 0;
  void* stream_ = nullptr;
  void* communicator_ = nullptr;
};

}  // namespace

Result<double> time_all_reduce(const NcclCalls& nccl, const CudaCalls& cuda,
                               const NcclSeat& seat) {
  using Clock = std::chrono::steady_clock;
  Reduction reduction(nccl, cuda, seat);
  Status status = reduction.prepare();
  if (status) status = reduction.run(kWarmUp);
  if (status) status = reduction.compare();
  if (!status) return fail(status.error());
  const auto start = Clock::now();
  if (status = reduction.run(kTimed); !status) return fail(status.error());
  const std::chrono::duration<double> time = Clock::now() - start;
  reduction.end();
  return time.count() / kTimed;
}

}  // namespace muster
