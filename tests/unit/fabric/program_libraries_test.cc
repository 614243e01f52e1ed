// SPDX-License-Identifier: Apache-2.0
// The NCCL that counts, in directories made up like an image's: pip's wheels in
// a virtual environment, conda, a system's own, one linked into torch, compiled
// programs.
#include "fabric/collect/program_libraries.h"

#include <elf.h>

#include <cstring>
#include <fstream>

#include "../base/temporary_directory.h"
#include "catch.h"

using namespace muster;

namespace {

// A library as the dynamic linker reads it: what it needs and where it looks,
// and constant texts.
std::string elf(const std::vector<std::string>& needed,
                const std::string& rpath = "", bool runpath = false,
                const std::string& text = "") {
  std::string names(1, '\0');
  std::vector<Elf64_Dyn> entries;
  const auto add = [&](int64_t tag, const std::string& name) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = names.size();
    entries.push_back(entry);
    names += name + std::string(1, '\0');
  };
  for (const std::string& name : needed) add(DT_NEEDED, name);
  if (!rpath.empty()) add(runpath ? DT_RUNPATH : DT_RPATH, rpath);
  const size_t parts_at = sizeof(Elf64_Ehdr);
  const size_t dynamic_at = parts_at + 2 * sizeof(Elf64_Phdr);
  const size_t names_at = dynamic_at + (entries.size() + 3) * sizeof(Elf64_Dyn);
  const size_t text_at = names_at + names.size();
  Elf64_Dyn table{};
  table.d_tag = DT_STRTAB;
  table.d_un.d_ptr = 0x1000 + names_at;  // as it is loaded, not in the file
  entries.push_back(table);
  table.d_tag = DT_STRSZ;
  table.d_un.d_val = names.size();
  entries.push_back(table);
  entries.push_back({});
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_vaddr = 0x1000;
  load.p_filesz = text_at + text.size();
  Elf64_Phdr dynamic{};
  dynamic.p_type = PT_DYNAMIC;
  dynamic.p_offset = dynamic_at;
  dynamic.p_filesz = entries.size() * sizeof(Elf64_Dyn);
  Elf64_Shdr texts{};
  texts.sh_type = SHT_PROGBITS;
  texts.sh_flags = SHF_ALLOC;
  texts.sh_offset = text_at;
  texts.sh_size = text.size();
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phoff = parts_at;
  header.e_phnum = 2;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_shoff = text_at + text.size();
  header.e_shnum = 1;
  header.e_shentsize = sizeof(Elf64_Shdr);
  std::string out;
  const auto put = [&out](const void* from, size_t size) {
    out.append(static_cast<const char*>(from), size);
  };
  put(&header, sizeof header);
  put(&load, sizeof load);
  put(&dynamic, sizeof dynamic);
  put(entries.data(), entries.size() * sizeof(Elf64_Dyn));
  out += names + text;
  put(&texts, sizeof texts);
  return out;
}

std::string nccl(const std::string& version) {
  return elf({}, "", false, "NCCL version " + version + "+cuda13.0");
}

struct Image {
  TemporaryDirectory tree;
  Environment env = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/root"}};

  void program(const std::string& path, const std::string& text = "ELF") {
    tree.write(path, text);
    std::filesystem::permissions(tree.path() + path,
                                 std::filesystem::perms::owner_all);
  }
  // A system of its own with an NCCL, which pip's programs do not load.
  Image() {
    program("/usr/bin/python3.12");
    tree.link("/usr/bin/python3", "python3.12");
    tree.write("/usr/lib/x86_64-linux-gnu/libnccl.so.2", nccl("2.28.3"));
  }
  void venv(const std::string& place, bool shares = false) {
    tree.write(place + "/pyvenv.cfg",
               std::string("home = /usr/bin\nversion = 3.12.3\n"
                           "include-system-site-packages = ") +
                   (shares ? "true\n" : "false\n"));
    tree.link(place + "/bin/python3", "/usr/bin/python3");
    tree.write(place + "/lib/python3.12/site-packages/README", "");
  }
  // torch as pip has it since 2.0: NCCL is a wheel of its own.
  void torch(const std::string& packages, const std::string& version) {
    tree.write(packages + "/torch/lib/libtorch_cuda.so",
               elf({"libnccl.so.2", "libcudart.so.13"},
                   "$ORIGIN/../../nvidia/nccl/lib:"
                   "$ORIGIN/../../nvidia/cu13/lib:$ORIGIN"));
    tree.write(packages + "/nvidia/nccl/lib/libnccl.so.2", "x");
    tree.write(
        packages + "/nvidia_nccl_cu13-" + version + ".dist-info/METADATA", "");
    tree.write(packages + "/nvidia/cu13/lib/libcudart.so.13", "x");
    tree.write(packages + "/nvidia_cuda_runtime-13.0.48.dist-info/METADATA",
               "");
    tree.write(packages + "/nvidia/cudnn/lib/libcudnn.so.9", "x");
    tree.write(packages + "/nvidia_cudnn_cu13-9.13.0.50.dist-info/METADATA",
               "");
  }
  [[nodiscard]] ProgramLibraries of(
      const std::vector<std::string>& argv) const {
    KnownFiles nothing;
    return program_libraries(tree.path(), {argv, env, "/job"}, nothing);
  }
  // "2.28.9 /path"
  [[nodiscard]] std::string library(const std::vector<std::string>& argv,
                                    const char* name = "NCCL") const {
    const auto all = of(argv);
    const ProgramLibrary* one = all.find(name);
    return one == nullptr ? "none" : one->version + " " + one->path;
  }
};

const std::string kVenvPackages = "/venv/lib/python3.12/site-packages";

}  // namespace

TEST_CASE("a virtual environment's NCCL is not the system's") {
  Image image;
  image.venv("/venv");
  image.torch(kVenvPackages, "2.28.9");
  const std::string wheel = "2.28.9 " + kVenvPackages +
                            "/torch/lib/../../nvidia/nccl/lib/libnccl.so.2";
  CHECK(image.library({"/venv/bin/python3", "train.py"}) == wheel);
  CHECK(image.library({"python3", "train.py"}) ==
        "2.28.3 /usr/lib/x86_64-linux-gnu/libnccl.so.2");
  image.program("/venv/bin/torchrun", "#!/venv/bin/python3\n");
  CHECK(image.library(
            {"bash", "-c", "source /venv/bin/activate; torchrun train.py"}) ==
        wheel);
  CHECK(image.library({"/venv/bin/torchrun", "x.py"}, "CUDA runtime") ==
        "13.0.48 " + kVenvPackages +
            "/torch/lib/../../nvidia/cu13/lib/libcudart.so.13");
  CHECK(image.library({"/venv/bin/torchrun", "x.py"}, "cuDNN") ==
        "9.13.0.50 " + kVenvPackages + "/nvidia/cudnn/lib/libcudnn.so.9");
  const auto lines = library_lines(image.of({"/venv/bin/torchrun", "x.py"}));
  CHECK(lines[0] ==
        "program: /venv/bin/python3 (virtual environment /venv), by torchrun");
  CHECK(lines[1].ends_with("(torch needs it: RPATH of libtorch_cuda.so)"));
}

TEST_CASE("wheels' RPATH counts before LD_LIBRARY_PATH, a RUNPATH after it") {
  Image image;
  image.venv("/venv");
  image.torch(kVenvPackages, "2.28.9");
  image.tree.write("/opt/nccl/lib/libnccl.so.2", nccl("2.30.4"));
  image.env.emplace_back("LD_LIBRARY_PATH", "/opt/nccl/lib");
  CHECK(image.library({"/venv/bin/python3"}).starts_with("2.28.9 "));
  image.tree.write(
      kVenvPackages + "/torch/lib/libtorch_cuda.so",
      elf({"libnccl.so.2"}, "$ORIGIN/../../nvidia/nccl/lib", true));
  CHECK(image.library({"/venv/bin/python3"}) ==
        "2.30.4 /opt/nccl/lib/libnccl.so.2");
  image.env.emplace_back("LD_PRELOAD", "/opt/nccl/lib/libnccl.so.2");
  image.torch(kVenvPackages, "2.28.9");
  CHECK(image.library({"/venv/bin/python3"}).starts_with("2.30.4 "));
}

TEST_CASE("a virtual environment may share the system's packages") {
  Image image;
  image.venv("/venv");
  image.torch("/usr/local/lib/python3.12/dist-packages", "2.26.2");
  CHECK(image.library({"/venv/bin/python3"}).starts_with("2.28.3 "));
  image.venv("/both", true);
  CHECK(image.library({"/both/bin/python3"}).starts_with("2.26.2 "));
  CHECK(image.library({"python3"}).starts_with("2.26.2 "));
}

TEST_CASE("PYTHONPATH and the user's packages come first") {
  Image image;
  image.torch("/usr/local/lib/python3.12/dist-packages", "2.26.2");
  image.torch("/root/.local/lib/python3.12/site-packages", "2.27.3");
  CHECK(image.library({"python3", "x.py"}).starts_with("2.27.3 "));
  CHECK(image.library({"python3", "-s", "x.py"}).starts_with("2.26.2 "));
  image.torch("/job/deps", "2.29.7");
  image.env.emplace_back("PYTHONPATH", "deps:/nowhere");
  CHECK(image.library({"python3", "x.py"}).starts_with("2.29.7 "));
  CHECK(image.library({"python3", "-I", "x.py"}).starts_with("2.26.2 "));
}

TEST_CASE("an NCCL that is linked into torch is told by its text") {
  Image image;
  image.venv("/venv");
  image.tree.write(kVenvPackages + "/torch/lib/libtorch_cuda.so",
                   elf({"libcudart.so.12"}, "$ORIGIN", false,
                       "NCCL version 2.25.1+cuda12.8"));
  CHECK(image.library({"/venv/bin/python3"}) ==
        "2.25.1 " + kVenvPackages + "/torch/lib/libtorch_cuda.so");
}

TEST_CASE("conda's NCCL lies in its own lib") {
  Image image;
  const std::string conda = "/opt/conda/envs/rl";
  image.program(conda + "/bin/python3.11");
  image.tree.link(conda + "/bin/python", "python3.11");
  image.tree.write(conda + "/conda-meta/history", "");
  image.tree.write(conda + "/lib/libnccl.so.2", nccl("2.24.3"));
  const std::string torch =
      conda + "/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so";
  image.tree.write(torch, elf({"libnccl.so.2"}, "$ORIGIN/../../../.."));
  CHECK(image.library({conda + "/bin/python", "x.py"}).starts_with("2.24.3 "));
}

TEST_CASE("a compiled program's NCCL is what the linker finds") {
  Image image;
  image.program("/opt/app/bin/solve", elf({"libsolver.so"}, "$ORIGIN/../lib"));
  image.tree.write("/opt/app/lib/libsolver.so", elf({"libnccl.so.2"}));
  CHECK(image.library({"/opt/app/bin/solve"}) ==
        "2.28.3 /usr/lib/x86_64-linux-gnu/libnccl.so.2");
  image.tree.write("/opt/nccl/lib/libnccl.so.2", nccl("2.30.4"));
  image.tree.write("/etc/ld.so.conf.d/nccl.conf", "/opt/nccl/lib\n");
  CHECK(image.library({"/opt/app/bin/solve"}).starts_with("2.30.4 "));
  image.program("/opt/app/bin/plain", elf({"libm.so.6"}));
  CHECK(image.library({"/opt/app/bin/plain"}) == "none");
}

TEST_CASE("a program that is not there has no libraries") {
  const Image image;
  CHECK(library_lines(image.of({"nowhere"})).empty());
}
