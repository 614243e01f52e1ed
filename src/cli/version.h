// SPDX-License-Identifier: Apache-2.0
// `muster version [--verbose] [-o text|json]`: the version, how this program
// was built, the glibc that its installation needs, and the libraries that
// came with it. Reads files of the installation only.
#pragma once

#include <string>
#include <vector>

namespace muster {

struct BundledLibrary {
  std::string file;
  std::string soname;   // "" if it is not a library that can be read
  std::string package;  // of the distribution that it was copied from; or ""
  std::string version;  // of the package, with the distribution's revision
  bool operator==(const BundledLibrary&) const = default;
};

struct Installation {
  std::string glibc;   // the oldest that will do: "2.34"; "" if not known
  std::string folder;  // of the libraries; "" if there are none
  std::vector<BundledLibrary> libraries;  // by name
};

// The programs `program` and `agent`, and lib/muster beside the folder of the
// first.
Installation installation_of(const std::string& program,
                             const std::string& agent);

// `args` without "version". Returns 0, or 2 for a wrong command line.
int version_main(const std::vector<std::string>& args);

}  // namespace muster
