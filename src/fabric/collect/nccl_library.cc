// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/nccl_library.h"

#include <dlfcn.h>

namespace muster {

namespace {

template <class Function>
bool take(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

std::string loader_says() {
  const char* text = ::dlerror();
  return text == nullptr ? "no reason given" : text;
}

bool load(void* library, NcclCalls& calls) {
  take(library, "ncclGetLastError", calls.last_error);
  return take(library, "ncclGetVersion", calls.version) &&
         take(library, "ncclGetUniqueId", calls.make_id) &&
         take(library, "ncclCommInitRank", calls.init) &&
         take(library, "ncclAllReduce", calls.all_reduce) &&
         take(library, "ncclCommDestroy", calls.destroy) &&
         take(library, "ncclGetErrorString", calls.error_text);
}

bool load(void* library, CudaCalls& calls) {
  static_cast<void>(
      take(library, "cuMemGetHandleForAddressRange", calls.export_range));
  return take(library, "cuInit", calls.init) &&
         take(library, "cuDeviceGetCount", calls.device_count) &&
         take(library, "cuDeviceGet", calls.device) &&
         take(library, "cuDevicePrimaryCtxRetain", calls.retain_context) &&
         take(library, "cuCtxSetCurrent", calls.use_context) &&
         take(library, "cuMemAlloc_v2", calls.allocate) &&
         take(library, "cuStreamCreate", calls.make_stream) &&
         take(library, "cuStreamSynchronize", calls.wait_for) &&
         take(library, "cuMemcpyHtoD_v2", calls.to_device) &&
         take(library, "cuMemcpyDtoH_v2", calls.to_host);
}

tl::unexpected<Error> no_driver(std::string code, std::string why) {
  return fail({std::move(code),
               "no GPU can be used here",
               std::move(why),
               {},
               "ask for a GPU (nvidia.com/gpu) and let the node's container "
               "runtime add its driver to the pod"});
}

}  // namespace

Result<NcclCalls> open_nccl(const std::vector<std::string>& paths) {
  std::string why;
  for (const std::string& path : paths) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      if (why.empty()) why = loader_says();
      continue;
    }
    NcclCalls calls{};
    if (load(library, calls)) return calls;
    why = path + " lacks functions of NCCL 2";
  }
  return fail({"nccl_missing",
               "the job's NCCL cannot be opened",
               why,
               {},
               "add the directory of libnccl.so.2 to LD_LIBRARY_PATH"});
}

Result<CudaCalls> open_cuda(const std::string& path, int index) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return no_driver("cuda_missing",
                     "the CUDA driver is not in the pod: " + loader_says());
  }
  CudaCalls calls{};
  if (!load(library, calls)) {
    return no_driver("cuda_missing", path + " lacks functions of CUDA 11");
  }
  if (const int code = calls.init(0); code != 0) {
    return no_driver("gpu_missing", "cuInit fails with code " +
                                        std::to_string(code) +
                                        (code == 100 ? " (no device)" : ""));
  }
  int count = 0;
  if (calls.device_count(&count) != 0 || count < 1) {
    return no_driver("gpu_missing", "the CUDA driver lists no device");
  }
  int device = 0;
  void* context = nullptr;
  int code = calls.device(&device, index % count);
  if (code == 0) code = calls.retain_context(&context, device);
  if (code == 0) code = calls.use_context(context);
  if (code != 0) {
    return no_driver("gpu_missing", "GPU " + std::to_string(index % count) +
                                        " cannot be opened, CUDA code " +
                                        std::to_string(code));
  }
  return calls;
}

std::string nccl_version_text(int number) {
  const int unit = number >= 10000 ? 10000 : 1000;
  return std::to_string(number / unit) + "." +
         std::to_string(number % unit / 100) + "." +
         std::to_string(number % 100);
}

}  // namespace muster
