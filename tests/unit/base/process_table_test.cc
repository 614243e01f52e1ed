// SPDX-License-Identifier: Apache-2.0
// A made-up /proc, with command names that try to confuse, and the real one.
#include "base/process_table.h"

#include <unistd.h>

#include <algorithm>

#include "catch.h"
#include "temporary_directory.h"

namespace muster {
namespace {

std::string stat_line(int pid, const std::string& command, char state,
                      int parent, int start) {
  std::string line = std::to_string(pid) + " (" + command + ") " + state + " " +
                     std::to_string(parent);
  for (int i = 0; i < 17; ++i) line += " 1";  // fields 5 to 21
  return line + " " + std::to_string(start) + " 0 0\n";
}

bool maps(pid_t pid, std::string_view file, const std::string& proc) {
  bool found = false;
  for_each_mapped(
      pid, [&](std::string_view name) { found = found || name == file; }, proc);
  return found;
}

TEST_CASE("a made-up proc") {
  TemporaryDirectory proc;
  proc.write("10/stat", stat_line(10, "a) Z 1 (b", 'S', 7, 4242));
  proc.write("11/stat", stat_line(11, "dead", 'Z', 10, 1));
  proc.write("12/stat", "12 (cut");
  proc.write("13/stat", "");
  proc.write("self/stat", stat_line(1, "x", 'R', 0, 1));
  const std::string id = "MUSTER_LAUNCH_ID";
  proc.write("10/environ", std::string("A=1\0MUSTER_LAUNCH_ID=j1\0", 24));
  proc.write("11/environ", std::string("MUSTER_LAUNCH_ID=j12\0", 21));
  proc.write("12/environ", std::string("XMUSTER_LAUNCH_ID=j1\0", 21));
  proc.write("13/environ", "");
  proc.write("10/maps",
             "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/libmpi.so.40.30.4\n"
             "7f02-7f03 rw-p 00000000 00:00 0 [heap]\n");
  proc.write("11/maps", "7f00-7f01 r-xp 0 08:01 1 /opt/libmpi/libc.so.6\n");

  CHECK(parent_of(10, proc.path()) == 7);
  CHECK(parent_of(12, proc.path()) == 0);
  CHECK(parent_of(99, proc.path()) == 0);
  CHECK(is_alive(10, proc.path()));
  CHECK_FALSE(is_alive(11, proc.path()));
  CHECK_FALSE(is_alive(13, proc.path()));
  CHECK_FALSE(is_alive(99, proc.path()));
  CHECK(start_time(10, proc.path()) == 4242);
  CHECK(start_time(12, proc.path()) == 0);
  CHECK(maps(10, "libmpi.so.40.30.4", proc.path()));
  CHECK_FALSE(maps(10, "libmpich.so.12", proc.path()));
  CHECK_FALSE(maps(11, "libmpi.so.40.30.4", proc.path()));
  CHECK_FALSE(maps(99, "libmpi.so.40.30.4", proc.path()));
  CHECK(processes_with_env(id, "j1", proc.path()) == std::vector<pid_t>{10});
  CHECK(processes_with_env(id, "j", proc.path()).empty());
  CHECK(count_processes(proc.path()) == 4);
  CHECK(count_processes(proc.at("none")) == 0);
}

TEST_CASE("the real proc knows this process") {
  CHECK(is_alive(::getpid()));
  CHECK(parent_of(::getpid()) == ::getppid());
  CHECK(start_time(::getpid()) > 0);
  CHECK(maps(::getpid(), "libc.so.6", "/proc"));
  CHECK(count_processes() > 0);
}

}  // namespace
}  // namespace muster
