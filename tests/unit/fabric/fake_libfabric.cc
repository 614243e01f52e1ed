// SPDX-License-Identifier: Apache-2.0
// NOT libfabric: a library with its two entry points that are asked, and the
// structures of fi_getinfo(3) in their whole length. FAKE_LIBFABRIC: "none"
// (no provider), "fail", "die", "many" (more than anybody wants to know). As
// libfabric does, it leaves out what FI_PROVIDER does not name.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct FabricAttributes {
  void* fabric;
  char* name;
  char* provider;
  uint32_t provider_version, api_version;
};
struct DomainAttributes {
  void* domain;
  char* name;
  int threading, control_progress;  // and more, which nobody reads
};
struct Info {
  Info* next;
  uint64_t caps, mode;
  uint32_t address_format;
  size_t source_length, destination_length;
  void *source, *destination, *handle, *tx, *rx, *endpoint;
  DomainAttributes* domain;
  FabricAttributes* fabric;
  void* nic;
};

bool fake(const char* what) {
  const char* mode = std::getenv("FAKE_LIBFABRIC");
  return mode != nullptr && std::strcmp(mode, what) == 0;
}

Info* entry(const char* provider, const char* domain, Info* next) {
  return new Info{
      .next = next,
      .caps = 1,
      .mode = 2,
      .address_format = 3,
      .source_length = 4,
      .destination_length = 5,
      .source = nullptr,
      .destination = nullptr,
      .handle = nullptr,
      .tx = nullptr,
      .rx = nullptr,
      .endpoint = nullptr,
      .domain = new DomainAttributes{nullptr, ::strdup(domain), 1, 2},
      .fabric = new FabricAttributes{nullptr, ::strdup("f"), ::strdup(provider),
                                     7, 8},
      .nic = nullptr};
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) uint32_t fi_version() {
  return (1U << 16) | 22;
}

__attribute__((visibility("default"))) int fi_getinfo(uint32_t, const char*,
                                                      const char*, uint64_t,
                                                      const Info*,
                                                      Info** list) {
  if (fake("die")) std::abort();
  if (fake("fail")) return -12;
  if (fake("none")) return -61;
  *list = entry("tcp;ofi_rxm", "eth0", nullptr);
  if (std::getenv("FI_PROVIDER") != nullptr) return 0;
  *list = entry("efa", "rdmap0s7-rdm", *list);
  *list = entry("efa", "rdmap0s6-rdm", *list);
  *list = entry("efa", "rdmap0s6-rdm", *list);
  for (int i = 0; fake("many") && i < 1000; ++i) {
    *list = entry("verbs", std::to_string(i).c_str(), *list);
  }
  return 0;
}
}
