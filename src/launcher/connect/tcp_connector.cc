// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/tcp_connector.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/no_descriptors.h"
#include "base/text.h"
#include "sshd-lite/listener.h"

namespace muster {

namespace {
constexpr Milliseconds kHeadStart{250};
}  // namespace

struct TcpConnector::Attempt {
  UniqueFd fd;
  Address address;
  std::unique_ptr<FdWatch> watch;
};

TcpConnector::TcpConnector(Loop& loop, std::vector<Address> addresses, int port,
                           Milliseconds timeout, Done done)
    : loop_(loop),
      addresses_(std::move(addresses)),
      port_(port),
      done_(std::move(done)),
      head_start_(loop),
      deadline_(loop) {
  deadline_.start(timeout, [this, timeout] {
    conclude(fail(
        Error{"tcp_filtered",
              "no answer on TCP port " + std::to_string(port_),
              "nothing came back within " + human_duration_ms(timeout.count()),
              {},
              {}}));
  });
  head_start_.start(Milliseconds{0}, [this] { start_next(); });
}

TcpConnector::~TcpConnector() = default;

void TcpConnector::start_next() {
  if (next_ >= addresses_.size()) {
    if (attempts_.empty()) conclude(fail(last_error_));
    return;
  }
  auto attempt = std::make_unique<Attempt>();
  attempt->address = addresses_[next_++];
  set_port(attempt->address, port_);
  attempt->fd.reset(::socket(attempt->address.storage.ss_family,
                             SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!attempt->fd) {
    fail_attempt(attempt.get(), errno);
    return;
  }
  const int fd = attempt->fd.get();
  tune_tcp(fd);
  if (::connect(fd, attempt->address.raw(), attempt->address.length) != 0 &&
      errno != EINPROGRESS) {
    fail_attempt(attempt.get(), errno);
    return;
  }
  attempt->watch = std::make_unique<FdWatch>(loop_, fd);
  attempt->watch->on_writable(
      [this, raw = attempt.get()] { finish_attempt(raw); });
  attempts_.push_back(std::move(attempt));
  if (next_ < addresses_.size()) {
    head_start_.start(kHeadStart, [this] { start_next(); });
  }
}

void TcpConnector::finish_attempt(Attempt* attempt) {
  attempt->watch->stop_writing();
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(attempt->fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) {
    attempt->watch.reset();
    conclude(std::move(attempt->fd));
  } else {
    fail_attempt(attempt, error);
  }
}

void TcpConnector::fail_attempt(const Attempt* attempt, int error) {
  const bool refused = error == ECONNREFUSED || error == ECONNRESET;
  const bool filtered = error == ETIMEDOUT;
  if (is_no_descriptors(error)) {
    last_error_ = no_descriptors(error, "to connect to a worker");
  } else {
    last_error_ =
        Error{refused    ? "tcp_refused"
              : filtered ? "tcp_filtered"
                         : "tcp_unreachable",
              refused ? "nothing listens on port " + std::to_string(port_)
                      : "cannot connect to port " + std::to_string(port_),
              to_text(attempt->address) + " " + strerror(error),
              {},
              {}};
  }
  std::erase_if(attempts_,
                [attempt](const auto& a) { return a.get() == attempt; });
  head_start_.start(Milliseconds{0}, [this] { start_next(); });
}

void TcpConnector::conclude(Result<UniqueFd> result) {
  head_start_.cancel();
  deadline_.cancel();
  attempts_.clear();
  const auto done = std::move(done_);
  done_ = nullptr;
  if (done) done(std::move(result));
}

}  // namespace muster
