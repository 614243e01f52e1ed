// SPDX-License-Identifier: Apache-2.0
// Puts two files, or a descriptor of the test's, in place of stdout and stderr
// for as long as it lives. Restore it before the first CHECK: Catch2 reports
// on stdout.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "../base/temporary_directory.h"
#include "base/fd.h"

namespace muster::test {

class CapturedStdio {
 public:
  CapturedStdio() : CapturedStdio(-1) {}
  // `out` >= 0: stdout goes there.
  explicit CapturedStdio(int out) {
    flush();
    saved_out_.reset(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    saved_err_.reset(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    directory_.write("out", "");
    directory_.write("err", "");
    replace(STDOUT_FILENO, out, directory_.at("out"));
    replace(STDERR_FILENO, -1, directory_.at("err"));
  }
  ~CapturedStdio() { restore(); }
  CapturedStdio(const CapturedStdio&) = delete;
  CapturedStdio& operator=(const CapturedStdio&) = delete;

  void restore() {
    if (!saved_out_) return;
    flush();
    ::dup2(saved_out_.get(), STDOUT_FILENO);
    ::dup2(saved_err_.get(), STDERR_FILENO);
    saved_out_.reset();
    saved_err_.reset();
  }
  // Stdout until now, without an end to the capture.
  std::string out_so_far() {
    return read_file(directory_.at("out"), 64 << 20).value_or("unreadable");
  }
  // Both restore first.
  std::string out() { return text("out"); }
  std::string err() { return text("err"); }

 private:
  static void flush() {
    std::fflush(nullptr);
    std::cout.flush();
    std::cerr.flush();
  }
  static void replace(int fd, int with, const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    ::dup2(with >= 0 ? with : file.get(), fd);
  }
  std::string text(const std::string& name) {
    restore();
    return read_file(directory_.at(name), 64 << 20).value_or("unreadable");
  }

  TemporaryDirectory directory_;
  UniqueFd saved_out_;
  UniqueFd saved_err_;
};

}  // namespace muster::test
