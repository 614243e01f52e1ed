// SPDX-License-Identifier: Apache-2.0
// Client and server against each other, over TCP, as in a pod.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "catch.h"
#include "sshd-lite/client.h"
#include "sshd-lite/connection.h"
#include "sshd-lite/door_proof.h"
#include "sshd-lite/keys.h"
#include "sshd-lite/link.h"
#include "test_server.h"

using namespace muster;
using muster::test::connect_to;
using muster::test::KeyDirectory;
using muster::test::TestServer;

namespace {

struct Session {
  std::unique_ptr<SshClient> client;
  std::string out;
  std::string err;
  std::optional<int> status;
  std::optional<Error> error;
  bool opened = false;
  std::function<void()> on_bytes = [] {};
};

struct Runner {
  // As every program does that logs in: a server may leave at any time.
  Runner() { ::signal(SIGPIPE, SIG_IGN); }

  Loop loop;
  Timer deadline{loop};
  size_t running = 0;
  bool timed_out = false;

  void start(Session& session, int port, SshClientOptions options) {
    start(session, UniqueFd(connect_to(port)), std::move(options));
  }
  void start(Session& session, UniqueFd socket, SshClientOptions options) {
    ++running;
    SshClientEvents events;
    events.on_open = [&session] { session.opened = true; };
    events.on_stdout = [&session](std::string_view b) {
      session.out += b;
      session.on_bytes();
    };
    events.on_stderr = [&session](std::string_view b) { session.err += b; };
    events.on_failed = [this, &session](Error error) {
      session.error = std::move(error);
      done();
    };
    events.on_exit = [this, &session](int status) {
      session.status = status;
      done();
    };
    session.client = std::make_unique<SshClient>(
        loop, std::move(socket), std::move(options), std::move(events));
  }
  void done() {
    if (--running == 0) loop.stop();
  }
  void run(int seconds = 200) {
    deadline.start(Milliseconds(seconds * 1000), [this] {
      timed_out = true;
      loop.stop();
    });
    loop.run();
    CHECK_FALSE(timed_out);
  }
};

SshClientOptions options_for(const SshKey& key, std::string command) {
  SshClientOptions options;
  options.user = "anyone";
  options.identity = &key;
  options.expected_host_key = &key;
  options.command = std::move(command);
  // A full machine is no reason to fail.
  options.banner_timeout = options.handshake_timeout = Milliseconds(100000);
  return options;
}

uint64_t checksum(std::string_view bytes) {
  uint64_t hash = 14695981039346656037ULL;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 1099511628211;
  return hash;
}

std::string noise(size_t size, uint32_t seed) {
  std::string out(size, '\0');
  for (char& c : out) {
    seed = seed * 1664525 + 1013904223;
    c = static_cast<char>(seed >> 24);
  }
  return out;
}

// One session from start to end; for tests of a single thing.
Session run_one(int port, SshClientOptions options, bool eof = true) {
  Runner runner;
  Session session;
  runner.start(session, port, std::move(options));
  if (eof) session.client->send_eof();
  runner.run();
  session.client.reset();
  return session;
}

// The kinds of what a connection process says to pid 1 until it is refused its
// command.
std::string told_to_pid_1(const JobKeys& keys, bool proven) {
  auto wire = make_socketpair(SOCK_STREAM);
  auto link = make_socketpair(SOCK_SEQPACKET);
  const pid_t pid = ::fork();
  if (pid == 0) {
    wire->write.reset();
    (void)write_all(wire->read.get(), server_version_line(""));
    ConnectionOptions options;
    options.keys = &keys;
    options.proven = proven;
    serve_connection(std::move(wire->read), std::move(link->read), options);
    ::_exit(0);
  }
  wire->read.reset();
  link->read.reset();
  Runner runner;
  Session session;
  std::string told;
  FdWatch watch(runner.loop, link->write.get());
  watch.on_readable([&] {
    const auto message = receive_with_fds(link->write.get(), kMaxLinkMessage);
    if (!message || message->eof) return watch.stop_reading();
    told += message->bytes.front();
    if (told.back() != 'E') return;
    (void)send_with_fds(link->write.get(),
                        encode(LinkReply(ProgramRefused{"no"})), {});
  });
  runner.start(session, std::move(wire->write),
               options_for(keys.private_key, "true"));
  runner.run();
  CHECK(session.status == 255);
  session.client.reset();
  ::waitpid(pid, nullptr, 0);
  return told;
}

}  // namespace

TEST_CASE("32 clients move 1 MiB each way and get their exit status") {
  const auto type = GENERATE(KeyType::kEcdsaP521, KeyType::kEd25519);
  const auto key = SshKey::generate(type);
  REQUIRE(key);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path());
  constexpr size_t kClients = 32;
  Runner runner;  // before the sessions: its loop outlives them
  std::vector<Session> sessions(kClients);
  std::vector<std::string> sent(kClients);
  for (size_t i = 0; i < kClients; ++i) {  // before a server waits for anybody
    sent[i] = noise(1 << 20, static_cast<uint32_t>(i));
  }
  for (size_t i = 0; i < kClients; ++i) {
    runner.start(
        sessions[i], server.port(),
        options_for(*key, "cat; echo done >&2; exit " + std::to_string(i)));
    sessions[i].client->send(sent[i]);
    sessions[i].client->send_eof();
  }
  runner.run();
  for (size_t i = 0; i < kClients; ++i) {
    INFO("client " << i);
    if (sessions[i].error) FAIL(sessions[i].error->text());
    CHECK(sessions[i].opened);
    CHECK(checksum(sessions[i].out) == checksum(sent[i]));
    CHECK(sessions[i].err == "done\n");
    CHECK(sessions[i].status == static_cast<int>(i));
  }
}

TEST_CASE("an RSA key works on both sides") {
  const auto text = read_file(std::string(TEST_KEYS) + "/rsa3072.pem");
  const auto key = SshKey::parse_private(*text, "rsa3072.pem");
  REQUIRE(key);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path());
  const auto session = run_one(server.port(), options_for(*key, "echo rsa"));
  if (session.error) FAIL(session.error->text());
  CHECK(session.out == "rsa\n");
}

// A server on a machine that is full says each word late.
TEST_CASE("an RSA key works with a server whose bytes come slowly") {
  const auto text = read_file(std::string(TEST_KEYS) + "/rsa3072.pem");
  const auto key = SshKey::parse_private(*text, "rsa3072.pem");
  REQUIRE(key);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path());
  auto pair = make_socketpair(SOCK_STREAM);
  REQUIRE(pair);
  const UniqueFd upstream(connect_to(server.port()));
  const int near = pair->read.get();
  std::thread slow([near, far = upstream.get()] {
    char bytes[32];
    pollfd both[] = {{near, POLLIN, 0}, {far, POLLIN, 0}};
    while (::poll(both, 2, 10'000) > 0) {
      for (int i = 0; i < 2; ++i) {
        if (both[i].revents == 0) continue;
        const ssize_t n = ::read(both[i].fd, bytes, sizeof bytes);
        if (n <= 0) return void(::shutdown(near, SHUT_RDWR));
        if (i == 1) ::usleep(15'000);
        (void)!::write(both[1 - i].fd, bytes, static_cast<size_t>(n));
      }
    }
  });
  Runner runner;
  Session session;
  runner.start(session, std::move(pair->write), options_for(*key, "echo rsa"));
  session.client->send_eof();
  runner.run();
  session.client.reset();
  slow.join();
  if (session.error) FAIL(session.error->text());
  CHECK(session.out == "rsa\n");
}

TEST_CASE("death by a signal arrives as 128 + N") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path());
  const int number = GENERATE(SIGKILL, SIGSEGV, SIGBUS, SIGTERM);
  const auto session = run_one(
      server.port(), options_for(*key, "ulimit -c 0; echo last words; kill -" +
                                           std::to_string(number) + " $$"));
  CHECK(session.out == "last words\n");
  CHECK(session.status == 128 + number);
}

TEST_CASE("output written just before the end is not lost") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path());
  const auto session =
      run_one(server.port(),
              options_for(*key,
                          "head -c 3000000 /dev/zero; head -c 100000 /dev/zero "
                          ">&2; exit 7"));
  CHECK(session.out.size() == 3000000);
  CHECK(session.err.size() == 100000);
  CHECK(session.status == 7);
}

TEST_CASE("a background process that holds stdout does not hold the session") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path());
  const auto begin = Clock::now();
  const auto session =
      run_one(server.port(), options_for(*key, "sleep 20 & echo up; exit 3"));
  CHECK(session.out == "up\n");
  CHECK(session.status == 3);
  CHECK(Clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("a client that goes away closes the program's stdin") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path());
  const std::string mark = keys.path() + "/ended";
  Runner runner;
  Session session;
  runner.start(session, server.port(),
               options_for(*key, "cat >/dev/null; echo x > " + mark));
  Timer poll(runner.loop);
  int rounds = 0;
  std::function<void()> check = [&] {
    if (session.opened) session.client.reset();
    if (::access(mark.c_str(), F_OK) == 0 || ++rounds > 1200) {
      return runner.loop.stop();
    }
    poll.start(Milliseconds(50), check);
  };
  poll.start(Milliseconds(50), check);
  runner.run();
  CHECK(::access(mark.c_str(), F_OK) == 0);
}

TEST_CASE("a program that does not read stops the sender, not the loop") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path());
  Runner runner;
  Session session;
  const std::string go = keys.path() + "/go";
  runner.start(
      session, server.port(),
      options_for(*key, "until [ -e " + go + " ]; do sleep 0.05; done; wc -c"));
  session.client->send(std::string(8 << 20, 'x'));
  session.client->send_eof();
  Timer look(runner.loop);
  size_t waiting = 0;
  look.start(Milliseconds(600), [&] {
    waiting = session.client->queued();
    REQUIRE(write_file_atomically(go, ""));
  });
  runner.run();
  CHECK(waiting > (4U << 20));  // window 1.25 MiB, pipes and buffers
  CHECK(session.out == "8388608\n");
  CHECK(session.status == 0);
}

TEST_CASE("a program that reads slowly is not read ahead of") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path());
  Runner runner;
  Session session;
  const std::string go = keys.path() + "/go";
  runner.start(session, server.port(),
               options_for(*key,
                           "i=0; while [ $i -lt 40 ]; do"
                           " head -c 32768 >/dev/null; i=$((i+1)); sleep 0.02;"
                           " done; echo look; until [ -e " +
                               go + " ]; do sleep 0.05; done; wc -c"));
  constexpr size_t kAll = 64U << 20;
  session.client->send(std::string(kAll, 'x'));
  session.client->send_eof();
  Timer look(runner.loop);
  size_t waiting = 0;
  std::function<void()> wait_for_word = [&] {
    if (session.out.empty()) {
      look.start(Milliseconds(20), wait_for_word);
    } else {
      look.start(Milliseconds(500), [&] {
        waiting = session.client->queued();
        REQUIRE(write_file_atomically(go, ""));
      });
    }
  };
  wait_for_word();
  runner.run();
  // 1.25 MiB were read; two windows, pipes and buffers wait on the way.
  CHECK(waiting > kAll - (6U << 20));
  CHECK(session.out == "look\n65798144\n");
  CHECK(session.status == 0);
}

TEST_CASE("the failures are told apart") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const auto other = SshKey::generate(KeyType::kEd25519);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path());

  SECTION("another host key") {
    auto options = options_for(*key, "true");
    options.expected_host_key = &*other;
    const auto session = run_one(server.port(), std::move(options));
    REQUIRE(session.error);
    CHECK(session.error->code == "ssh_hostkey");
    CHECK(session.error->text().find(key->fingerprint()) != std::string::npos);
    CHECK(session.error->text().find(other->fingerprint()) !=
          std::string::npos);
  }
  SECTION("a key that is not authorized") {
    auto options = options_for(*other, "true");
    options.expected_host_key = &*key;
    const auto session = run_one(server.port(), std::move(options));
    REQUIRE(session.error);
    CHECK(session.error->code == "ssh_auth");
  }
  SECTION("a command that is refused, in few words or many") {
    for (const char* command : {"refuse me", "refuse me at length"}) {
      const auto session = run_one(server.port(), options_for(*key, command));
      CHECK_FALSE(session.error);
      CHECK(session.status == 255);
      const std::string text = session.err;
      INFO(text);
      CHECK(text.find("as asked") != std::string::npos);
      // Nobody asked for an agent.
      CHECK(text.find("agent") == std::string::npos);
    }
  }
  SECTION("a server that dies under the session") {
    Runner runner;
    Session session;
    runner.start(session, server.port(), options_for(*key, "sleep 30"));
    Timer later(runner.loop);
    std::function<void()> kill_it = [&] {
      if (!session.opened) return later.start(Milliseconds(20), kill_it);
      ::kill(server.pid(), SIGKILL);
    };
    kill_it();
    runner.run();
    REQUIRE(session.error);
    CHECK(session.error->code == "ssh_lost");
  }
}

namespace {

// A listener that says `text` to whoever connects, and then maybe hangs up.
struct Stranger {
  int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port = 0;
  Stranger() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    (void)::bind(listener, reinterpret_cast<sockaddr*>(&address), size);
    (void)::listen(listener, 5);
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
  }
  ~Stranger() { ::close(listener); }
};

}  // namespace

TEST_CASE("servers that are not SSH servers are named") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const Stranger stranger;
  Runner runner;
  Session session;
  const auto start = [&](Milliseconds banner_timeout) {
    auto options = options_for(*key, "true");
    options.banner_timeout = banner_timeout;
    runner.start(session, stranger.port, std::move(options));
    return ::accept(stranger.listener, nullptr, nullptr);
  };
  constexpr Milliseconds kLong{60'000};  // the answer is there before
  int peer = -1;
  std::string expected;
  SECTION("silence") {
    peer = start(Milliseconds(300));
    expected = "ssh_banner";
  }
  SECTION("HTTP") {
    peer = start(kLong);
    expected = "ssh_foreign";
    CHECK(::write(peer, "HTTP/1.1 400 \x1b[31m", 18) == 18);
  }
  SECTION("hangs up") {
    peer = start(kLong);
    expected = "ssh_closed";
    ::shutdown(peer, SHUT_RDWR);
  }
  SECTION("a banner and then nothing") {
    expected = "ssh_kex";
    auto slow = options_for(*key, "true");
    slow.handshake_timeout = Milliseconds(1000);
    runner.start(session, stranger.port, std::move(slow));
    peer = ::accept(stranger.listener, nullptr, nullptr);
    CHECK(::write(peer, "SSH-2.0-x\r\n", 11) == 11);
  }
  REQUIRE(peer >= 0);
  runner.run();
  ::close(peer);
  REQUIRE(session.error);
  CHECK(session.error->code == expected);
  CHECK(session.error->text().find('\x1b') == std::string::npos);
}

TEST_CASE("half a version line is waited for, without a spin") {
  const auto made = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*made);
  const auto job = find_keys(keys.path());
  REQUIRE(job);
  const Stranger stranger;
  Runner runner;
  Session session;
  auto options = options_for(job->private_key, "true");
  options.handshake_timeout = Milliseconds(1600);
  runner.start(session, stranger.port, std::move(options));
  const UniqueFd peer(::accept(stranger.listener, nullptr, nullptr));
  REQUIRE(::write(peer.get(), "SSH-2.0-", 8) == 8);
  // The client speaks first after a second.
  Timer rest(runner.loop);
  rest.start(Milliseconds(1200),
             [&] { CHECK(::write(peer.get(), "x\r\n", 3) == 3); });
  const auto cpu_ms = [] {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1000 + used.tv_nsec / 1'000'000;
  };
  const auto before = cpu_ms();
  runner.run();
  CHECK(cpu_ms() - before < 300);
  REQUIRE(session.error);
  CHECK(session.error->code == "ssh_kex");
}

TEST_CASE("a connection ends with its program though the client stands still") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path());
  Runner runner;
  Session session;
  // Its end is heard before that of its output, which another one holds.
  runner.start(session, server.port(),
               options_for(*key, "sleep 1; sleep 2 & exit 0"));
  Timer later(runner.loop);
  std::function<void()> stop_at_start = [&] {
    if (session.opened) return runner.loop.stop();
    later.start(Milliseconds(1), stop_at_start);
  };
  stop_at_start();
  runner.run();
  const std::string children = "/proc/" + std::to_string(server.pid()) +
                               "/task/" + std::to_string(server.pid()) +
                               "/children";
  const auto end = Clock::now() + std::chrono::seconds(60);
  const auto has_children = [&children] {
    std::ifstream file(children);
    int one = 0;
    return static_cast<bool>(file >> one);
  };
  while (has_children() && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  CHECK_FALSE(has_children());
}

TEST_CASE("a version line that libssh took is no stranger's") {
  // It may come between our look at what is there and libssh's reading, which
  // a peek offset behind the line makes sure of here.
  const std::string line = "SSH-2.0-x\r\n";
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  auto pair = make_socketpair(SOCK_STREAM);
  REQUIRE(pair);
  const int behind = static_cast<int>(line.size());
  REQUIRE(::setsockopt(pair->write.get(), SOL_SOCKET, SO_PEEK_OFF, &behind,
                       sizeof behind) == 0);
  REQUIRE(::write(pair->read.get(), line.data(), line.size()) == behind);
  Runner runner;
  Session session;
  auto options = options_for(*key, "true");
  options.handshake_timeout = Milliseconds(600);
  runner.start(session, std::move(pair->write), std::move(options));
  Timer later(runner.loop);
  later.start(Milliseconds(200), [&] {
    const std::string packet("\0\0\1\x3c\7\x14 keys", 11);
    CHECK(::write(pair->read.get(), packet.data(), packet.size()) == 11);
  });
  runner.run();
  REQUIRE(session.error);
  CHECK(session.error->code == "ssh_kex");
}

TEST_CASE("a client may be destroyed in each of its callbacks") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path());
  const int where = GENERATE(0, 1, 2, 3);
  Loop loop;
  std::unique_ptr<SshClient> client;
  const auto end = [&] {
    client.reset();
    loop.stop();
  };
  SshClientEvents events;
  if (where == 0) events.on_open = end;
  if (where == 1) events.on_stdout = [&](std::string_view) { end(); };
  if (where == 2) events.on_exit = [&](int) { end(); };
  if (where == 3) {
    events.on_open = [&] { client->send(std::string(2 << 20, 'x')); };
    events.on_drained = end;
  }
  client = std::make_unique<SshClient>(
      loop, UniqueFd(connect_to(server.port())),
      options_for(*key, where == 3 ? "cat >/dev/null" : "echo a; sleep 0.1"),
      std::move(events));
  Timer deadline(loop);
  bool late = false;
  deadline.start(Milliseconds(60000), [&] {
    late = true;
    loop.stop();
  });
  loop.run();
  CHECK_FALSE(late);
  CHECK(client == nullptr);
}

TEST_CASE("silent connections do not keep a client out") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path(), 4, 5000);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 20; ++i) silent.emplace_back(connect_to(server.port()));
  const auto session = run_one(server.port(), options_for(*key, "echo in"));
  CHECK(session.out == "in\n");
  // Who says nothing is turned out at the deadline of logins.
  char byte[64];
  ssize_t n;
  do {
    n = ::read(silent[0].get(), byte, sizeof byte);
  } while (n > 0);
  CHECK(n <= 0);
}

TEST_CASE("a server that greets late is spoken to first, and once") {
  const auto made = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*made);
  const auto job = find_keys(keys.path());
  REQUIRE(job);
  const TestServer server(keys.path());
  Runner runner;
  Session session;
  ::kill(server.pid(), SIGSTOP);
  runner.start(session, server.port(),
               options_for(job->private_key, "echo late"));
  session.client->send_eof();
  Timer later(runner.loop);
  later.start(Milliseconds(1300), [&] { ::kill(server.pid(), SIGCONT); });
  runner.run();
  CHECK_FALSE(session.error);
  CHECK(session.out == "late\n");
}

TEST_CASE("who does not log in in time is turned out") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path(), 64, 300);
  const UniqueFd silent(connect_to(server.port()));
  const auto begin = Clock::now();
  char byte[64];
  while (::read(silent.get(), byte, sizeof byte) > 0) {
  }
  CHECK(Clock::now() - begin < std::chrono::seconds(3));
}

TEST_CASE("a version line that takes its time leaves less for the keys") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key);
  const TestServer server(keys.path(), 64, 4000);
  const UniqueFd slow(connect_to(server.port()));
  const auto begin = Clock::now();
  REQUIRE(write_all(slow.get(), "S"));
  ::usleep(3'000'000);
  REQUIRE(write_all(slow.get(), "SH-2.0-slow\r\n"));
  char bytes[512];
  while (::read(slow.get(), bytes, sizeof bytes) > 0) {
  }
  CHECK(Clock::now() - begin < std::chrono::seconds(6));
}

TEST_CASE("changed keys count from the next connection on") {
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  const auto next = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory keys(*key, "/dev/shm");
  const TestServer server(keys.path());
  CHECK(run_one(server.port(), options_for(*key, "true")).status == 0);
  for (const char* name : {"/id_rsa", "/id_rsa.pub", "/authorized_keys"}) {
    ::unlink((keys.path() + name).c_str());
  }
  const auto write_keys = [&] {
    const KeyDirectory fresh(*next);
    for (const char* name : {"/id_rsa", "/authorized_keys"}) {
      const auto text = read_file(fresh.path() + name);
      REQUIRE(write_file_atomically(keys.path() + name, *text));
    }
  };
  write_keys();
  const auto old = run_one(server.port(), options_for(*key, "true"));
  REQUIRE(old.error);
  CHECK(old.error->code == "ssh_hostkey");
  CHECK(run_one(server.port(), options_for(*next, "true")).status == 0);
}

TEST_CASE("pid 1 hears of agreed keys from whom it may turn out") {
  JobKeys keys;
  keys.private_key = std::move(*SshKey::generate(KeyType::kEcdsaP256));
  keys.authorized.push_back(std::move(*keys.private_key.public_part()));
  CHECK(told_to_pid_1(keys, false) == "KAE");
  CHECK(told_to_pid_1(keys, true) == "AE");
}

TEST_CASE("128 clients with the job key pass strangers who fill all places") {
  const auto key = SshKey::generate(KeyType::kEcdsaP521);
  const KeyDirectory keys(*key);
  const auto job = find_keys(keys.path());
  REQUIRE(job);
  // 128 logins in one process take their time under ASan: nobody hurries.
  const TestServer server(keys.path(), 4, 100000);
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.emplace_back(connect_to(server.port()));
    REQUIRE(write_all(strangers.back().get(), "SSH-2.0-stranger\r\n" +
                                                  std::string(4, '\0') +
                                                  std::string(200, '\x14')));
  }
  Runner runner;
  std::vector<Session> sessions(128);
  for (Session& session : sessions) {
    SshClientOptions options = options_for(job->private_key, "echo hello");
    options.banner_timeout = options.handshake_timeout = Milliseconds(100000);
    runner.start(session, server.port(), std::move(options));
    session.client->send_eof();
  }
  runner.run(150);
  for (Session& session : sessions) {
    if (session.error) FAIL(session.error->text());
    CHECK(session.out == "hello\n");
    CHECK(session.status == 0);
  }
}

// Two bytes at a random distance of some microseconds: the second may come when
// the client has looked at one of its streams and not yet at the other.
TEST_CASE("what comes while a client looks at its streams is not left behind") {
  constexpr size_t kPairs = 4000;
  constexpr uint32_t kFarthestNs = 150'000;
  const auto key = SshKey::generate(KeyType::kEcdsaP256);
  REQUIRE(key);
  const KeyDirectory keys(*key);
  const std::string bell = keys.path() + "/bell";
  REQUIRE(::mkfifo(bell.c_str(), 0600) == 0);
  UniqueFd ring(::open(bell.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(ring);
  const TestServer server(keys.path());
  Runner runner;
  Session session;
  std::atomic<size_t> heard = 0;
  std::atomic<bool> over = false;
  runner.start(session, server.port(), options_for(*key, "exec cat " + bell));
  session.on_bytes = [&] {
    heard = session.out.size();
    if (heard < 2 * kPairs) return;
    runner.done();
  };
  std::thread ringer([&] {
    std::minstd_rand random(1);
    for (size_t pair = 0; pair < kPairs && !over; ++pair) {
      while (heard < 2 * pair && !over) std::this_thread::yield();
      const auto second =
          Clock::now() + std::chrono::nanoseconds(random() % kFarthestNs);
      if (::write(ring.get(), "x", 1) != 1) return;
      while (Clock::now() < second) {
      }
      if (::write(ring.get(), "x", 1) != 1) return;
    }
  });
  runner.run(180);
  over = true;
  ringer.join();
  CHECK(heard == 2 * kPairs);
}
