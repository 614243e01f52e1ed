// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/nccl_choice.h"

#include <unistd.h>

#include "base/known_files.h"
#include "base/spawn.h"
#include "base/text.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/collect/program_libraries.h"

namespace muster {

namespace {

ProgramLibraries libraries_of(const std::vector<std::string>& program) {
  KnownFiles nothing;
  return program_libraries("", {program, current_environment(), ""}, nothing);
}

}  // namespace

Result<std::vector<std::string>> choose_nccl(const NcclWish& wish) {
  if (!wish.path.empty()) {
    if (::access(wish.path.c_str(), R_OK) == 0) return {{wish.path}};
    return fail({"usage",
                 "--nccl " + wish.path,
                 "there is no such file in this pod",
                 {},
                 "give the path of libnccl.so.2"});
  }
  if (!wish.program.empty()) {
    const ProgramLibraries own = libraries_of(wish.program);
    if (own.program.empty()) {
      return fail({"usage",
                   "-- " + wish.program.front(),
                   "this pod has no such program",
                   {},
                   "give its path, or correct PATH"});
    }
    if (const ProgramLibrary* nccl = own.find("NCCL")) return {{nccl->path}};
    return fail({"nccl_missing",
                 join(wish.program, " "),
                 "no NCCL is found for this program (" + own.said + ")",
                 {},
                 "name the library: --nccl PATH"});
  }
  std::vector<std::string> out;
  const ProgramLibraries python = libraries_of({"python3"});
  if (const ProgramLibrary* nccl = python.find("NCCL")) {
    out.push_back(nccl->path);
  }
  for (std::string& usual : nccl_libraries()) out.push_back(std::move(usual));
  return out;
}

std::vector<std::string> nccl_rank_words(const NcclWish& wish, bool json) {
  std::vector<std::string> out;
  if (json) out.emplace_back("json");
  if (!wish.path.empty()) out.insert(out.end(), {"--nccl", wish.path});
  if (!wish.program.empty()) out.emplace_back("--");
  out.insert(out.end(), wish.program.begin(), wish.program.end());
  return out;
}

NcclRankWords read_nccl_rank_words(const std::vector<std::string>& words) {
  NcclRankWords out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      out.wish.program.assign(words.begin() + static_cast<ptrdiff_t>(i) + 1,
                              words.end());
      break;
    }
    if (words[i] == "json") out.json = true;
    if (words[i] == "--nccl" && i + 1 < words.size()) {
      out.wish.path = words[++i];
    }
  }
  return out;
}

}  // namespace muster
