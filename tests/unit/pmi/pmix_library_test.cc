// SPDX-License-Identifier: Apache-2.0
// MUSTER_PMIX_LIBRARY: the image's own libpmix, which is taken only if it is
// one, and of the version that muster was built for.
#include "worker/pmix/agent_pmix_library.h"

#include <cstdlib>

#include "catch.h"

using namespace muster;

namespace {

Result<PmixLibrary> open_chosen(const char* path) {
  ::setenv("MUSTER_PMIX_LIBRARY", path, 1);
  auto out = open_pmix_library();
  ::unsetenv("MUSTER_PMIX_LIBRARY");
  return out;
}

bool says(const Result<PmixLibrary>& opened, const char* text) {
  if (opened) return false;
  INFO(opened.error().text());
  CHECK(opened.error().code == "no_pmix");
  CHECK(opened.error().hint.find("MUSTER_PMIX_LIBRARY") != std::string::npos);
  return opened.error().text().find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a chosen libpmix of another major version is refused by it") {
  CHECK(says(open_chosen(MUSTER_FAKE_OLD_PMIX), "is OpenPMIx 2.1.0"));
}

TEST_CASE("a chosen library that is no libpmix is refused") {
  CHECK(says(open_chosen("libm.so.6"), "lacks PMIx_server_init"));
}

// Not the next best one instead.
TEST_CASE("a chosen library that is not there is not made up for") {
  CHECK(says(open_chosen("/nowhere/libpmix.so.2"), "/nowhere/libpmix.so.2"));
}
