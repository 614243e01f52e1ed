// SPDX-License-Identifier: Apache-2.0
// NOT a GPU: a library with the entry points of NVML, the CUDA driver and NCCL
// that are asked, answering what their manuals say they do. It shows that the
// code around the real ones copes with their answers, and nothing else.
// FAKE_GPU in the environment: "none" (no device), "hang", "die", "wrong" (a
// wrong sum), "refuse" (ncclCommInitRank fails).
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

bool fake(const char* what) {
  const char* mode = std::getenv("FAKE_GPU");
  return mode != nullptr && std::strcmp(mode, what) == 0;
}

struct Pci {
  char legacy_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];
};
struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
struct Fabric {
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
};
struct Id {
  char bytes[128];
};

int ranks_of_communicator = 1;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (fake("hang")) ::pause();
  if (fake("die")) std::abort();
  return 0;
}
int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  std::strncpy(out, "550.54.15", size);
  return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int* out) {
  *out = 12040;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* out) {
  *out = fake("none") ? 0 : 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** out) {
  static int device = 0;
  *out = &device;
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void*, Pci* out) {
  std::strncpy(out->id, "00000000:1A:00.0", sizeof out->id);
  return 0;
}
int nvmlDeviceGetName(void*, char* out, unsigned size) {
  std::strncpy(out, "Fake GPU 80GB", size);
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* out) {
  *out = {80ULL << 30, 79ULL << 30, 1ULL << 30};
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, Utilization* out) {
  *out = {7, 3};
  return 0;
}
int nvmlDeviceGetMigMode(void*, unsigned*, unsigned*) {
  return 3;  // NVML_ERROR_NOT_SUPPORTED
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
int nvmlDeviceGetTotalEccErrors(void*, int type, int counter,
                                unsigned long long* out) {
  *out = type == 1 && counter == 0 ? 2 : 99;
  return 0;
}
// The power cap (4), which is no fault, heat in hardware and software.
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* out) {
  *out = 0x04 | 0x20 | 0x40;
  return 0;
}
int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  *corrected = 3;
  *uncorrected = 1;
  *pending = 1;
  *failed = 0;
  return 0;
}
int nvmlDeviceGetGpuFabricInfo(void*, Fabric* out) {
  std::memset(out->cluster, 0xa5, sizeof out->cluster);
  out->status = 0;
  out->clique = 4026;
  out->state = 3;  // completed
  return 0;
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* active) {
  *active = link == 1 ? 1 : 0;
  return link < 2 ? 0 : 2;
}

int cuDriverGetVersion(int* out) {
  *out = 12040;
  return 0;
}
int cuInit(unsigned) { return fake("none") ? 100 : 0; }
int cuDeviceGetCount(int* out) {
  *out = 1;
  return 0;
}
int cuDeviceGet(int* out, int index) {
  *out = index;
  return 0;
}
int cuDeviceGetPCIBusId(char* out, int size, int) {
  std::strncpy(out, "0000:1A:00.0", static_cast<size_t>(size));
  return 0;
}
int cuDeviceGetAttribute(int* out, int attribute, int) {
  *out = attribute == 116 || attribute == 132 ? 1 : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** out, int) {
  *out = nullptr;
  return 0;
}
int cuCtxSetCurrent(void*) { return 0; }
int cuMemAlloc_v2(uint64_t* out, size_t bytes) {
  *out = reinterpret_cast<uint64_t>(std::malloc(bytes));
  return 0;
}
int cuStreamCreate(void** out, unsigned) {
  *out = nullptr;
  return 0;
}
int cuStreamSynchronize(void*) { return 0; }
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}

int ncclGetVersion(int* out) {
  *out = 22105;
  return 0;
}
int ncclGetUniqueId(Id* out) {
  std::memset(out, 7, sizeof *out);
  return 0;
}
int ncclCommInitRank(void** out, int ranks, Id id, int) {
  *out = &ranks_of_communicator;
  ranks_of_communicator = ranks;
  return fake("refuse") || (ranks > 1 && id.bytes[127] != 7) ? 2 : 0;
}
int ncclAllReduce(const void*, void* to, size_t count, int, int, void*, void*) {
  const auto n = static_cast<float>(ranks_of_communicator);
  auto* out = static_cast<float*>(to);
  const float sum = n * (n + 1) / 2 + (fake("wrong") ? 1 : 0);
  // Begin and end, which is where the caller looks.
  for (size_t i = 0; i < 4096; ++i) out[i] = out[count - 1 - i] = sum;
  ::usleep(1000);
  return 0;
}
int ncclCommDestroy(void*) { return 0; }
const char* ncclGetErrorString(int) { return "unhandled system error"; }
const char* ncclGetLastError(void*) { return "no device was found"; }

// Of Open MPI and UCX.
int MPIX_Query_cuda_support() {
  if (fake("die")) std::abort();
  return fake("aware") ? 1 : 0;
}
void ucp_get_version(unsigned* major, unsigned* minor, unsigned* release) {
  *major = 1;
  *minor = 15;
  *release = 0;
}

}  // extern "C"
