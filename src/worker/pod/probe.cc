// SPDX-License-Identifier: Apache-2.0
#include "worker/pod/probe.h"

#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/fd.h"
#include "base/loop.h"
#include "base/loopback.h"
#include "base/read_command_line.h"
#include "sshd-lite/client.h"
#include "sshd-lite/exec_policy.h"
#include "worker/pod/pod_options.h"

namespace muster {

namespace {

constexpr Milliseconds kProbeTimeout{5000};
constexpr const char* kProbeCommand = "muster-agent version";

Result<UniqueFd> dial_worker(int port) {
  auto fd = dial_loopback(port, kProbeTimeout);
  if (fd) return std::move(*fd);
  return fail_errno(fd.error(), "probe", "no worker listens",
                    "port " + std::to_string(port));
}

}  // namespace

Status probe_live(int port) {
  auto fd = dial_worker(port);
  if (!fd) return tl::unexpected(fd.error());
  pollfd wait{fd->get(), POLLIN, 0};
  char banner[64];
  if (::poll(&wait, 1, static_cast<int>(kProbeTimeout.count())) != 1) {
    return fail(Error{
        "probe", "the worker is stuck", "no SSH banner within 5 s", {}, {}});
  }
  const ssize_t n = ::read(fd->get(), banner, sizeof banner);
  if (n < 4 || std::memcmp(banner, "SSH-", 4) != 0) {
    return fail(Error{"probe",
                      "the worker is stuck",
                      "the process on its port does not speak SSH",
                      {},
                      {}});
  }
  return {};
}

Status probe_ready(int port, const JobKeys& keys) {
  auto fd = dial_worker(port);
  if (!fd) return tl::unexpected(fd.error());
  Loop loop;
  std::optional<Error> error;
  SshClientOptions options;
  options.user = kProbeUser;
  options.identity = &keys.private_key;
  options.expected_host_key = &keys.private_key;
  options.command = kProbeCommand;
  options.banner_timeout = kProbeTimeout;
  options.handshake_timeout = kProbeTimeout;
  SshClientEvents events;
  events.on_failed = [&](Error failure) {
    error = std::move(failure);
    loop.stop();
  };
  events.on_exit = [&](int status) {
    if (status != 0) {
      error = Error{"probe",
                    "muster-agent does not run here",
                    "it ended with " + std::to_string(status),
                    {},
                    {}};
    }
    loop.stop();
  };
  Timer deadline(loop);
  deadline.start(kProbeTimeout, [&] {
    error = Error{"probe", "not ready", "no answer within 5 s", {}, {}};
    loop.stop();
  });
  SshClient client(loop, std::move(*fd), std::move(options), std::move(events));
  client.send_eof();
  loop.run();
  if (error) return fail(std::move(*error));
  return {};
}

int worker_probe_main(const std::vector<std::string>& args) {
  std::string kind;
  std::string key_dir;
  int port = kDefaultSshPort;
  CLI::App app("Exec probe of a worker pod", "muster worker probe");
  app.add_option("kind", kind, "ready or live")
      ->check(CLI::IsMember({"ready", "live"}));
  app.add_option("--port", port, "SSH port (2222)")
      ->envname("MUSTER_PORT")
      ->transform(whole_number(1, 65535));
  app.add_option("--key-dir", key_dir, "directory of the job's keys");
  if (const auto code = read_command_line(app, args)) return *code;
  if (kind.empty()) {
    std::fprintf(stderr,
                 "muster worker probe: say what to ask for, ready or live, as "
                 "in `muster worker probe ready`\n");
    return 2;
  }
  Status result;
  if (kind == "live") {
    result = probe_live(port);
  } else {
    const auto found =
        key_dir.empty() ? find_key_dir() : std::optional(key_dir);
    const auto keys = find_keys(found.value_or("/root/.ssh"));
    result = keys ? probe_ready(port, *keys) : tl::unexpected(keys.error());
  }
  if (result) return 0;
  std::printf("%s\n", result.error().text().c_str());
  return 1;
}

}  // namespace muster
