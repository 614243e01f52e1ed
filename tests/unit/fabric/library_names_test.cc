// SPDX-License-Identifier: Apache-2.0
// Names of libraries, seen or remembered.
#include "fabric/collect/library_names.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "../base/temporary_directory.h"
#include "catch.h"

namespace muster {
namespace {

using Names = std::vector<std::string>;

// As if nothing had changed in there for an hour.
void settle(const std::string& directory) {
  const timespec past{::time(nullptr) - 3600, 0};
  const timespec times[] = {past, past};
  REQUIRE(::utimensat(AT_FDCWD, directory.c_str(), times, 0) == 0);
}

TEST_CASE("library_names tells NVIDIA's libraries, sorted") {
  const TemporaryDirectory directory;
  for (const char* name : {"libnccl.so.2", "libc.so.6", "libnccl-net.so",
                           "libcudart.so.12", "nccl"}) {
    directory.write(name, "");
  }
  KnownFiles known;
  CHECK(library_names(directory.path(), known) ==
        Names{"libcudart.so.12", "libnccl-net.so", "libnccl.so.2"});
  CHECK(library_names(directory.at("none"), known).empty());
}

TEST_CASE("library_names believes what is known until the directory changes") {
  const TemporaryDirectory directory;
  directory.write("libnccl.so.2", "");
  settle(directory.path());
  KnownFiles known;
  CHECK(library_names(directory.path(), known) == Names{"libnccl.so.2"});
  KnownFiles handed = KnownFiles::parse(known.text());
  CHECK(handed.find(directory.path()) == "libnccl.so.2");
  handed.remember(directory.path(), "libnccl.so.1/libnccl.so.3");
  CHECK(library_names(directory.path(), handed) ==
        Names{"libnccl.so.1", "libnccl.so.3"});
  directory.write("libnccl.so.4", "");
  CHECK(library_names(directory.path(), handed) ==
        Names{"libnccl.so.2", "libnccl.so.4"});
}

TEST_CASE("library_names does not keep what may change without a trace") {
  const TemporaryDirectory directory;
  directory.write("libnccl.so.2", "");
  KnownFiles known;
  CHECK(library_names(directory.path(), known).size() == 1);
  CHECK_FALSE(known.find(directory.path()));
}

TEST_CASE("library_names remembers that there are none") {
  const TemporaryDirectory directory;
  settle(directory.path());
  KnownFiles known;
  CHECK(library_names(directory.path(), known).empty());
  CHECK(known.find(directory.path()) == "");
}

}  // namespace
}  // namespace muster
