// SPDX-License-Identifier: Apache-2.0
// NOT a GPU: a library with the entry points of NVML, the CUDA driver and NCCL
// that are asked, answering what their manuals say they do. It shows that the
// code around the real ones copes with their answers, and nothing else.
// FAKE_GPU in the environment: "none" (no device), "hang", "die", "wrong" (a
// wrong sum), "refuse" (ncclCommInitRank fails), "old" (a driver without events
// and without the second version of the memory call).
// FAKE_GPU_COUNT: how many there are (1). FAKE_GPU_MIG: the UUID of an instance
// 2/0 of the first. FAKE_GPU_EVENTS: a file whose new lines are events, "GPU
// XID" or "GPU XID GI CI", or "error CODE". FAKE_GPU_STARTS: a file that gets a
// line for each nvmlInit and cuInit; FAKE_GPU_SLOW: milliseconds that each
// takes.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
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
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
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

constexpr unsigned kMostGpus = 8;
char gpus[kMostGpus];
char instance;

unsigned count() {
  const char* text = std::getenv("FAKE_GPU_COUNT");
  const int wanted = text == nullptr ? 1 : std::atoi(text);
  return fake("none") ? 0 : std::min<unsigned>(wanted, kMostGpus);
}

unsigned index_of(const void* device) {
  return static_cast<unsigned>(static_cast<const char*>(device) - gpus);
}

void note_start(const char* what) {
  if (const char* slow = std::getenv("FAKE_GPU_SLOW")) {
    ::usleep(static_cast<useconds_t>(std::atoi(slow)) * 1000);
  }
  const char* path = std::getenv("FAKE_GPU_STARTS");
  if (path == nullptr) return;
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
  const std::string line = std::string(what) + "\n";
  if (::write(file, line.data(), line.size()) < 0) std::abort();
  ::close(file);
}

// Events that were there before the registration are not told.
long told_until = 0;

long size_of(std::FILE* file) {
  std::fseek(file, 0, SEEK_END);
  return std::ftell(file);
}

// NVML's answer; -1: there is no event yet.
int next_event(Event* out) {
  const char* path = std::getenv("FAKE_GPU_EVENTS");
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "r");
  if (file == nullptr) return -1;
  std::fseek(file, told_until, SEEK_SET);
  char line[128] = "";
  const bool whole = std::fgets(line, sizeof line, file) != nullptr &&
                     std::strchr(line, '\n') != nullptr;
  if (whole) told_until = std::ftell(file);
  std::fclose(file);
  if (!whole) return -1;
  int code = 0;
  if (std::sscanf(line, "error %d", &code) == 1) return code;
  unsigned gpu = 0;
  *out = {nullptr, 8, 0, 0xffffffff, 0xffffffff};
  std::sscanf(line, "%u %llu %u %u", &gpu, &out->data, &out->gpu_instance,
              &out->compute_instance);
  out->device = &gpus[gpu % kMostGpus];
  return 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (fake("hang")) ::pause();
  if (fake("die")) std::abort();
  note_start("nvmlInit");
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
  *out = count();
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  if (index >= count()) return 2;  // NVML_ERROR_INVALID_ARGUMENT
  *out = &gpus[index];
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, Pci* out) {
  std::snprintf(out->id, sizeof out->id, "00000000:%02X:00.0",
                0x1a + index_of(device));
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  if (device == &instance) {
    std::strncpy(out, std::getenv("FAKE_GPU_MIG"), size);
  } else {
    std::snprintf(out, size, "GPU-fa4e-%u", index_of(device));
  }
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
// As an idle H200 told it: what it uses is the driver's own.
int nvmlDeviceGetMemoryInfo_v2(void*, MemoryV2* out) {
  if (fake("old")) return 3;
  if (out->version != (sizeof *out | 2U << 24)) return 25;
  *out = {out->version, 80ULL << 30, 615ULL << 20, 79ULL << 30, 409ULL << 20};
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, Utilization* out) {
  *out = {7, 3};
  return 0;
}
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* pending) {
  if (std::getenv("FAKE_GPU_MIG") == nullptr || device != &gpus[0]) {
    return 3;  // NVML_ERROR_NOT_SUPPORTED
  }
  *now = *pending = 1;
  return 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* out) {
  *out = 7;
  return 0;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** out) {
  if (index != 1) return 6;  // NVML_ERROR_NOT_FOUND
  *out = &instance;
  return 0;
}
int nvmlDeviceGetGpuInstanceId(void*, unsigned* out) {
  *out = 2;
  return 0;
}
int nvmlDeviceGetComputeInstanceId(void*, unsigned* out) {
  *out = 0;
  return 0;
}
int nvmlEventSetCreate(void** out) {
  static int events = 0;
  *out = &events;
  return fake("old") ? 3 : 0;
}
int nvmlEventSetFree(void*) { return 0; }
int nvmlDeviceGetSupportedEventTypes(void*, unsigned long long* out) {
  *out = 0xff9f;  // as an H200 told it
  return 0;
}
int nvmlDeviceRegisterEvents(void*, unsigned long long types, void*) {
  if (types != 8) return 3;
  const char* path = std::getenv("FAKE_GPU_EVENTS");
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "r");
  if (file == nullptr) return 0;
  told_until = size_of(file);
  std::fclose(file);
  return 0;
}
int nvmlEventSetWait_v2(void*, Event* out, unsigned ms) {
  for (unsigned waited = 0;; waited += 10) {
    const int code = next_event(out);
    if (code >= 0) return code;
    if (waited >= ms) return 10;  // NVML_ERROR_TIMEOUT
    ::usleep(10'000);
  }
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
int cuInit(unsigned) {
  note_start("cuInit");
  return fake("none") ? 100 : 0;
}
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
