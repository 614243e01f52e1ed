// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries, in directories made up like an image's.
#include "fabric/collect/image_libraries.h"

#include <elf.h>
#include <fcntl.h>

#include <cstring>
#include <fstream>

#include "../base/temporary_directory.h"
#include "base/fd.h"
#include "catch.h"
#include "fabric/collect/elf_data.h"

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

namespace {

// An ELF library of three sections: what is run, constant texts, and code for
// GPUs, a sparse hole of `hole` bytes.
void write_library(const std::string& path, const std::string& text,
                   uint64_t hole) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  Elf64_Shdr run{}, fatbin{}, texts{};
  run.sh_type = fatbin.sh_type = texts.sh_type = SHT_PROGBITS;
  run.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  fatbin.sh_flags = texts.sh_flags = SHF_ALLOC;
  run.sh_offset = sizeof header;
  run.sh_size = text.size();
  fatbin.sh_offset = run.sh_offset + run.sh_size;
  fatbin.sh_size = hole;
  texts.sh_offset = fatbin.sh_offset + hole;
  texts.sh_size = text.size();
  header.e_shoff = texts.sh_offset + texts.sh_size;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  std::ofstream out(path, std::ios::binary);
  const auto put = [&](const auto& part) {
    out.write(reinterpret_cast<const char*>(&part), sizeof part);
  };
  put(header);
  out << std::string(text.size(), 'x');
  out.seekp(static_cast<std::streamoff>(texts.sh_offset));
  out << text;
  for (const auto& section : {run, fatbin, texts}) put(section);
}

}  // namespace

TEST_CASE("a library's version is found behind a gigabyte of code for GPUs") {
  TemporaryDirectory tree;
  tree.write("/opt/rocm/lib/librccl.so.1", "");
  const std::string path = tree.path() + "/opt/rocm/lib/librccl.so.1";
  write_library(path, "RCCL version : 2.22.3", 1ULL << 30);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto sections = constant_sections(fd.get());
  REQUIRE(sections.has_value());
  REQUIRE(sections->size() == 2);  // not what is run
  CHECK(sections->at(0).size == 21);
  CHECK(nccl_in(tree) == "RCCL 2.22.3");
}

TEST_CASE("a file that is cut off or lies about itself has no sections") {
  TemporaryDirectory tree;
  tree.write("/short", std::string(ELFMAG) + std::string(20, '\0'));
  tree.write("/text", std::string(200, 'x'));
  std::string lying(200, '\xff');
  lying.replace(0, 6, std::string(ELFMAG) + "\x02\x01");
  tree.write("/lying", lying);
  for (const char* name : {"/short", "/text", "/lying"}) {
    UniqueFd fd(::open((tree.path() + name).c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(!constant_sections(fd.get()).has_value());
  }
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
