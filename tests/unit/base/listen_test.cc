// SPDX-License-Identifier: Apache-2.0
#include "base/listen.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/loopback.h"
#include "catch.h"
#include "temporary_directory.h"

namespace muster {
namespace {

TEST_CASE("a port for everybody, once") {
  const UniqueFd first = listen_on_any(0);
  REQUIRE(first);
  const int port = port_of(first.get());
  CHECK(port > 0);
  CHECK(dial_loopback(port, std::chrono::seconds(5)));
  CHECK_FALSE(listen_on_any(port));
  CHECK(errno == EADDRINUSE);
}

TEST_CASE("a path for this user, whatever lay there") {
  const TemporaryDirectory directory;
  const std::string path = directory.at("socket");
  directory.write("socket", "old");
  const auto listener = listen_on_path(path, SOCK_SEQPACKET);
  REQUIRE(listener);
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK(S_ISSOCK(info.st_mode));
  CHECK((info.st_mode & 0777) == 0600);
  CHECK(listen_on_path(path, SOCK_SEQPACKET));
  const auto long_path = listen_on_path(std::string(108, 'x'), SOCK_STREAM);
  REQUIRE_FALSE(long_path);
  CHECK(long_path.error().code == "no_writable_dir");
  CHECK(listen_on_path("/none/socket", SOCK_STREAM).error().code ==
        "resources");
}

}  // namespace
}  // namespace muster
