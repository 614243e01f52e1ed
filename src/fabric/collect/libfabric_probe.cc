// SPDX-License-Identifier: Apache-2.0
// Asks the image's libfabric for its providers, in a forked child. The child
// writes "version 1.17", "asked", then "NAME DOMAIN" for each pair; if it ends
// before "asked", the providers stay unknown.
#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>

#include "base/text.h"
#include "fabric/collect/collect_parts.h"

namespace muster {

namespace {

constexpr size_t kMostPairs = 256;
constexpr int kMostAnswers = 1 << 16;
constexpr int kNothing = -61;  // FI_ENODATA

// The beginnings of libfabric's structures, which 1.0 and every later 1.x
// have so: libfabric.so.1 keeps them. Source: fi_getinfo(3), fi_fabric(3).
struct FabricAttributes {
  void* fabric;
  char* name;
  char* provider;
};
struct DomainAttributes {
  void* domain;
  char* name;
};
struct Answer {
  Answer* next;
  uint64_t caps;
  uint64_t mode;
  uint32_t address_format;
  size_t source_length;
  size_t destination_length;
  void* source;
  void* destination;
  void* handle;
  void* tx;
  void* rx;
  void* endpoint;
  DomainAttributes* domain;
  FabricAttributes* fabric;
};

using GetInfo = int (*)(uint32_t version, const char* node, const char* service,
                        uint64_t flags, const Answer* hints, Answer** list);

// One word of a line; "-" for what is none.
std::string word_of(const char* text) {
  if (text == nullptr || *text == 0) return "-";
  constexpr size_t kLongest = 64;
  std::string out(text, ::strnlen(text, kLongest));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c <= ' ' || c > '~'; }, '?');
  return out;
}

void tell_providers(const std::string& name, int out) {
  // All providers, not only those that the user allows.
  ::unsetenv("FI_PROVIDER");
  void* library = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return;
  const auto version =
      reinterpret_cast<uint32_t (*)()>(::dlsym(library, "fi_version"));
  const auto get_info =
      reinterpret_cast<GetInfo>(::dlsym(library, "fi_getinfo"));
  if (version == nullptr || get_info == nullptr) return;
  const uint32_t number = version();
  probe_says(out, "version " + std::to_string(number >> 16) + "." +
                      std::to_string(number & 0xffff));
  Answer* list = nullptr;
  const int result = get_info(number, nullptr, nullptr, 0, nullptr, &list);
  if (result != 0 && result != kNothing) return;
  probe_says(out, "asked");
  std::set<std::string> told;
  int left = kMostAnswers;
  for (const Answer* one = list; one != nullptr && --left > 0;
       one = one->next) {
    if (one->fabric == nullptr) continue;
    const std::string provider = word_of(one->fabric->provider);
    const std::string domain =
        word_of(one->domain == nullptr ? nullptr : one->domain->name);
    const std::string line = provider + " " + domain;
    if (provider == "-" || !told.insert(line).second) continue;
    probe_says(out, line);
    if (told.size() == kMostPairs) return;
  }
}

void add(std::vector<FabricProvider>& list, std::string_view name,
         std::string_view domain) {
  auto found = std::find_if(list.begin(), list.end(),
                            [&](auto& one) { return one.name == name; });
  if (found == list.end()) {
    found = list.insert(list.end(), {std::string(name), {}});
  }
  if (domain != "-") found->domains.emplace_back(domain);
}

}  // namespace

ForkedProbe ask_libfabric(const std::string& library) {
  return ForkedProbe([library](int out) { tell_providers(library, out); });
}

void take_libfabric(ForkedProbe& probe, ProbeEnd end, PodFabric& pod) {
  const auto answer = probe.finish(patience_until(end));
  for (const auto line : split(answer.text, '\n')) {
    const auto words = split_words(line);
    if (words.size() == 2 && words[0] == "version") {
      pod.libfabric.version = words[1];
    } else if (words.size() == 1 && words[0] == "asked") {
      pod.libfabric.providers.emplace();
    } else if (words.size() == 2 && pod.libfabric.providers) {
      add(*pod.libfabric.providers, words[0], words[1]);
    }
  }
}

}  // namespace muster
