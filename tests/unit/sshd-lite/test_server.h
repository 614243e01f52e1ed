// SPDX-License-Identifier: Apache-2.0
// A real server in a process of its own, on 127.0.0.1, that runs any command
// through /bin/sh; killed on destruction.
#pragma once

#include <sys/types.h>

#include <string>

#include "sshd-lite/ssh_key.h"

struct ssh_session_struct;

namespace muster::test {

// A directory with id_rsa and authorized_keys; removed on destruction.
class KeyDirectory {
 public:
  explicit KeyDirectory(const SshKey& key, const std::string& parent = "/tmp");
  ~KeyDirectory();
  KeyDirectory(const KeyDirectory&) = delete;
  KeyDirectory& operator=(const KeyDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class TestServer {
 public:
  explicit TestServer(const std::string& key_directory,
                      size_t max_unauthenticated = 64,
                      int auth_timeout_ms = 30000, int audit = -1);
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int port_ = 0;
};

// A blocking connect to 127.0.0.1.
int connect_to(int port);

// libssh's client at the pace of its caller; blocks.
class StepByStep {
 public:
  explicit StepByStep(int port);  // keys are agreed
  ~StepByStep();
  StepByStep(const StepByStep&) = delete;
  StepByStep& operator=(const StepByStep&) = delete;
  [[nodiscard]] ssh_session_struct* session() const { return session_; }
  int offer(const SshKey& key);

 private:
  ssh_session_struct* session_;
};

}  // namespace muster::test
