// SPDX-License-Identifier: Apache-2.0
// Ownership of descriptors, whole files, descriptors over a socket.
#include "base/fd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "catch.h"
#include "temporary_directory.h"

namespace muster {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST_CASE("one owner closes once") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const int number = pipe->read.get();
  CHECK((::fcntl(number, F_GETFD) & FD_CLOEXEC) != 0);
  {
    UniqueFd moved = std::move(pipe->read);
    CHECK_FALSE(pipe->read);
    CHECK(is_open(number));
    moved.reset(moved.get());  // onto itself: stays open
    CHECK(is_open(number));
  }
  CHECK_FALSE(is_open(number));
}

TEST_CASE("files are read whole or not at all") {
  TemporaryDirectory directory;
  directory.write("f", std::string(100, 'x'));
  CHECK(read_file(directory.at("f"), 100) == std::string(100, 'x'));
  CHECK(read_file(directory.at("f"), 99).error().code == "file_too_large");
  CHECK(read_file(directory.at("none")).error().code == "file_unreadable");
  CHECK(read_file(directory.path()).error().code == "file_unreadable");
}

TEST_CASE("a pipe in place of a file is not waited for without an end") {
  TemporaryDirectory directory;
  const std::string path = directory.at("pipe");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(read_file(path) == "");  // nobody writes to it
  // Held by this end, so that the writer need not wait for the reader.
  const UniqueFd both(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  std::thread late([&path] {
    const UniqueFd end(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    CHECK(write_all(end.get(), "w-0\n"));
  });
  const auto text = read_file(path, 3);  // what comes late is seen
  late.join();
  REQUIRE_FALSE(text);
  CHECK(text.error().code == "file_too_large");
}

TEST_CASE("a file is replaced, never half written") {
  TemporaryDirectory directory;
  const std::string path = directory.at("f");
  REQUIRE(write_file_atomically(path, "one"));
  REQUIRE(write_file_atomically(path, "two", 0600));
  CHECK(read_file(path) == "two");
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  CHECK_FALSE(read_file(path + ".tmp"));
  CHECK_FALSE(write_file_atomically(directory.at("no/f"), "x"));
}

TEST_CASE("a link in place of the new file is not written through") {
  TemporaryDirectory directory;
  directory.write("victim", "precious");
  REQUIRE(::symlink(directory.at("victim").c_str(),
                    directory.at("f.tmp").c_str()) == 0);
  CHECK(write_file_atomically(directory.at("f"), "x"));
  CHECK(read_file(directory.at("f")) == "x");
  CHECK(read_file(directory.at("victim")) == "precious");
}

// As somebody's terminal or pipe is whom it shares the description with.
TEST_CASE("a non-blocking descriptor is written to the last byte") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  set_nonblocking(pipe->write.get());
  const std::string text(1 << 20, 'x');
  size_t read = 0;
  std::thread reader([&] {
    std::array<char, 8192> bytes;
    ssize_t n = 0;
    while ((n = ::read(pipe->read.get(), bytes.data(), bytes.size())) > 0) {
      read += static_cast<size_t>(n);
    }
  });
  const auto written = write_all(pipe->write.get(), text);
  pipe->write.reset();
  reader.join();
  CHECK(written);
  CHECK(read == text.size());
}

TEST_CASE("descriptors travel over a socket") {
  auto pair = make_socketpair(SOCK_SEQPACKET);
  auto pipe = make_pipe();
  REQUIRE(pair);
  REQUIRE(pipe);
  const std::array fds = {pipe->read.get(), pipe->write.get()};
  REQUIRE(send_with_fds(pair->write.get(), "hello", fds));
  auto received = receive_with_fds(pair->read.get());
  REQUIRE(received);
  CHECK(received->bytes == "hello");
  REQUIRE(received->fds.size() == 2);
  CHECK((::fcntl(received->fds[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  REQUIRE(write_all(received->fds[1].get(), "x"));
  char byte = 0;
  CHECK(::read(pipe->read.get(), &byte, 1) == 1);
  CHECK(byte == 'x');
}

TEST_CASE("more descriptors than fit are refused") {
  auto pair = make_socketpair(SOCK_SEQPACKET);
  REQUIRE(pair);
  const std::vector<int> fds(9, 0);
  const Status sent = send_with_fds(pair->write.get(), "x", fds);
  REQUIRE_FALSE(sent);
  CHECK(sent.error().code == "resources");
}

TEST_CASE("an empty socket says again, a closed one eof") {
  auto pair = make_socketpair(SOCK_STREAM);
  REQUIRE(pair);
  set_nonblocking(pair->read.get());
  CHECK(receive_with_fds(pair->read.get()).error().code == "again");
  pair->write.reset();
  CHECK(receive_with_fds(pair->read.get())->eof);
  set_nonblocking(pair->read.get(), false);
  CHECK((::fcntl(pair->read.get(), F_GETFL) & O_NONBLOCK) == 0);
}

}  // namespace
}  // namespace muster
