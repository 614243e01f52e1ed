// SPDX-License-Identifier: Apache-2.0
// The libnccl that `muster fabric nccl` opens: the given file, that of the
// given command, else that of the pod's python3, and then the usual places.
// Reads the image; loads nothing.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct NcclWish {
  std::string path;                  // --nccl; "": not given
  std::vector<std::string> program;  // behind "--"
};

// Paths and names for the dynamic linker, the first that opens counts. Error
// codes "usage": no such file or program; "nccl_missing": the program has none.
Result<std::vector<std::string>> choose_nccl(const NcclWish& wish);
// "[json] [--nccl PATH] [-- COMMAND]", as ranks get it.
std::vector<std::string> nccl_rank_words(const NcclWish& wish, bool json);
struct NcclRankWords {
  NcclWish wish;
  bool json = false;
};
NcclRankWords read_nccl_rank_words(const std::vector<std::string>& words);

}  // namespace muster
