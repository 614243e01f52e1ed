// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/loaded_nccl.h"

#include "../base/temporary_directory.h"
#include "catch.h"

using namespace muster;

TEST_CASE("the NCCL that a process has mapped, with pip's version of it") {
  const TemporaryDirectory tree;
  const std::string packages = "/venv/lib/python3.12/site-packages";
  const std::string library = packages + "/nvidia/nccl/lib/libnccl.so.2";
  tree.write("7/maps",
             "7f00-7f10 r-xp 00000000 08:01 7 /usr/lib/libc.so.6\n"
             "7f20-7f30 r--p 00000000 00:00 0\n"
             "7f40-7f50 r-xp 00000000 08:01 9                " +
                 library + "\n");
  tree.write("7/root" + library, "x");
  tree.write(
      "7/root" + packages + "/nvidia_nccl_cu13-2.28.9.dist-info/METADATA", "");
  const LoadedNccl loaded = loaded_nccl(7, tree.path());
  CHECK(loaded.path == library);
  CHECK(loaded.version == "2.28.9");
  tree.write("8/maps", "7f00-7f10 r-xp 00000000 08:01 7 /usr/lib/libc.so.6\n");
  CHECK(loaded_nccl(8, tree.path()).path.empty());
  CHECK(loaded_nccl(9, tree.path()).path.empty());  // it is gone
}
