// SPDX-License-Identifier: Apache-2.0
// The logs of --log-dir in a bundle: hard links, which survive a move of the
// files by the next launch; on a file system without links copies, of 64 MiB
// together: of a longer file its end, where failures are. Other files in that
// folder are the user's and stay there.
#pragma once

#include <cstddef>
#include <string>

namespace muster {

constexpr size_t kMostCopied = size_t{64} << 20;

// A sentence on omitted parts; empty: none. `most`: bytes of all copies.
std::string keep_logs(const std::string& from, const std::string& to,
                      size_t most = kMostCopied);

}  // namespace muster
