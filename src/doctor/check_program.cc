// SPDX-License-Identifier: Apache-2.0
// Asks the dynamic linker for the libraries of a program. Does not run the
// program itself.
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "base/spawn.h"
#include "base/text.h"
#include "doctor/pod_state.h"

namespace muster {

namespace {

constexpr int kDeadlineMs = 5000;
constexpr size_t kMostOutput = 1 << 20;

// The dynamic linker that the kernel would give `file`, as the file names it
// (PT_INTERP); empty: none, as for a script and a static program.
std::string linker_of(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  Elf64_Ehdr header{};
  if (!fd || ::pread(fd.get(), &header, sizeof header, 0) !=
                 static_cast<ssize_t>(sizeof header)) {
    return "";
  }
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return "";
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    const auto at = static_cast<off_t>(header.e_phoff +
                                       sizeof part * static_cast<size_t>(i));
    if (::pread(fd.get(), &part, sizeof part, at) !=
        static_cast<ssize_t>(sizeof part)) {
      return "";
    }
    if (part.p_type != PT_INTERP || part.p_filesz > PATH_MAX) continue;
    std::string name(part.p_filesz, '\0');
    const ssize_t n = ::pread(fd.get(), name.data(), name.size(),
                              static_cast<off_t>(part.p_offset));
    if (n != static_cast<ssize_t>(name.size())) return "";
    return name.c_str();  // without its zero byte
  }
  return "";
}

// The output of `options` until it ends or the deadline is over; then it is
// killed. Always reaped.
std::string output_of(SpawnOptions options) {
  auto pipe = make_pipe();
  if (!pipe) return "";
  options.fds = {{pipe->write.get(), 1}, {pipe->write.get(), 2}};
  const auto child = spawn(options);
  pipe->write.reset();
  if (!child) return "";
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + std::chrono::milliseconds(kDeadlineMs);
  std::string text;
  char part[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - steady_clock::now());
    pollfd ready{pipe->read.get(), POLLIN, 0};
    if (left.count() <= 0 || text.size() > kMostOutput ||
        ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      break;
    }
    const ssize_t n = ::read(pipe->read.get(), part, sizeof part);
    if (n <= 0) break;
    text.append(part, static_cast<size_t>(n));
  }
  ::kill(*child, SIGKILL);
  ::waitpid(*child, nullptr, 0);
  return text;
}

// "\tlibmpi.so.40 => /usr/lib/libmpi.so.40 (0x7f…)": the file behind it.
void add_library(std::string_view line, ProgramState& state) {
  const size_t arrow = line.find(" => /");
  const size_t end = line.rfind(" (0x");
  if (arrow == std::string_view::npos || end == std::string_view::npos) return;
  const std::string path(line.substr(arrow + 4, end - arrow - 4));
  std::error_code failed;
  const auto real = std::filesystem::canonical(path, failed);
  if (failed) return;
  const auto size = std::filesystem::file_size(real, failed);
  if (failed) return;
  state.libraries.push_back(std::string(trim(line.substr(0, arrow))) + " " +
                            real.filename().string() + " of " +
                            std::to_string(size) + " bytes");
}

}  // namespace

ProgramState check_program(const std::string& program,
                           const std::string& search_path) {
  ProgramState state;
  state.program = program;
  const auto path = find_program(program, search_path);
  if (!path) return state;
  state.path = *path;
  // $ORIGIN is the directory of the file, not of a link to it: the kernel
  // passes it so to the linker, which by itself would take the given path.
  std::error_code failed;
  const auto file = std::filesystem::canonical(state.path, failed);
  if (failed) return state;
  SpawnOptions options;
  options.argv = {linker_of(file.string()), "--list", file.string()};
  options.env = current_environment();
  if (options.argv[0].empty()) return state;
  if (::access(options.argv[0].c_str(), X_OK) != 0) {
    state.missing.push_back(options.argv[0]);
    return state;
  }
  const std::string output = output_of(std::move(options));
  for (const auto line : split(output, '\n')) {
    add_library(line, state);
    // "\tlibfoo.so.1 => not found"; "libfoo.so.1: cannot open shared …".
    const size_t arrow = line.find(" => not found");
    if (arrow != std::string_view::npos) {
      state.missing.emplace_back(trim(line.substr(0, arrow)));
    }
    constexpr std::string_view kLoading =
        "error while loading shared "
        "libraries: ";
    const size_t at = line.find(kLoading);
    if (at == std::string_view::npos) continue;
    std::string_view name = line.substr(at + kLoading.size());
    name = name.substr(0, name.find(':'));
    if (name.find(".so") != std::string_view::npos) {
      state.missing.emplace_back(name);
    }
  }
  return state;
}

}  // namespace muster
