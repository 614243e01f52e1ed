// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmix_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace muster {

namespace {

constexpr const char* kSoname = "libpmix.so.2";  // of releases 4, 5 and 6
constexpr const char* kRemedy =
    "Open MPI needs it: install libpmix in the image, or use --bootstrap "
    "mpirun.";
constexpr const char* kRemedyForChosen =
    "Leave MUSTER_PMIX_LIBRARY out: muster brings a libpmix of its own.";
constexpr const char* kChoice = "MUSTER_PMIX_LIBRARY";

bool is_chosen() {
  const char* chosen = ::getenv(kChoice);
  return chosen != nullptr && *chosen != '\0';
}

std::string beside_program() {
  char path[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0) return kSoname;
  std::string program(path, static_cast<size_t>(n));
  program.erase(program.rfind('/'));
  return program + "/../../lib/muster/" + kSoname;
}

std::vector<std::string> candidates() {
  if (is_chosen()) return {::getenv(kChoice)};
  return {beside_program(), kSoname};
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// The name of the first missing function, or nullptr.
const char* find_all(void* library, PmixLibrary& out) {
#define MUSTER_FIND(name, member) \
  if (!find(library, name, out.member)) return name
  MUSTER_FIND("PMIx_server_init", server_init);
  MUSTER_FIND("PMIx_server_finalize", server_finalize);
  MUSTER_FIND("PMIx_generate_regex", generate_regex);
  MUSTER_FIND("PMIx_generate_ppn", generate_ppn);
  MUSTER_FIND("PMIx_server_register_nspace", register_nspace);
  MUSTER_FIND("PMIx_server_register_client", register_client);
  MUSTER_FIND("PMIx_server_setup_fork", setup_fork);
  MUSTER_FIND("PMIx_server_dmodex_request", dmodex_request);
  MUSTER_FIND("PMIx_Register_event_handler", register_event_handler);
  MUSTER_FIND("PMIx_Get_version", get_version);
  MUSTER_FIND("PMIx_Error_string", error_string);
  MUSTER_FIND("PMIx_Value_load", value_load);
  MUSTER_FIND("PMIx_Value_destruct", value_destruct);
  MUSTER_FIND("PMIx_Data_pack", data_pack);
  MUSTER_FIND("PMIx_Data_unpack", data_unpack);
  MUSTER_FIND("PMIx_Notify_event", notify_event);
#undef MUSTER_FIND
  return nullptr;
}

tl::unexpected<Error> no_pmix(std::string why) {
  return fail(Error{"no_pmix",
                    "no PMIx server for the ranks of this pod",
                    std::move(why),
                    {},
                    is_chosen() ? kRemedyForChosen : kRemedy});
}

// "OpenPMIx 4.2.2, repo rev: …" -> 4
int64_t major_version(std::string_view text) {
  const size_t digit = text.find_first_of("0123456789");
  if (digit == std::string_view::npos) return -1;
  text.remove_prefix(digit);
  return parse_integer(text.substr(0, text.find('.'))).value_or(-1);
}

}  // namespace

std::string PmixLibrary::error(pmix_status_t status) const {
  return std::string(error_string(status)) + " (" + std::to_string(status) +
         ")";
}

Result<PmixLibrary> open_pmix_library() {
  PmixLibrary out;
  void* library = nullptr;
  std::string why;
  for (const std::string& path : candidates()) {
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    out.path = path;
    if (library != nullptr) break;
    why = ::dlerror();
  }
  if (library == nullptr) return no_pmix(why);
  if (const char* missing = find_all(library, out)) {
    return no_pmix(out.path + " lacks " + missing);
  }
  const std::string version = out.get_version();
  if (major_version(version) != PMIX_VERSION_MAJOR) {
    return no_pmix(out.path + " is " + version + "; muster was built for " +
                   std::to_string(PMIX_VERSION_MAJOR) + ".x");
  }
  return out;
}

}  // namespace muster
