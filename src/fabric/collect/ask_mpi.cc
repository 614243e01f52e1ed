// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/ask_mpi.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "base/fd.h"
#include "base/self_path.h"
#include "base/spawn.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kLongestLauncher = 16 << 20;
constexpr size_t kLongestVersion = 64 * 1024;

// The word behind `marker`, without punctuation at its end.
std::string word_behind(std::string_view text, std::string_view marker) {
  const size_t at = text.find(marker);
  if (at == std::string_view::npos) return "";
  const auto words = split_words(text.substr(at + marker.size()));
  if (words.empty()) return "";
  std::string word(words[0]);
  while (!word.empty() && (word.back() == ',' || word.back() == '.')) {
    word.pop_back();
  }
  return word;
}

std::string read_until(int fd, std::chrono::steady_clock::time_point deadline,
                       bool& late) {
  std::string text;
  std::array<char, 4096> bytes;
  while (text.size() < kLongestVersion) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    late = left.count() <= 0;
    if (late) break;
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(left.count())) < 0 &&
        errno != EINTR) {
      break;
    }
    if (ready.revents == 0) continue;
    const ssize_t n = ::read(fd, bytes.data(), bytes.size());
    if (n <= 0) break;
    text.append(bytes.data(), static_cast<size_t>(n));
  }
  return text;
}

std::string ask_version(const std::string& path,
                        std::chrono::milliseconds patience, bool& late) {
  auto output = make_pipe();
  if (!output) return "";
  SpawnOptions options;
  options.argv = {path, "--version"};
  options.env = current_environment();
  options.parent_death_signal = SIGKILL;
  options.fds = {{output->write.get(), 1}};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto pid = spawn(options);
  if (!pid) return "";
  output->write.reset();
  std::string text = read_until(output->read.get(), deadline, late);
  ::kill(-*pid, SIGKILL);  // it has said what it had to, or is too slow
  while (::waitpid(*pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return text;
}

}  // namespace

std::string mpi_family_of_file(std::string_view content) {
  struct Mark {
    std::string_view text;
    std::string_view family;
  };
  // Intel's and MVAPICH's launchers are Hydras, too: they come first.
  constexpr std::array<Mark, 10> kMarks = {{
      {"Intel(R) MPI Library", "intel"},
      {"I_MPI_ROOT", "intel"},
      {"mvapich", "mvapich"},
      {"MVAPICH", "mvapich"},
      {"HYDRA build details", "mpich"},
      {"mpiexec.hydra", "mpich"},
      {"orte_", "openmpi"},
      {"orterun", "openmpi"},
      {"prterun", "openmpi"},
      {"prte_", "openmpi"},
  }};
  for (const Mark& mark : kMarks) {
    if (content.find(mark.text) != content.npos) {
      return std::string(mark.family);
    }
  }
  return "";
}

MpiFacts parse_mpi_version(std::string_view text) {
  MpiFacts out;
  for (const auto marker : {"(Open MPI) ", "(OpenRTE) "}) {
    if (out.version = word_behind(text, marker); !out.version.empty()) {
      out.family = "openmpi";
      return out;
    }
  }
  if (text.find("Intel(R) MPI Library") != text.npos) {
    out.family = "intel";
    out.version = word_behind(text, "Version ");
    return out;
  }
  if (text.find("HYDRA build details") != text.npos) {
    // Every MPICH descendant ships Hydra; its configure line tells them apart.
    const bool mvapich = to_lower(text).find("mvapich") != std::string::npos;
    out.family = mvapich ? "mvapich" : "mpich";
    out.version = word_behind(text, "Version:");
  }
  return out;
}

MpiFacts ask_mpi(const std::string& search_path, const std::string& wanted,
                 KnownFiles& known, std::chrono::milliseconds patience) {
  std::string path = wanted;
  if (path.empty() || ::access(path.c_str(), X_OK) != 0) {
    path = find_foreign_program({"mpirun", "mpiexec"}, search_path);
  }
  if (path.empty()) return {};
  MpiFacts out;
  if (const auto answer = known.find(path)) {
    const auto words = split_words(*answer);
    if (!words.empty()) out.family = words[0];
    if (words.size() > 1) out.version = words[1];
  } else {
    bool late = false;
    out = parse_mpi_version(ask_version(path, patience, late));
    if (!out.family.empty()) {
      known.remember(path, out.family + " " + out.version);
    } else if (late) {
      const auto file = read_file(path, kLongestLauncher);
      if (file) out.family = mpi_family_of_file(*file);
      out.silent = true;
    }
  }
  out.launcher = path;
  return out;
}

}  // namespace muster
