// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "launcher/output/bounded_call.h"

namespace muster {

namespace {

namespace fs = std::filesystem;

constexpr int kMostEarlier = 100'000;
constexpr Milliseconds kLimit{10'000};

tl::unexpected<Error> no_answer(const std::string& directory) {
  return fail(Error{"log_directory", "cannot write rank logs",
                    "its file system does not answer", directory,
                    "Choose another directory, or repair the mount."});
}

Status prepare_now(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  const std::string probe = directory + "/.muster-probe";
  const auto written = write_file_atomically(probe, "");
  ::unlink(probe.c_str());
  if (written) return {};
  return fail(Error{"log_directory", "cannot write rank logs",
                    error ? error.message() : written.error().why, directory,
                    "Choose another directory, or mount a writable volume "
                    "there."});
}

std::vector<std::string> log_files_in(const fs::path& directory) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    const std::string name = at->path().filename().string();
    if (at->is_regular_file(gone) && is_log_file(name)) out.push_back(name);
  }
  return out;
}

// The folder's path; "": there was nothing to move.
Result<std::string> move_earlier(const fs::path& directory) {
  const auto names = log_files_in(directory);
  if (names.empty()) return std::string();
  fs::path folder;
  for (int i = 1;; ++i) {
    folder = directory / ("earlier-" + std::to_string(i));
    if (::mkdir(folder.c_str(), 0777) == 0) break;
    if (errno != EEXIST || i == kMostEarlier) {
      return fail_errno("log_directory", "cannot make " + folder.string());
    }
  }
  for (const std::string& name : names) {
    std::error_code error;
    fs::rename(directory / name, folder / name, error);
    if (error) {
      return fail(Error{"log_directory", "cannot move an earlier launch's log",
                        error.message(), (directory / name).string(),
                        "Choose another directory."});
    }
  }
  return folder.string();
}

}  // namespace

bool is_log_file(const std::string& name) {
  constexpr std::string_view kRank = "rank-";
  auto parts = split(name, '.');
  if (parts.size() == 3 && parse_integer(parts[2])) parts.pop_back();
  if (parts.size() != 2 || (parts[1] != "out" && parts[1] != "err")) {
    return false;
  }
  if (parts[0] == "mpirun" || parts[0] == "script") return true;
  return parts[0].starts_with(kRank) &&
         parse_integer(parts[0].substr(kRank.size())).has_value();
}

Status prepare_log_directory(const std::string& directory) {
  if (directory.empty()) return {};
  auto ready = within(kLimit, [directory] { return prepare_now(directory); });
  if (!ready) return no_answer(directory);
  return std::move(*ready);
}

Result<LogFolder> LogFolder::claim(const std::string& directory,
                                   const std::string& launch_id) {
  auto folder = within(kLimit, [directory, launch_id] {
    return claim_now(directory, launch_id);
  });
  if (!folder) return no_answer(directory);
  if (*folder && !(*folder)->words_.empty()) {
    log::info("{}: {}", directory, (*folder)->words_);
  }
  return std::move(*folder);
}

Result<LogFolder> LogFolder::claim_now(const std::string& directory,
                                       const std::string& launch_id) {
  LogFolder out;
  out.path_ = directory;
  if (auto ready = prepare_now(directory); !ready) {
    return muster::fail(ready.error());
  }
  out.lock_.reset(::open((directory + "/.in-use").c_str(),
                         O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (out.lock_ && ::flock(out.lock_.get(), LOCK_EX | LOCK_NB) != 0 &&
      errno == EWOULDBLOCK) {
    out.path_ = directory + "/" + launch_id;
    if (auto ready = prepare_now(out.path_); !ready) {
      return muster::fail(ready.error());
    }
    out.words_ =
        "another launch writes there; this one's logs are in " + out.path_;
    return out;
  }
  const auto moved = move_earlier(directory);
  if (!moved) return muster::fail(moved.error());
  if (!moved->empty()) {
    out.words_ = "the logs of an earlier launch are now in " + *moved;
  }
  return out;
}

}  // namespace muster
