// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/audit.h"

#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "catch.h"

using namespace muster;

namespace {

struct Reader {
  Pipe pipe = std::move(*make_pipe());
  AuditLog log{AuditOptions{pipe.write.get(), true, "SHA256:x", "pod-0"}};
  std::string lines() {
    set_nonblocking(pipe.read.get());
    std::string out(1 << 16, '\0');
    const ssize_t n = ::read(pipe.read.get(), out.data(), out.size());
    out.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return out;
  }
};

}  // namespace

TEST_CASE("a record is one line of JSON, whatever is in it") {
  Reader reader;
  reader.log.write(
      AuditRecord("auth").text("user", "a\"b\n\xff").number("session", 7));
  const std::string line = reader.lines();
  CHECK(line.find('\n') == line.size() - 1);
  CHECK(
      line.find(R"("audit":"auth","seq":1,"host":"pod-0","job":"SHA256:x")") !=
      std::string::npos);
  CHECK(line.find(R"("user":"a\"b\n)") != std::string::npos);
  CHECK(line.find(R"("session":7})") != std::string::npos);
}

TEST_CASE("in a log in text a record is one line of text") {
  Reader reader;
  AuditLog log{AuditOptions{reader.pipe.write.get(), false, "SHA256:x", "p"}};
  log.write(AuditRecord("start")
                .number("session", 7)
                .text("kind", "any")
                .text("command", "sh -c \"a\"\nmuster: audit: auth"));
  CHECK(reader.lines() ==
        "muster: audit: start seq=1 session=7 kind=any "
        R"(command="sh -c \"a\"\nmuster: audit: auth")"
        "\n");
  log.write(AuditRecord("auth").text("user", "a\nb").text("why", ""));
  CHECK(reader.lines() == "muster: audit: auth seq=2 user=a?b why=\"\"\n");
}

TEST_CASE("strangers get a burst and then one record a second; it is counted") {
  Reader reader;
  const auto begin = Clock::now();
  for (int i = 0; i < 1000; ++i) {
    reader.log.write_limited(AuditRecord("accept"), begin);
  }
  CHECK(split(reader.lines(), '\n').size() == 21);  // 20 lines
  CHECK(reader.log.left_out() == 980);
  reader.log.write_limited(AuditRecord("accept"),
                           begin + std::chrono::seconds(1));
  CHECK(reader.lines().find("\"left_out\":980") != std::string::npos);
  CHECK(reader.log.left_out() == 0);
  reader.log.write(AuditRecord("start"));  // always
  CHECK_FALSE(reader.lines().empty());
}

TEST_CASE("a reader that stalls costs records, not time") {
  Reader reader;
  const auto begin = Clock::now();
  for (int i = 0; i < 3000; ++i) reader.log.write(AuditRecord("start"));
  CHECK(Clock::now() - begin < std::chrono::seconds(5));
  CHECK(reader.log.left_out() > 0);
}
