// SPDX-License-Identifier: Apache-2.0
// What the server writes down of connections that are over before pid 1, which
// has much to do, has looked at them.
#include <libssh/libssh.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "base/fd.h"
#include "base/loop.h"
#include "base/process_table.h"
#include "base/text.h"
#include "catch.h"
#include "test_server.h"

using namespace muster;
using muster::test::KeyDirectory;
using muster::test::StepByStep;
using muster::test::TestServer;

namespace {

// What this server does not have.
void ask_for_more(ssh_session session) {
  ssh_channel channel = ssh_channel_new(session);
  REQUIRE(ssh_channel_open_session(channel) == SSH_OK);
  CHECK(ssh_channel_request_pty(channel) == SSH_ERROR);
  CHECK(ssh_channel_request_shell(channel) == SSH_ERROR);
  CHECK(ssh_channel_request_sftp(channel) == SSH_ERROR);
  CHECK(ssh_channel_listen_forward(session, "", 0, nullptr) == SSH_ERROR);
  CHECK(ssh_channel_open_forward(ssh_channel_new(session), "h", 1, "h", 2) ==
        SSH_ERROR);
  CHECK(ssh_channel_open_session(ssh_channel_new(session)) == SSH_ERROR);
}

size_t children_that_ended(pid_t parent) {
  size_t out = 0;
  const std::string id = std::to_string(parent);
  const auto text =
      read_file("/proc/" + id + "/task/" + id + "/children", 1 << 16);
  if (!text) return 0;
  for (const auto word : split_words(*text)) {
    if (!is_alive(static_cast<pid_t>(*parse_integer(word)))) ++out;
  }
  return out;
}

size_t count(const std::string& text, const std::string& word) {
  size_t out = 0;
  for (size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + 1)) {
    ++out;
  }
  return out;
}

// What is written there until `done` says so, or for 20 s.
std::string read_trail(UniqueFd& audit,
                       const std::function<bool(const std::string&)>& done) {
  std::string trail;
  set_nonblocking(audit.get());
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (!done(trail) && Clock::now() < end) {
    char bytes[4096];
    const ssize_t n = ::read(audit.get(), bytes, sizeof bytes);
    if (n > 0) trail.append(bytes, static_cast<size_t>(n));
    if (n <= 0) ::usleep(10000);
  }
  return trail;
}

}  // namespace

TEST_CASE("what a session asks for and does not get is in the audit trail") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  auto audit = make_pipe();
  const TestServer server(keys.path(), 64, 30000, audit->write.get());
  audit->write.reset();
  {
    StepByStep client(server.port());
    REQUIRE(client.offer(*key) == SSH_AUTH_SUCCESS);
    ask_for_more(client.session());
  }
  const std::string trail = read_trail(audit->read, [](const auto& seen) {
    return count(seen, "\"audit\":\"refused\"") >= 6;
  });
  INFO(trail);
  for (const char* what : {"terminal", "shell", "subsystem", "listening port",
                           "forwarded connection", "second channel"}) {
    INFO(what);
    CHECK(count(trail, what) == 1);
  }
}

TEST_CASE("who left before pid 1 could look is in the audit trail") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const auto other = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  auto audit = make_pipe();
  const TestServer server(keys.path(), 64, 30000, audit->write.get());
  audit->write.reset();
  constexpr size_t kClients = 4;
  {
    std::vector<std::unique_ptr<StepByStep>> clients;
    for (size_t i = 0; i < kClients; ++i) {
      clients.push_back(std::make_unique<StepByStep>(server.port()));
    }
    ::kill(server.pid(), SIGSTOP);
    for (size_t i = 0; i < kClients; ++i) {
      const bool known = i % 2 == 0;
      CHECK(clients[i]->offer(known ? *key : *other) ==
            (known ? SSH_AUTH_SUCCESS : SSH_AUTH_DENIED));
      clients[i].reset();
      // One after the other: the server hears of the first end before it looks
      // at what the others left.
      for (int look = 0; look < 4000 && children_that_ended(server.pid()) <= i;
           ++look) {
        ::usleep(5000);
      }
    }
    REQUIRE(children_that_ended(server.pid()) == kClients);
    ::kill(server.pid(), SIGCONT);
  }
  const std::string trail =
      read_trail(audit->read, [](const std::string& seen) {
        return count(seen, "\"audit\":\"auth\"") >= kClients;
      });
  INFO(trail);
  CHECK(count(trail, "\"result\":\"accepted\"") == kClients / 2);
  CHECK(count(trail, "\"result\":\"refused\"") == kClients / 2);
}
