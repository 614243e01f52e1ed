// SPDX-License-Identifier: Apache-2.0
// What an installation says of itself, on a folder made for it with a library
// of this machine.
#include "cli/version.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/self_path.h"
#include "catch.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path;
  Folder() {
    char name[] = "/tmp/muster-version-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
    fs::create_directories(path / "bin");
    fs::create_directories(path / "lib" / "muster");
  }
  ~Folder() { fs::remove_all(path); }
};

// The C library itself: it has a SONAME and needs no version of itself.
std::string c_library() {
  Dl_info info{};
  REQUIRE(::dladdr(reinterpret_cast<void*>(&::setenv), &info) != 0);
  return fs::canonical(info.dli_fname).string();
}

TEST_CASE("an installation names its libraries and where they come from") {
  const Folder folder;
  const std::string program = (folder.path / "bin" / "muster").string();
  const fs::path own = folder.path / "lib" / "muster";
  fs::copy(self_path(), program);
  fs::copy(c_library(), own / "libb.so.6");
  std::ofstream(own / "liba.so.1") << "no library";
  std::ofstream(own / "README") << "not one either";
  std::ofstream(own / "packages.tsv")
      << "libb.so.6\tlibc6\t2.36-9\nlibgone.so.1\tgone\t1\nnonsense\n";

  const Installation here = installation_of(program, "");
  CHECK(here.folder == own.string());
  REQUIRE(here.libraries.size() == 2);
  CHECK(here.libraries[0] == BundledLibrary{"liba.so.1", "", "", ""});
  CHECK(here.libraries[1] ==
        BundledLibrary{"libb.so.6", "libc.so.6", "libc6", "2.36-9"});
  // This test needs some glibc, and 2.9 is older than 2.10.
  INFO(here.glibc);
  CHECK(here.glibc.starts_with("2."));
  CHECK(here.glibc.size() == 4);
}

TEST_CASE("no installation around a program: nothing is made up") {
  const Installation here = installation_of("/nonexistent/bin/muster", "");
  CHECK(here.glibc.empty());
  CHECK(here.folder.empty());
  CHECK(here.libraries.empty());
}

TEST_CASE("a wrong line of version") {
  CHECK(version_main({"--verbos"}) == 2);
  CHECK(version_main({"-o"}) == 2);
  CHECK(version_main({"-o", "xml"}) == 2);
  CHECK(version_main({"json"}) == 2);
}

}  // namespace
}  // namespace muster
