// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/close_from.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/process_table.h"
#include "sshd-lite/connection.h"
#include "sshd-lite/exec_policy.h"
#include "sshd-lite/listener.h"

namespace muster {

namespace {

// After the child's own deadline: it should have left by itself.
constexpr Milliseconds kDeadlineSlack{2000};
constexpr Milliseconds kAcceptPause{200};  // out of descriptors or processes
// A login takes a tenth of it. So no login in progress loses its place, and a
// flood costs at most max_unauthenticated forks in this time.
constexpr Milliseconds kSafeAge{250};
constexpr Milliseconds kReadyPause{5};
// A peer that opens connections as fast as this loop takes them must not
// monopolise the loop.
constexpr int kAcceptsAtOnce = 16;
constexpr int kStartsAtOnce = 4;  // in each pause
constexpr size_t kMaxLeaving = 8;
constexpr int kLastWords = 16;   // of a child that has ended
constexpr int kMaxUnserved = 8;  // records of a session
constexpr Milliseconds kStoppedLook{5000};
constexpr std::chrono::minutes kProbeRecords{10};

bool is_loopback(const std::string& peer) {
  return peer.starts_with("127.") || peer.starts_with("[::1]");
}

// The forked child: keeps stderr, its socket and its link, nothing else.
[[noreturn]] void run_child(UniqueFd socket, UniqueFd link, pid_t parent,
                            const ConnectionOptions& options) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  ::prctl(PR_SET_NAME, "muster-ssh");
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) {
    ::signal(signal, SIG_DFL);
  }
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);
  }
  // Moves the two that it keeps far above the rest, then to 3 and 4.
  const int high_socket = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 5);
  const int high_link = ::fcntl(link.get(), F_DUPFD_CLOEXEC, 5);
  if (high_socket < 0 || high_link < 0) ::_exit(1);
  ::dup3(high_socket, 3, O_CLOEXEC);
  ::dup3(high_link, 4, O_CLOEXEC);
  (void)socket.release();
  (void)link.release();
  close_from(5);
  serve_connection(UniqueFd(3), UniqueFd(4), options);
  ::_exit(0);
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(Loop& loop, Reaper& reaper,
                                               KeyStore& keys,
                                               ServerOptions options,
                                               ServerEvents events) {
  auto socket = listen_on(options.address, options.port);
  if (!socket) return tl::unexpected(socket.error());
  return std::unique_ptr<Server>(
      new Server(loop, reaper, keys, std::move(options), std::move(events),
                 std::move(*socket)));
}

Server::Server(Loop& loop, Reaper& reaper, KeyStore& keys,
               ServerOptions options, ServerEvents events, UniqueFd socket)
    : loop_(loop),
      reaper_(reaper),
      keys_(keys),
      options_(std::move(options)),
      events_(std::move(events)),
      socket_(std::move(socket)),
      watch_(std::make_unique<FdWatch>(loop, socket_.get())),
      accept_again_(loop),
      door_(loop, DoorOptions{options_.max_waiting, options_.door_timeout},
            DoorEvents{
                [this](Visitor visitor) { serve(std::move(visitor)); },
                [this] { return keys_.current().private_key.door_secret(); },
                [this] {
                  return ready_.empty() &&
                         4 * strangers() < options_.max_unauthenticated;
                }}),
      ready_(options_.max_waiting),
      ready_timer_(loop),
      pace_(kStartsAtOnce, kReadyPause),
      audit_(options_.audit) {
  watch_->on_readable([this] { accept_some(); });
}

Server::~Server() {
  for (Child& child : children_) {
    reaper_.forget(child.pid);
    ::kill(child.pid, SIGKILL);
  }
  for (const pid_t pid : leaving_) reaper_.forget(pid);
}

int Server::port() const { return local_port(socket_.get()); }

void Server::stop_accepting() {
  accept_again_.cancel();
  watch_.reset();
  socket_.reset();
}

void Server::accept_some() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      std::string peer = peer_name(socket.get());
      door_.admit(std::move(socket), std::move(peer));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return;
    log::warn("ssh: cannot accept: {}; trying again", strerror(errno));
    watch_->stop_reading();
    accept_again_.start(kAcceptPause, [this] {
      watch_->on_readable([this] { accept_some(); });
    });
    return;
  }
}

// The peers without a login that are old enough: the oldest of the address that
// has the most; end(): none.
std::list<Server::Child>::iterator Server::find_victim(bool keys_agreed) {
  const auto limit = Clock::now() - kSafeAge;
  const auto may_go = [&](const Child& child) {
    return !child.authenticated && !child.proven &&
           child.keys_agreed == keys_agreed && child.born < limit;
  };
  std::map<std::string, size_t> of_source;
  for (const Child& child : children_) {
    if (may_go(child)) ++of_source[source_of(child.peer)];
  }
  const auto busiest = std::max_element(
      of_source.begin(), of_source.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  return std::find_if(children_.begin(), children_.end(), [&](const Child& c) {
    return may_go(c) && source_of(c.peer) == busiest->first;
  });
}

size_t Server::strangers() const {
  return static_cast<size_t>(
      std::count_if(children_.begin(), children_.end(), [](const Child& child) {
        return !child.authenticated && !child.proven;
      }));
}

// A flood must not keep the launcher out: one peer loses its place, first those
// without a key exchange. The connection stays open unserved. False: all are
// too young.
bool Server::make_room() {
  if (strangers() < options_.max_unauthenticated) return true;
  auto victim = children_.end();
  for (bool settled = false; !settled;) {
    victim = find_victim(false);
    if (victim == children_.end()) victim = find_victim(true);
    if (victim == children_.end()) return false;
    // It may have sent a message that this loop has not read yet, such as a
    // login.
    const bool agreed = victim->keys_agreed;
    read_link(victim->id);
    read_link(victim->id);
    settled = !victim->authenticated && victim->keys_agreed == agreed;
  }
  turn_out(*victim);
  return true;
}

void Server::turn_out(Child& child) {
  write_held(child);
  audit_.write_limited(record("gave-way", child), Clock::now());
  child.asked = true;  // no second record of its end
  const pid_t pid = child.pid;
  ::kill(pid, SIGKILL);
  reaper_.watch(pid, [this, pid](const ChildExit&) { leaving_.erase(pid); });
  leaving_.insert(pid);
  door_.hold(std::move(child.socket), child.peer);
  child_ended(child.id);
}

bool Server::may_have_child() {
  return leaving_.size() < kMaxLeaving && pace_.may_start(Clock::now()) &&
         make_room();
}

void Server::serve(Visitor visitor) {
  if (visitor.proven || (ready_.empty() && may_have_child())) {
    return start_child(std::move(visitor));
  }
  ready_.push(std::move(visitor), Clock::now());
  if (!ready_timer_.pending()) serve_waiting();
}

void Server::serve_waiting() {
  ready_.drop_before(Clock::now() - options_.door_timeout);
  while (!ready_.empty() && may_have_child()) {
    start_child(std::move(*ready_.pop()));
  }
  if (ready_.empty()) return;
  ready_timer_.start(kReadyPause, [this] { serve_waiting(); });
}

// A peer that has not logged in never counts against those that have.
bool Server::may_start(const std::string& peer) {
  const size_t logged_in = children_.size() - strangers();
  if (logged_in < options_.max_connections) return true;
  audit_.write_limited(AuditRecord("turned-away")
                           .text("peer", peer)
                           .number("sessions", static_cast<int64_t>(logged_in)),
                       Clock::now());
  return false;
}

void Server::start_child(Visitor visitor) {
  auto& [socket, peer, nonce, proven] = visitor;
  if (!may_start(peer)) return;
  auto link = make_socketpair(SOCK_SEQPACKET);
  if (!link) {
    log::warn("ssh: {} turned away: {}", peer, link.error().text());
    return;
  }
  ConnectionOptions options;
  options.keys = &keys_.current();
  options.peer = peer;
  options.nonce = nonce;
  options.auth_timeout = options_.auth_timeout;
  options.fips = options_.fips;
  options.proven = proven;
  if (!proven) pace_.count(Clock::now());
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    run_child(std::move(socket), std::move(link->write), parent, options);
  }
  if (pid < 0) {
    log::warn("ssh: {} turned away: cannot fork: {}", peer, strerror(errno));
    return;
  }
  Child child;
  child.id = next_id_++;
  child.born = Clock::now();
  child.pid = pid;
  child.proven = proven;
  child.peer = std::move(peer);
  child.link = std::move(link->read);
  child.socket = std::move(socket);
  adopt_child(std::move(child));
}

void Server::adopt_child(Child child) {
  const ConnectionId id = child.id;
  const pid_t pid = child.pid;
  if (is_loopback(child.peer)) {
    child.held.push_back(record("accept", child));
  } else {
    audit_.write_limited(record("accept", child), Clock::now());
  }
  set_nonblocking(child.link.get());
  child.watch = std::make_unique<FdWatch>(loop_, child.link.get());
  child.watch->on_readable([this, id] { read_link(id); });
  child.deadline = std::make_unique<Timer>(loop_);
  child.deadline->start(2 * options_.auth_timeout + kDeadlineSlack,
                        [pid] { ::kill(pid, SIGKILL); });
  children_.push_back(std::move(child));
  reaper_.watch(pid, [this, id](const ChildExit&) { child_ended(id); });
}

AuditRecord Server::record(std::string_view event, const Child& child) const {
  AuditRecord out(event);
  out.number("session", static_cast<int64_t>(child.id));
  out.text("peer", child.peer);
  if (!child.key.empty()) out.text("key", child.key);
  return out;
}

Server::Child* Server::find(ConnectionId id) {
  const auto child = std::find_if(children_.begin(), children_.end(),
                                  [id](const Child& c) { return c.id == id; });
  return child == children_.end() ? nullptr : &*child;
}

bool Server::read_link(ConnectionId id) {
  Child* child = find(id);
  if (child == nullptr) return false;
  auto message = receive_with_fds(child->link.get(), kMaxLinkMessage);
  if (!message && message.error().code == "again") return false;
  if (!message || message->eof) {
    child->watch->stop_reading();  // it is ending; the reaper reports the rest
    return false;
  }
  const auto request = decode_request(message->bytes);
  if (!request) {
    log::error("ssh: the connection child of {} sent nonsense and is killed",
               child->peer);
    child->watch->stop_reading();
    if (!child->gone) ::kill(child->pid, SIGKILL);
    return false;
  }
  handle(*child, *request);
  return true;
}

void Server::handle(Child& child, const LinkRequest& request) {
  if (const auto* who = std::get_if<Authenticated>(&request)) {
    return logged_in(child, *who);
  }
  if (const auto* denied = std::get_if<Denied>(&request)) {
    if (child.authenticated || child.asked) return;
    write_held(child);
    child.asked = true;  // one such record a connection
    audit_.write_limited(
        record("auth", child)
            .text("result", "refused")
            .text("user", printable(denied->user, 32))
            .text("offered", printable(denied->fingerprint, 64)),
        Clock::now());
    return;
  }
  if (std::holds_alternative<KeysAgreed>(request)) {
    child.keys_agreed = true;
    return;
  }
  if (!child.authenticated) return;
  if (const auto* broken = std::get_if<Broken>(&request)) {
    write_held(child);
    audit_.write(
        record("broken", child).text("why", printable(broken->reason, 200)));
    return;
  }
  if (const auto* unserved = std::get_if<Unserved>(&request)) {
    if (++child.unserved > kMaxUnserved) return;
    write_held(child);
    audit_.write(record("refused", child)
                     .text("why", printable(unserved->what, 100) +
                                      ": there are commands and nothing else"));
    return;
  }
  if (child.gone) return;
  if (const auto* exec = std::get_if<ExecRequest>(&request)) {
    handle_exec(child, *exec);
  } else if (events_.on_signal) {
    events_.on_signal(child.id, std::get<SignalProgram>(request).number);
  }
}

void Server::logged_in(Child& child, const Authenticated& who) {
  if (child.authenticated) return;
  child.authenticated = true;
  child.deadline.reset();
  child.socket.reset();
  child.key = printable(who.fingerprint, 64);
  child.is_kubelets = who.user == kProbeUser;
  AuditRecord accepted = record("auth", child)
                             .text("result", "accepted")
                             .text("user", printable(who.user, 32));
  if (child.held.empty()) return audit_.write(accepted);
  child.held.push_back(std::move(accepted));
}

void Server::write_held(Child& child) {
  for (const AuditRecord& one : child.held) {
    audit_.write_limited(one, Clock::now());
  }
  child.held.clear();
}

void Server::handle_exec(Child& child, const ExecRequest& request) {
  const int link = child.link.get();
  if (child.asked) return;  // one command per connection
  child.asked = true;
  auto started = events_.on_exec(child.id, request);
  if (!started) {
    write_held(child);
    const std::string why = started.error().text();
    audit_.write(record("refused", child).text("why", printable(why, 400)));
    (void)send_with_fds(link, encode(LinkReply(ProgramRefused{why})), {});
    return;
  }
  child.started = Clock::now();
  child.is_probe = started->kind == "probe" && !child.held.empty();
  if (!child.is_probe) {
    write_held(child);
    AuditRecord start = record("start", child);
    start.text("kind", started->kind).number("pid", started->pid);
    if (!started->shown.empty()) start.text("command", started->shown);
    audit_.write(start);
  }
  const int fds[] = {started->pipes.stdin_write.get(),
                     started->pipes.stdout_read.get(),
                     started->pipes.stderr_read.get()};
  (void)send_with_fds(link, encode(LinkReply(ProgramStarted{})), fds);
}

// A kubelet probes every few seconds while the pod lives: if that ends well
// again and again, one record in ten minutes counts them.
bool Server::is_one_of_many(const Child& child, int wait_status) {
  if (!child.is_probe || !child.is_kubelets) return false;
  const auto now = Clock::now();
  const bool told = probe_told_ != Clock::time_point{};
  if (wait_status == 0 && told && now - probe_told_ < kProbeRecords) {
    ++quiet_probes_;
    return true;
  }
  probe_told_ = wait_status == 0 ? now : Clock::time_point{};
  return false;
}

void Server::report_exit(ConnectionId connection, int wait_status) {
  Child* child = find(connection);
  const bool quiet = child != nullptr && is_one_of_many(*child, wait_status);
  AuditRecord end("exit");
  if (child != nullptr) {
    child->held.clear();
    end = record(child->is_probe ? "probe" : "exit", *child);
    if (child->is_probe && child->is_kubelets && !quiet) {
      end.number("quiet", std::exchange(quiet_probes_, 0));
    }
    child->is_probe = false;
    const std::chrono::duration<double, std::milli> ran =
        Clock::now() - child->started;
    end.number("milliseconds", static_cast<int64_t>(ran.count()));
  } else {
    end.number("session", static_cast<int64_t>(connection));
  }
  if (WIFSIGNALED(wait_status)) {
    end.number("signal", WTERMSIG(wait_status));
  } else {
    end.number("status", WEXITSTATUS(wait_status));
  }
  if (!quiet) audit_.write(end);
  if (child == nullptr) return;
  (void)send_with_fds(child->link.get(),
                      encode(LinkReply(ProgramEnded{wait_status})), {});
  child->deadline = std::make_unique<Timer>(loop_);
  end_if_stopped(connection);
}

// A stopped child (SIGSTOP) never ends its session.
void Server::end_if_stopped(ConnectionId connection) {
  Child* child = find(connection);
  if (child == nullptr || !child->deadline) return;
  child->deadline->start(kStoppedLook, [this, connection] {
    Child* const late = find(connection);
    if (late == nullptr) return;
    if (process_state(late->pid) == 'T') ::kill(late->pid, SIGKILL);
    end_if_stopped(connection);
  });
}

void Server::child_ended(ConnectionId id) {
  const auto child = std::find_if(children_.begin(), children_.end(),
                                  [id](const Child& c) { return c.id == id; });
  if (child == children_.end()) return;
  // The peer may have come and gone while we were busy: its record is still
  // due.
  child->gone = true;
  for (int i = 0; i < kLastWords && read_link(id); ++i) {
  }
  child->watch.reset();
  if (child->is_probe) {
    audit_.write(
        record("probe", *child).text("why", "the session ended first"));
    child->held.clear();
  }
  write_held(*child);
  if (!child->authenticated && !child->asked) {
    audit_.write_limited(
        record("auth", *child)
            .text("result", "refused")
            .text("why", child->keys_agreed
                             ? "it left without a login"
                             : "it left before the keys were agreed"),
        Clock::now());
  }
  children_.erase(child);
  if (events_.on_closed) events_.on_closed(id);
}

}  // namespace muster
