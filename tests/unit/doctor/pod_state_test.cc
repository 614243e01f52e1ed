// SPDX-License-Identifier: Apache-2.0
// What doctor reads, from recorded text and from this machine.
#include "doctor/pod_state.h"

#include <stdlib.h>
#include <unistd.h>

#include "catch.h"

using namespace muster;

TEST_CASE("only listening ports of /proc/net/tcp count") {
  const std::string text =
      "  sl  local_address rem_address   st tx_queue rx_queue\n"
      "   0: 00000000:3AAD 00000000:0000 0A 00000000:00000000\n"
      "   1: 0100007F:08AE 0100007F:C001 01 00000000:00000000\n"
      "   2: 00000000000000000000000000000000:08AE 0000:0000 0A 0:0\n"
      "garbage\n";
  CHECK(listening_ports(text) == std::set<int>{15021, 2222});
  CHECK(listening_ports("").empty());
}

TEST_CASE("endpoints of object stores as clients write them") {
  std::string host;
  int port = 0;
  REQUIRE(parse_endpoint("http://minio.svc:9000/bucket", host, port));
  CHECK(host == "minio.svc");
  CHECK(port == 9000);
  REQUIRE(parse_endpoint("HTTPS://u:p@s3.example", host, port));
  CHECK(host == "s3.example");
  CHECK(port == 443);
  REQUIRE(parse_endpoint("http://[fd00::1]:80", host, port));
  CHECK(host == "fd00::1");
  REQUIRE(parse_endpoint("http://[fd00::1]", host, port));
  CHECK(host == "fd00::1");
  CHECK(port == 80);
  for (const char* bad : {"", "minio:9000", "ftp://x", "http://x:0",
                          "http://x:99999", "http://"}) {
    CHECK_FALSE(parse_endpoint(bad, host, port));
  }
}

TEST_CASE("a directory is tried for real and left as it was") {
  char name[] = "/tmp/doctor-test-XXXXXX";
  REQUIRE(::mkdtemp(name) != nullptr);
  const PathState good = check_path(name);
  CHECK(good.exists);
  CHECK(good.writable);
  CHECK(good.free_bytes > 0);
  CHECK(good.write_ms >= 0);
  CHECK_FALSE(good.filesystem.empty());
  CHECK(::rmdir(name) == 0);  // empty again
  CHECK_FALSE(check_path(name).exists);
  CHECK_FALSE(check_path("/etc/passwd").exists);
  const PathState read_only = check_path("/proc");
  CHECK(read_only.exists);
  CHECK_FALSE(read_only.writable);
  CHECK_FALSE(read_only.reason.empty());
}

TEST_CASE("programs are looked up, and linked without being run") {
  const ProgramState good = check_program("true", "/usr/bin:/bin");
  CHECK_FALSE(good.path.empty());
  CHECK(good.missing.empty());
  CHECK(check_program("no-such-program", "/usr/bin").path.empty());
}
