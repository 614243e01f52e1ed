// SPDX-License-Identifier: Apache-2.0
// One life of a launcher's container and the next, seen from its /proc.
#include "launcher/connect/incarnation.h"

#include "../base/temporary_directory.h"
#include "catch.h"

namespace muster {
namespace {

std::string life(const std::string& pid1_start, const std::string& mounts) {
  TemporaryDirectory root;
  root.write("proc/1/stat",
             "1 (pause) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + pid1_start +
                 " 0 0\n");
  root.write("proc/self/mountinfo", mounts);
  return launcher_incarnation("pi-launcher", root.path());
}

std::string overlay(const std::string& snapshot) {
  return "22 30 0:21 / /proc rw - proc proc rw\n"
         "30 20 0:57 / / rw,relatime master:9 - overlay overlay "
         "rw,lowerdir=/l/1/fs,upperdir=/var/lib/snapshots/" +
         snapshot + "/fs,workdir=/var/lib/snapshots/" + snapshot + "/work\n";
}

TEST_CASE("a restarted container is another incarnation") {
  CHECK(life("100", overlay("7")) == life("100", overlay("7")));
  CHECK(life("100", overlay("7")) != life("200", overlay("7")));
}

TEST_CASE("so it is where the pod's containers share their processes") {
  CHECK(life("100", overlay("7")) != life("100", overlay("8")));
}

TEST_CASE("a root without a layer is told by pid 1 alone") {
  const std::string disk = "27 1 254:1 / / rw - ext4 /dev/vda1 rw\n";
  CHECK(life("100", disk) == "pi-launcher@100");
  CHECK(life("100", "") == "pi-launcher@100");
}

}  // namespace
}  // namespace muster
