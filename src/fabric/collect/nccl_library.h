// SPDX-License-Identifier: Apache-2.0
// The job's own NCCL and the CUDA driver, opened at run time, each as a table
// of the few entry points that an all-reduce needs. Their binary form has not
// changed since NCCL 2.2 and CUDA 11, so neither header is needed. Refuses,
// with a sentence: a missing library or function (codes "nccl_missing",
// "cuda_missing"), a driver without a GPU ("gpu_missing"). For a process that
// does nothing else: never closes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct NcclId {
  char bytes[128];
};

struct NcclCalls {
  int (*version)(int*);
  int (*make_id)(NcclId*);
  int (*init)(void** communicator, int ranks, NcclId id, int rank);
  int (*all_reduce)(const void* from, void* to, size_t count, int type,
                    int operation, void* communicator, void* stream);
  int (*destroy)(void* communicator);
  const char* (*error_text)(int);
  const char* (*last_error)(void* communicator);  // null before NCCL 2.13
};
constexpr int kNcclFloat = 7;
constexpr int kNcclSum = 0;

struct CudaCalls {
  int (*init)(unsigned flags);
  int (*device_count)(int*);
  int (*device)(int* device, int index);
  int (*retain_context)(void** context, int device);
  int (*use_context)(void* context);
  int (*allocate)(uint64_t* address, size_t bytes);
  int (*make_stream)(void** stream, unsigned flags);
  int (*wait_for)(void* stream);
  int (*to_device)(uint64_t to, const void* from, size_t bytes);
  int (*to_host)(void* to, uint64_t from, size_t bytes);
  // A DMA-BUF of a range (type 1) into *handle; null before CUDA 11.7.
  int (*export_range)(void* handle, uint64_t address, size_t bytes, int type,
                      unsigned long long flags);
};

// The first of `paths` that can be opened.
Result<NcclCalls> open_nccl(const std::vector<std::string>& paths);
// Opened, with a context of GPU `index` (modulo those visible) current.
Result<CudaCalls> open_cuda(const std::string& path, int index);

// "2.21.5" for 22105, "2.8.4" for 2804.
std::string nccl_version_text(int number);

}  // namespace muster
