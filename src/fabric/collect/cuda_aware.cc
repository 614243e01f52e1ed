// SPDX-License-Identifier: Apache-2.0
// Whether MPI and UCX take GPU memory, asked from the libraries themselves in
// forked children: MPIX_Query_cuda_support needs no MPI_Init in Open MPI; UCX
// has its CUDA transport as a file beside the library.
// Lines: "mpi 0|1", "ucx VERSION PATH".
#include <dlfcn.h>

#include "base/text.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/collect/forked_probe.h"
#include "fabric/collect/sys_files.h"

namespace muster {

namespace {

void* open_library(const std::string& name) {
  return ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
}

template <class Function>
Function symbol(void* library, const char* name) {
  return library == nullptr
             ? nullptr
             : reinterpret_cast<Function>(::dlsym(library, name));
}

std::string place_of(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

// Open MPI only. MPICH's function of this name may want MPI_Init first.
void ask_mpi(const std::string& name, int out) {
  void* library = open_library(name);
  if (library == nullptr) return;
  const auto query = symbol<int (*)()>(library, "MPIX_Query_cuda_support");
  if (query == nullptr) return;
  probe_says(out, query() != 0 ? "mpi 1" : "mpi 0");
}

void ask_ucx(const std::string& name, int out) {
  const auto version = symbol<void (*)(unsigned*, unsigned*, unsigned*)>(
      open_library(name), "ucp_get_version");
  if (version == nullptr) return;
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  version(&major, &minor, &release);
  const std::string path = place_of(reinterpret_cast<const void*>(version));
  probe_says(out, "ucx " + std::to_string(major) + "." + std::to_string(minor) +
                      "." + std::to_string(release) + " " + path);
}

// UCX's modules lie in DIR/ucx beside libucp.
Known ucx_cuda(const std::string& library) {
  const size_t slash = library.rfind('/');
  if (slash == library.npos) return std::nullopt;
  const auto modules = list_sys(library.substr(0, slash) + "/ucx");
  if (!modules) return std::nullopt;
  for (const std::string& name : *modules) {
    if (name.starts_with("libuct_cuda.so")) return true;
  }
  return false;
}

}  // namespace

void take_cuda_aware(const std::string& text, PodFabric& pod) {
  for (const auto line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 2) continue;
    if (words[0] == "mpi") pod.mpi.cuda_aware = words[1] == "1";
    if (words[0] != "ucx") continue;
    pod.ucx.version = words[1];
    if (words.size() == 3) pod.ucx.cuda_aware = ucx_cuda(std::string(words[2]));
  }
}

std::string ask_cuda_aware(const MpiLibraries& libraries, ProbeEnd end) {
  // One child each: a library that dies takes only its own answer with it.
  const auto mpi = probe_in_child(
      patience_until(end), [&](int out) { ask_mpi(libraries.open_mpi, out); });
  const auto ucx = probe_in_child(
      patience_until(end), [&](int out) { ask_ucx(libraries.ucx, out); });
  return mpi.text + ucx.text;
}

void probe_cuda_aware(const MpiLibraries& libraries, ProbeEnd end,
                      PodFabric& pod) {
  take_cuda_aware(ask_cuda_aware(libraries, end), pod);
}

}  // namespace muster
