// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/relay_main.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/fd.h"
#include "job/ssh_options.h"
#include "wire/frame.h"
#include "wire/messages.h"
#include "wire/relay_protocol.h"
#include "worker/rank/rank_discovery.h"

namespace muster {

namespace {

constexpr int kSshFailure = 255;  // ssh(1): an error of ssh itself

int complain(const std::string& text) {
  std::fprintf(stderr, "muster ssh: %s\n", text.c_str());
  return kSshFailure;
}

// The launcher above us, not one of another job on this machine.
UniqueFd connect_launcher() {
  if (const char* path = std::getenv("MUSTER_LAUNCHER_SOCKET")) {
    if (UniqueFd socket = connect_unix(path, SOCK_STREAM)) return socket;
  }
  const auto chain = parent_chain(::getpid());
  for (const std::string& directory : run_directories(current_environment())) {
    UniqueFd socket = connect_unix(directory + "/launcher.sock", SOCK_STREAM);
    if (!socket) continue;
    const pid_t pid = peer_pid(socket.get());
    if (std::find(chain.begin(), chain.end(), pid) != chain.end()) {
      return socket;
    }
  }
  return {};
}

class Relay {
 public:
  Relay(UniqueFd socket, const SshArguments& arguments)
      : socket_(std::move(socket)), host_(arguments.host) {
    wire::RelayRequest request;
    request.host = arguments.host;
    request.command = arguments.command;
    request.stdin_open = !arguments.no_stdin;
    stdin_open_ = request.stdin_open;
    send(wire::FrameType::kStart, wire::to_json(request));
  }

  // The exit code. No deadline of its own: it lasts as long as the command,
  // and the launcher, which ends either, closes the socket.
  int run() {
    while (!exit_code_) {
      const bool may_read = stdin_open_ && stdin_credit_ > 0;
      std::array<pollfd, 2> ready{pollfd{socket_.get(), POLLIN, 0},
                                  pollfd{may_read ? 0 : -1, POLLIN, 0}};
      if (::poll(ready.data(), ready.size(), -1) < 0) {
        if (errno == EINTR) continue;
        return complain("poll failed");
      }
      if (ready[0].revents != 0) read_socket();
      if (!exit_code_ && ready[1].revents != 0) read_stdin();
    }
    return *exit_code_;
  }

 private:
  void send(wire::FrameType type, const std::string& payload) {
    std::string bytes;
    wire::encode(type, 0, 0, 0, payload, bytes);
    // A lost launcher shows as EOF on the next read.
    static_cast<void>(write_all(socket_.get(), bytes));
  }

  void read_socket() {
    std::array<char, 64 * 1024> buffer;
    const ssize_t n = ::read(socket_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
      exit_code_ = complain(
          "the launcher closed the connection before the "
          "command on " +
          host_ + " had ended");
      return;
    }
    std::string_view bytes(buffer.data(), static_cast<size_t>(n));
    while (!exit_code_) {
      const auto frame = reader_.next(bytes);
      if (!frame) {
        exit_code_ = complain(frame.error().text());
        return;
      }
      if (!*frame) return;
      handle(**frame);
    }
  }

  void handle(const wire::Frame& frame) {
    switch (frame.type) {
      case wire::FrameType::kOutput:
        // The reader of our output may be lost; the command still counts.
        static_cast<void>(write_all((frame.flags & wire::kStderr) != 0 ? 2 : 1,
                                    frame.payload));
        return;
      case wire::FrameType::kStdinCredit:
        stdin_credit_ += wire::parse_u32(frame.payload).value_or(0);
        return;
      case wire::FrameType::kExited: {
        const auto exit = wire::from_json<wire::Exited>(frame.payload);
        if (!exit) {
          exit_code_ = complain(exit.error().text());
          return;
        }
        exit_code_ = WIFSIGNALED(exit->wait_status)
                         ? 128 + WTERMSIG(exit->wait_status)
                         : WEXITSTATUS(exit->wait_status);
        return;
      }
      case wire::FrameType::kStartFailed: {
        const auto failed = wire::from_json<wire::StartFailed>(frame.payload);
        exit_code_ =
            complain(failed ? failed->error.text() : failed.error().text());
        return;
      }
      default:
        return;  // a newer launcher may send more
    }
  }

  void read_stdin() {
    std::array<char, 32 * 1024> bytes;
    const size_t wanted = std::min<uint64_t>(bytes.size(), stdin_credit_);
    const ssize_t n = ::read(0, bytes.data(), wanted);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
      stdin_open_ = false;
      send(wire::FrameType::kStdinEof, "");
      return;
    }
    stdin_credit_ -= static_cast<uint64_t>(n);
    send(wire::FrameType::kStdin,
         std::string(bytes.data(), static_cast<size_t>(n)));
  }

  UniqueFd socket_;
  std::string host_;
  wire::FrameReader reader_;
  bool stdin_open_ = false;
  uint64_t stdin_credit_ = 0;
  std::optional<int> exit_code_;
};

}  // namespace

int relay_main(const std::vector<std::string>& args) {
  ::signal(SIGPIPE, SIG_IGN);
  // Ignores port, identity and the like: the launcher's channel is up.
  const auto arguments = parse_ssh_arguments(args);
  if (!arguments) return complain(arguments.error().text());
  if (arguments->version) {
    std::fputs("muster " MUSTER_VERSION " (as ssh)\n", stderr);
    return 0;
  }
  UniqueFd socket = connect_launcher();
  if (!socket) {
    return complain("no muster launcher above this process to reach " +
                    arguments->host +
                    "; it works only under `muster launch` or muster's mpirun");
  }
  return Relay(std::move(socket), *arguments).run();
}

}  // namespace muster
