// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/ssh_main.h"

#include <libssh/libssh.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/log.h"
#include "base/self_path.h"
#include "base/text.h"
#include "job/launcher_socket.h"
#include "job/ssh_options.h"
#include "job/ssh_port.h"
#include "sshd-lite/client.h"
#include "sshd-lite/crypto_start.h"
#include "sshd-lite/keys.h"
#include "sshd-lite/private_key.h"
#include "sshd-lite/ssh_dial.h"

namespace muster {

namespace {

constexpr int kTransportFailure = 255;  // ssh(1)
constexpr int kDefaultPort = 2222;
constexpr size_t kReadChunk = 32 * 1024;

int complain(const Error& error) {
  std::fprintf(stderr, "muster ssh: %s\n", error.text().c_str());
  return kTransportFailure;
}

// Only returns if there is no launcher above.
void become_relay(const std::vector<std::string>& args) {
  if (!has_launcher_socket()) return;
  const auto agent = agent_path();
  if (!agent) return;
  std::vector<std::string> words{*agent, "ssh"};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
}

int port_for(const SshArguments& arguments) {
  if (arguments.port != 0) return arguments.port;
  if (const char* given = std::getenv("MUSTER_PORT")) {
    const auto port = parse_integer(given);
    if (port && *port > 0 && *port < 65536) return static_cast<int>(*port);
  }
  std::vector<std::string> files;
  if (!arguments.config_file.empty()) {
    files.push_back(arguments.config_file);
  } else {
    if (const char* home = std::getenv("HOME")) {
      files.push_back(std::string(home) + "/.ssh/config");
    }
    files.emplace_back("/etc/ssh/ssh_config");
  }
  for (const std::string& file : files) {
    const auto text = read_file(file);
    if (!text) continue;
    if (const auto port = port_of_ssh_config(*text)) return *port;
  }
  return kDefaultPort;
}

Result<SshKey> key_for(const SshArguments& arguments) {
  for (const std::string& file : arguments.identity_files) {
    if (::access(file.c_str(), F_OK) == 0) return load_private_key(file);
  }
  const auto directory = find_key_dir();
  return load_private_key(directory ? key_files_in(*directory).private_key
                                    : "");
}

// The process' stdin, stdout and stderr joined to one session.
class Terminal {
 public:
  Terminal(Loop& loop, bool no_stdin)
      : loop_(loop),
        stdin_open_(!no_stdin),
        signals_(loop, {SIGINT, SIGTERM, SIGHUP},
                 [this](const signalfd_siginfo& info) {
                   on_signal(static_cast<int>(info.ssi_signo));
                 }) {}

  int run(UniqueFd socket, SshClientOptions options) {
    SshClientEvents events;
    events.on_open = [this] { open_stdin(); };
    events.on_stdout = [this](std::string_view bytes) { put(1, bytes); };
    events.on_stderr = [this](std::string_view bytes) { put(2, bytes); };
    events.on_drained = [this] { read_stdin_again(); };
    events.on_failed = [this](const Error& error) { end(complain(error)); };
    events.on_exit = [this](int status) { end(status); };
    client_ = std::make_unique<SshClient>(
        loop_, std::move(socket), std::move(options), std::move(events));
    loop_.run();
    client_.reset();
    return exit_code_;
  }

 private:
  void end(int code) {
    exit_code_ = code;
    loop_.stop();
  }

  // A reader that stalls stalls us, and through the window the command.
  void put(int fd, std::string_view bytes) {
    if (write_all(fd, bytes) || fd != 1) return;
    end(128 + SIGPIPE);
  }

  void open_stdin() {
    opened_ = true;
    if (!stdin_open_) return client_->send_eof();
    stdin_ = std::make_unique<FdWatch>(loop_, STDIN_FILENO);
    read_stdin_again();
  }

  void read_stdin_again() {
    if (!stdin_) return;
    stdin_->on_readable([this] { read_stdin(); });
  }

  void read_stdin() {
    // Not on the stack, each page of which would be touched.
    const auto bytes = std::make_unique_for_overwrite<char[]>(kReadChunk);
    const ssize_t n = ::read(STDIN_FILENO, bytes.get(), kReadChunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
      stdin_.reset();
      client_->send_eof();
      return;
    }
    client_->send({bytes.get(), static_cast<size_t>(n)});
    if (client_->queued() >= kSshQueueMark) stdin_->stop_reading();
  }

  void on_signal(int number) {
    if (!opened_ || signalled_) return end(128 + number);
    signalled_ = true;
    client_->send_signal(number);
  }

  Loop& loop_;
  bool stdin_open_;
  SignalWatch signals_;
  std::unique_ptr<FdWatch> stdin_;
  std::unique_ptr<SshClient> client_;
  bool opened_ = false;
  bool signalled_ = false;
  int exit_code_ = kTransportFailure;
};

int connect_alone(const SshArguments& arguments) {
  start_crypto_for_one_login();
  const auto key = key_for(arguments);
  if (!key) return complain(key.error());
  ssh_init();
  auto socket = dial(arguments.host, port_for(arguments),
                     Milliseconds(arguments.connect_seconds * 1000));
  if (!socket) return complain(socket.error());
  SshClientOptions options;
  options.user = arguments.user;
  options.identity = &*key;
  options.expected_host_key = arguments.pin_host_key ? &*key : nullptr;
  options.command = arguments.command;
  options.rekey_bytes = arguments.rekey_bytes;
  Loop loop;
  Terminal terminal(loop, arguments.no_stdin);
  return terminal.run(std::move(*socket), std::move(options));
}

}  // namespace

int ssh_main(const std::vector<std::string>& args) {
  ::signal(SIGPIPE, SIG_IGN);
  become_relay(args);
  const auto arguments = parse_ssh_arguments(args);
  if (!arguments) return complain(arguments.error());
  if (arguments->version) {
    std::fprintf(stderr, "muster %s (as ssh), libssh %s\n", MUSTER_VERSION,
                 ssh_version(0));
    return 0;
  }
  log::Options options;
  options.level = arguments->verbose ? log::Level::kDebug : log::Level::kError;
  log::configure(options);
  return connect_alone(*arguments);
}

}  // namespace muster
