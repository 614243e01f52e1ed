// SPDX-License-Identifier: Apache-2.0
// What the server writes down of connections that are over before pid 1, which
// has much to do, has looked at them.
#include <libssh/libssh.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/loop.h"
#include "base/process_table.h"
#include "base/text.h"
#include "catch.h"
#include "test_server.h"

using namespace muster;
using muster::test::connect_to;
using muster::test::KeyDirectory;
using muster::test::TestServer;

namespace {

// A client, step by step; blocks.
class Stranger {
 public:
  explicit Stranger(int port) : session_(ssh_new()) {
    const bool no_files = false;
    const socket_t socket = connect_to(port);
    for (const auto& [option, value] :
         {std::pair<ssh_options_e, const void*>{SSH_OPTIONS_HOST, "worker"},
          {SSH_OPTIONS_PROCESS_CONFIG, &no_files},
          {SSH_OPTIONS_SSH_DIR, "/nonexistent"},
          {SSH_OPTIONS_KNOWNHOSTS, "/dev/null"},
          {SSH_OPTIONS_USER, "anyone"},
          {SSH_OPTIONS_FD, &socket}}) {
      ssh_options_set(session_, option, value);
    }
    REQUIRE(ssh_connect(session_) == SSH_OK);
  }
  ~Stranger() {
    ssh_disconnect(session_);
    ssh_free(session_);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  int offer(const SshKey& key) {
    return ssh_userauth_publickey(session_, nullptr, key.get());
  }

 private:
  ssh_session session_;
};

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

}  // namespace

TEST_CASE("who left before pid 1 could look is in the audit trail") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const auto other = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  auto audit = make_pipe();
  const TestServer server(keys.path(), 64, 30000, audit->write.get());
  audit->write.reset();
  constexpr size_t kClients = 4;
  {
    std::vector<std::unique_ptr<Stranger>> clients;
    for (size_t i = 0; i < kClients; ++i) {
      clients.push_back(std::make_unique<Stranger>(server.port()));
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
  std::string trail;
  set_nonblocking(audit->read.get());
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (count(trail, "\"audit\":\"auth\"") < kClients && Clock::now() < end) {
    char bytes[4096];
    const ssize_t n = ::read(audit->read.get(), bytes, sizeof bytes);
    if (n > 0) trail.append(bytes, static_cast<size_t>(n));
    if (n <= 0) ::usleep(10000);
  }
  INFO(trail);
  CHECK(count(trail, "\"result\":\"accepted\"") == kClients / 2);
  CHECK(count(trail, "\"result\":\"refused\"") == kClients / 2);
}
