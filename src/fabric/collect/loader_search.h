// SPDX-License-Identifier: Apache-2.0
// Finds a library as the dynamic linker does (ld.so(8)): RPATH of the file that
// needs it, LD_LIBRARY_PATH, RUNPATH, the directories of ld.so.conf, the
// system's own. Reads files of the image; loads nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabric/collect/elf_data.h"

namespace muster {

struct LoadedFrom {
  std::string path;
  std::string why;  // "RPATH of libtorch_cuda.so", "LD_LIBRARY_PATH", …
};

// The directories of /etc/ld.so.conf and of the files in its .d, in this order.
std::vector<std::string> configured_directories(const std::string& root);

class LoaderSearch {
 public:
  // `root` stands before each path.
  LoaderSearch(std::string root, const std::string& ld_library_path);

  // `name` as libtorch_cuda.so at path `by` needs it; "": as the program asks
  // for it at run time (dlopen).
  [[nodiscard]] std::optional<LoadedFrom> find(const std::string& name,
                                               const std::string& by) const;
  // All libraries that `program` loads at its start, however many steps away,
  // under the names by which files need them; of two the first. At most 300.
  [[nodiscard]] std::map<std::string, LoadedFrom> all_needed(
      const std::string& program) const;
  // The libraries that a file needs; nullopt: not a program or library.
  [[nodiscard]] std::optional<DynamicNames> names_of(
      const std::string& path) const;

 private:
  // `own`: the entries of `by` for the linker.
  [[nodiscard]] std::optional<LoadedFrom> find_for(
      const DynamicNames& own, const std::string& by,
      const std::string& name) const;

  std::string root_;
  std::vector<std::string> users_;   // LD_LIBRARY_PATH
  std::vector<std::string> system_;  // ld.so.conf and the usual ones
};

}  // namespace muster
