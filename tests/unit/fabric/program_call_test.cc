// SPDX-License-Identifier: Apache-2.0
// Which file a command line runs in the end, in directories made up like an
// image's.
#include "fabric/collect/program_call.h"

#include "../base/temporary_directory.h"
#include "catch.h"

using namespace muster;

namespace {

struct Image {
  TemporaryDirectory tree;

  void program(const std::string& path, const std::string& text = "ELF") {
    tree.write(path, text);
    std::filesystem::permissions(tree.path() + path,
                                 std::filesystem::perms::owner_all);
  }
  Image() {
    for (const char* path :
         {"/usr/bin/python3", "/venv/bin/python", "/usr/bin/env", "/bin/sh",
          "/bin/bash", "/usr/bin/numactl", "/opt/app/solve"}) {
      program(path);
    }
    program("/venv/bin/torchrun", "#!/venv/bin/python\nimport sys\n");
    program("/opt/app/train.py", "#!/usr/bin/env python3\n");
    program("/opt/app/run.sh",
            "#!/bin/sh\n# sets up\nset -e\n. /venv/bin/activate\n"
            "export NCCL_DEBUG=INFO\nmkdir -p /tmp/x\n"
            "exec python \\\n  train.py --lr '0.1; x'\n");
  }
  [[nodiscard]] ProgramFile find(const std::vector<std::string>& argv) const {
    return find_program_file(
        tree.path(),
        {argv, {{"PATH", "/usr/bin:/bin"}, {"HOME", "/root"}}, "/opt/app"});
  }
  [[nodiscard]] std::string path(const std::vector<std::string>& argv) const {
    return find(argv).path;
  }
};

}  // namespace

TEST_CASE("the program behind a command line") {
  const Image image;
  CHECK(image.path({"python3", "train.py"}) == "/usr/bin/python3");
  CHECK(image.path({"./solve"}) == "/opt/app/solve");
  CHECK(image.path({"./train.py"}) == "/usr/bin/python3");
  CHECK(image.path({"/venv/bin/torchrun", "x.py"}) == "/venv/bin/python");
  CHECK(image.path({"env", "A=1", "PATH=/venv/bin:$PATH", "python"}) ==
        "/venv/bin/python");
  CHECK(image.path({"env", "-i", "-u", "B", "/opt/app/solve"}) ==
        "/opt/app/solve");
  CHECK(image.path({"numactl", "--membind", "0", "python3", "x.py"}) ==
        "/usr/bin/python3");
  CHECK(image.path({"bash", "-lc",
                    "source /venv/bin/activate && cd /tmp && python x.py"}) ==
        "/venv/bin/python");
  CHECK(image.path({"sh", "-c", "A=1 ; ./solve 2>&1 | cat"}) ==
        "/opt/app/solve");
  CHECK(image.path({"muster", "fabric", "nccl-rank", "json", "--",
                    "/venv/bin/python", "x.py"}) == "/venv/bin/python");
  CHECK(image.path({"nowhere"}).empty());
  CHECK(image.path({}).empty());
}

TEST_CASE("a script's last program counts, in the environment it makes") {
  const Image image;
  const ProgramFile file = image.find({"./run.sh"});
  CHECK(file.path == "/venv/bin/python");
  CHECK(file.by == std::vector<std::string>{"run.sh", "run.sh"});
  REQUIRE(find_env(file.env, "NCCL_DEBUG") != nullptr);
  CHECK(*find_env(file.env, "VIRTUAL_ENV") == "/venv");
}

TEST_CASE("scripts that call each other end") {
  Image image;
  image.program("/opt/app/a.sh", "#!/bin/sh\n./b.sh\n");
  image.program("/opt/app/b.sh", "#!/bin/sh\n./a.sh\n");
  CHECK(image.path({"./a.sh"}).empty());
}

TEST_CASE("an interpreter's options are kept") {
  const Image image;
  CHECK(image.find({"python3", "-s", "-u", "x.py", "-I"}).options ==
        std::vector<std::string>{"-s", "-u"});
}
