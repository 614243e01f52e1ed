// SPDX-License-Identifier: Apache-2.0
// How a rank finds the agent above it.
#include "worker/rank/rank_discovery.h"

#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "agent_harness.h"
#include "base/listen.h"
#include "catch.h"
#include "worker/rank/rank_protocol.h"

using namespace muster;

TEST_CASE("a killed agent's socket does not hide the agent that lives") {
  const std::string root = test::unique_name("/tmp/rank-discovery");
  const std::string killed = root + "/muster-killed";
  const std::string living = root + "/muster-living";
  std::filesystem::create_directories(killed);
  std::filesystem::create_directories(living);
  const pid_t shell = ::getppid();  // a pid that a killed agent had before
  const pid_t agent = ::getpid();
  const auto listen_as = [](const std::string& directory, pid_t pid) {
    return listen_on_path(directory + "/" + agent_socket_name(pid),
                          SOCK_SEQPACKET);
  };
  auto left_behind = listen_as(killed, shell);
  auto left_by_this_pid = listen_as(killed, agent);
  left_behind->reset();
  left_by_this_pid->reset();
  const std::vector<std::string> directories{killed, living};
  CHECK(!connect_agent({shell, agent}, directories));
  const auto listener = listen_as(living, agent);
  REQUIRE(listener);
  CHECK(connect_agent({shell, agent}, directories));
  CHECK(connect_agent({agent}, directories));
  // The listener is not the process that its name says: another pod's.
  const auto foreign = listen_as(living, shell);
  REQUIRE(foreign);
  CHECK(!connect_agent({shell}, directories));
  std::filesystem::remove_all(root);
}
