// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries, in directories made up like an image's.
#include "fabric/image_libraries.h"

#include "../base/temporary_directory.h"
#include "catch.h"

using namespace muster;

namespace {

ImageLibraries libraries_in(const TemporaryDirectory& tree) {
  KnownFiles nothing;
  return find_libraries(tree.path(), "/opt/nccl/lib:relative", nothing);
}

std::string nccl_in(const TemporaryDirectory& tree) {
  KnownFiles nothing;
  return nccl_version(libraries_in(tree), nothing);
}

std::string cuda_in(const TemporaryDirectory& tree) {
  KnownFiles nothing;
  return cuda_runtime_version(libraries_in(tree), nothing);
}

}  // namespace

TEST_CASE("NCCL and CUDA versions from names, wheels and the library") {
  TemporaryDirectory tree;
  CHECK(nccl_in(tree).empty());
  const std::string wheel = "/usr/local/lib/python3.11/dist-packages/";
  const std::string library = wheel + "nvidia/nccl/lib/libnccl.so.2";
  tree.write(library, std::string(3 << 20, 'x') +
                          "NCCL version 2.19.3+cuda12.3" +
                          std::string(100, '\0'));
  CHECK(nccl_in(tree) == "2.19.3");
  KnownFiles known;
  known.remember(tree.path() + library, "2.18.1");
  CHECK(nccl_version(libraries_in(tree), known) == "2.18.1");
  tree.write(wheel + "nvidia_nccl_cu12-2.20.5.dist-info/METADATA", "");
  CHECK(nccl_in(tree) == "2.20.5");
  tree.write("/opt/nccl/lib/libnccl.so.2.21.5", "");
  tree.write("/opt/nccl/lib/libnccl.so.2", "");
  CHECK(nccl_in(tree) == "2.21.5");

  tree.write("/etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda-12/lib64\n");
  tree.write("/usr/local/cuda-12/lib64/libcudart.so.12.4.127", "");
  tree.write("/usr/local/cuda-12/lib64/libcudart.so.12", "");
  CHECK(cuda_in(tree) == "12.4");
}

TEST_CASE("the wheels of CUDA 13 have a place and a name of their own") {
  TemporaryDirectory tree;
  const std::string wheel = "/opt/conda/lib/python3.12/site-packages/";
  tree.write(wheel + "nvidia/cu13/lib/libcudart.so.13", "");
  tree.write(wheel + "nvidia_cuda_runtime-13.0.48.dist-info/METADATA", "");
  CHECK(cuda_in(tree) == "13.0");
}

TEST_CASE("of two versions side by side the one that is linked counts") {
  TemporaryDirectory tree;
  tree.write("/usr/lib64/libnccl.so.2.18.3", "");
  tree.write("/usr/lib64/libnccl.so.2.21.5", "");
  tree.link("/usr/lib64/libnccl.so.2", "libnccl.so.2.21.5");
  CHECK(nccl_in(tree) == "2.21.5");
}

TEST_CASE("a directory of several names is looked at once") {
  TemporaryDirectory tree;
  tree.write("/usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5", "");
  tree.link("/lib", "usr/lib");
  CHECK(libraries_in(tree).size() == 1);
}

TEST_CASE("a library without a version in it is no version") {
  TemporaryDirectory tree;
  tree.write("/lib64/libnccl.so.2", std::string(2 << 20, 'x'));
  CHECK(nccl_in(tree).empty());
}

TEST_CASE("what was found is not searched again") {
  TemporaryDirectory tree;
  tree.write("/lib64/libnccl.so.2",
             "NCCL version 2.19.3+cuda12.3" + std::string(100, '\0'));
  KnownFiles known;
  const ImageLibraries libraries = find_libraries(tree.path(), "", known);
  CHECK(nccl_version(libraries, known) == "2.19.3");
  const std::string path = tree.path() + "/lib64/libnccl.so.2";
  CHECK(known.find(path) == "2.19.3");
  KnownFiles handed = KnownFiles::parse(known.text());
  handed.remember(path, "2.19.4");
  CHECK(nccl_version(libraries, handed) == "2.19.4");
}
