// SPDX-License-Identifier: Apache-2.0
#include "wire/relay_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <utility>

#include "base/listen.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace muster::wire {

// One relay. Ends by itself when its last frame is written.
class RelayServer::Connection {
 public:
  Connection(RelayServer& server, uint32_t id, UniqueFd socket)
      : server_(server),
        id_(id),
        socket_(std::move(socket)),
        watch_(server.loop_, socket_.get()) {
    watch_.on_readable([this] { read_some(); });
  }

  void send(FrameType type, uint8_t flags, std::string_view payload,
            uint32_t counted = 0) {
    if (ending_ || gone_) return;
    encode(type, flags, 0, 0, payload, queue_);
    queued_ += kHeaderSize + payload.size();
    if (counted > 0) marks_.push_back({queued_, flags, counted});
    if (!waiting_) write_some();
  }
  void add_stdin_credit(uint32_t bytes) {
    stdin_credit_ += bytes;
    send(FrameType::kStdinCredit, 0, u32_payload(bytes));
  }
  void end_after(FrameType type, std::string_view payload) {
    send(type, 0, payload);
    ending_ = true;
    if (queue_.empty()) leave();
  }

 private:
  // Output that is out once `at` bytes of the whole stream are.
  struct Mark {
    uint64_t at;
    uint8_t stream;
    uint32_t bytes;
  };

  void read_some();
  [[nodiscard]] bool handle(const Frame& frame);
  void write_some();
  void report_written();
  void hang_up();
  void leave();

  RelayServer& server_;
  uint32_t id_;
  UniqueFd socket_;
  FrameReader reader_;
  bool requested_ = false;
  bool stdin_ended_ = false;
  bool ending_ = false;  // the last frame is in the queue
  bool gone_ = false;
  bool waiting_ = false;
  int64_t stdin_credit_ = 0;
  std::string queue_;
  uint64_t queued_ = 0;
  uint64_t written_ = 0;
  std::deque<Mark> marks_;
  FdWatch watch_;
};

void RelayServer::Connection::read_some() {
  std::array<char, 64 * 1024> buffer;
  const ssize_t n = ::read(socket_.get(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return hang_up();
  std::string_view bytes(buffer.data(), static_cast<size_t>(n));
  while (!gone_) {
    const auto frame = reader_.next(bytes);
    if (!frame) return hang_up();
    if (!*frame) return;
    if (!handle(**frame)) return hang_up();
  }
}

bool RelayServer::Connection::handle(const Frame& frame) {
  if (!requested_) {
    const auto request = relay_request_from_json(frame.payload);
    if (frame.type != FrameType::kStart || !request) return false;
    requested_ = true;
    server_.callbacks_.on_request(id_, *request);
    return true;
  }
  if (frame.type == FrameType::kStdin && !stdin_ended_) {
    stdin_credit_ -= static_cast<int64_t>(frame.payload.size());
    if (stdin_credit_ < 0) return false;
    server_.callbacks_.on_stdin(id_, frame.payload);
    return true;
  }
  if (frame.type == FrameType::kStdinEof && !stdin_ended_) {
    stdin_ended_ = true;
    server_.callbacks_.on_stdin_eof(id_);
    return true;
  }
  return false;
}

void RelayServer::Connection::write_some() {
  size_t done = 0;
  while (done < queue_.size()) {
    const ssize_t n = ::send(socket_.get(), queue_.data() + done,
                             queue_.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) return hang_up();
    done += static_cast<size_t>(n);
  }
  queue_.erase(0, done);
  written_ += done;
  const bool more = !queue_.empty();
  if (more && !waiting_) watch_.on_writable([this] { write_some(); });
  if (!more && waiting_) watch_.stop_writing();
  waiting_ = more;
  report_written();
  if (ending_ && !more) leave();
}

void RelayServer::Connection::report_written() {
  while (!marks_.empty() && marks_.front().at <= written_) {
    const Mark mark = marks_.front();
    marks_.pop_front();
    server_.callbacks_.on_written(id_, mark.stream, mark.bytes);
  }
}

void RelayServer::Connection::hang_up() {
  if (gone_) return;
  const bool tell = requested_ && !ending_;
  leave();
  if (tell) server_.callbacks_.on_hangup(id_);
}

void RelayServer::Connection::leave() {
  if (gone_) return;
  gone_ = true;
  waiting_ = false;
  watch_.stop_reading();
  watch_.stop_writing();
  ::shutdown(socket_.get(), SHUT_RDWR);
  server_.remove(id_);
}

RelayServer::RelayServer(Loop& loop, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)) {}

RelayServer::~RelayServer() {
  *alive_ = false;
  if (!path_.empty()) ::unlink(path_.c_str());
}

Status RelayServer::listen(const std::string& path) {
  auto listener = listen_on_path(path, SOCK_STREAM);
  if (!listener) return fail(listener.error());
  listener_ = std::move(*listener);
  path_ = path;
  watch_ = std::make_unique<AcceptWatch>(
      loop_, listener_.get(),
      [this](UniqueFd socket) { accept_relay(std::move(socket)); });
  return {};
}

void RelayServer::accept_relay(UniqueFd socket) {
  if (!own_peer(socket.get())) return;
  const uint32_t id = next_id_++;
  connections_[id] = std::make_unique<Connection>(*this, id, std::move(socket));
}

void RelayServer::remove(uint32_t id) {
  // Later: the connection's own code is still on the stack.
  loop_.post([this, id, alive = alive_] {
    if (*alive) connections_.erase(id);
  });
}

void RelayServer::output(uint32_t id, uint8_t stream, std::string_view bytes) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || bytes.empty()) return;
  found->second->send(FrameType::kOutput, stream & kStreamMask, bytes,
                      static_cast<uint32_t>(bytes.size()));
}

void RelayServer::stdin_credit(uint32_t id, uint32_t bytes) {
  const auto found = connections_.find(id);
  if (found != connections_.end()) found->second->add_stdin_credit(bytes);
}

void RelayServer::exited(uint32_t id, int wait_status) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Exited exit;
  exit.wait_status = wait_status;
  found->second->end_after(FrameType::kExited, to_json(exit));
}

void RelayServer::failed(uint32_t id, const std::string& text) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  found->second->end_after(
      FrameType::kStartFailed,
      to_json(StartFailed{{"relay", text, {}, {}, {}}, 255}));
}

}  // namespace muster::wire
