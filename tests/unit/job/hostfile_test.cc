// SPDX-License-Identifier: Apache-2.0
// Every dialect in and out; every bad line with its place and reason.
#include "job/hostfile.h"

#include "catch.h"

namespace muster {
namespace {

std::vector<HostEntry> hosts_of(std::string_view text) {
  const auto file = parse_hostfile(text, "F");
  if (!file) FAIL(file.error().text());
  return file->hosts;
}

std::string error_of(std::string_view text) {
  const auto file = parse_hostfile(text, "F");
  return file ? "" : file.error().text();
}

std::string code_of(std::string_view text) {
  const auto file = parse_hostfile(text, "F");
  return file ? "" : file.error().code;
}

TEST_CASE("one host in every dialect") {
  struct Row {
    const char* line;
    const char* name;
    int slots;
    bool given;
  };
  const Row rows[] = {
      {"h", "h", 1, false},
      {"h slots=4", "h", 4, true},
      {"h\tslots=4\r", "h", 4, true},
      {"  h  slots = 4  # four", "h", 4, true},
      {"h SLOTS=4 max_slots=8", "h", 4, true},
      {"h max-slots=8 slots=4", "h", 4, true},
      {"h max_slots=3", "h", 3, true},
      {"h:4", "h", 4, true},
      {"h:4 ifname=eth0 binding=rr", "h", 4, true},
      {"h:4:mlx5_0", "h", 4, true},
      {"[fd00::1]:4", "fd00::1", 4, true},
      {"[fd00::1]", "fd00::1", 1, false},
      {"fd00::1", "fd00::1", 1, false},
      {"fd00::1 slots=2", "fd00::1", 2, true},
      {"fe80::1%eth0", "fe80::1%eth0", 1, false},
      {"10.1.2.3:16", "10.1.2.3", 16, true},
      {"user@h:2", "h", 2, true},
      {"j-worker-0.j.ns.svc.cluster.local slots=8",
       "j-worker-0.j.ns.svc.cluster.local", 8, true},
      {"under_score", "under_score", 1, false},
      {"h:65536", "h", 65536, true},
  };
  for (const Row& row : rows) {
    INFO(row.line);
    const auto hosts = hosts_of(row.line);
    REQUIRE(hosts.size() == 1);
    CHECK(hosts[0].name == row.name);
    CHECK(hosts[0].slots == row.slots);
    CHECK(hosts[0].slots_given == row.given);
    CHECK(hosts[0].line == 1);
  }
}

TEST_CASE("the zone of an address is the name of an interface") {
  CHECK(is_ip_address("fe80::1%eth0.100"));
  CHECK_FALSE(is_ip_address("fe80::1%"));
  CHECK_FALSE(is_ip_address("a::%&]:4,s.svco"));  // could not be written again
  CHECK_FALSE(parse_hostfile("a::%&]:4,s.svco", "F"));
}

TEST_CASE("files keep order and line numbers") {
  const auto hosts = hosts_of("# head\r\n\r\nb:2\r\n  \r\na slots=3\nc");
  REQUIRE(hosts.size() == 3);
  CHECK(hosts[0].name == "b");
  CHECK(hosts[0].line == 3);
  CHECK(hosts[1].name == "a");
  CHECK(hosts[1].line == 5);
  CHECK(hosts[2].line == 6);
}

TEST_CASE("repeated bare lines add slots, as in Open MPI") {
  const auto hosts = hosts_of("a\nb\na\na\n");
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0].slots == 3);
  CHECK(hosts[0].slots_given);
  CHECK(hosts[1].slots == 1);
  CHECK_FALSE(hosts[1].slots_given);
}

TEST_CASE("a host with contradicting lines is refused, both lines named") {
  CHECK(error_of("a slots=2\nb\na slots=4\n") ==
        "F:3: bad host entry \"a slots=4\": host a is also in entry 1, and a "
        "slot count is given. Keep one line for the host, with the sum of the "
        "slots.");
  CHECK(code_of("a:2\na:2") == "hostfile_duplicate");
  CHECK(code_of("a\na:2") == "hostfile_duplicate");
  CHECK(code_of("a:2\na") == "hostfile_duplicate");
  CHECK(code_of("a\na\na:2") == "hostfile_duplicate");
}

TEST_CASE("bad counts") {
  CHECK(error_of("x\nh slots=0") ==
        "F:2: bad host entry \"h slots=0\": 0 slots are outside 1 to 65536. "
        "Give each host the number of ranks it may run; remove hosts that run "
        "none.");
  for (const char* line :
       {"h:0", "h:-1", "h slots=-4", "h:65537", "h slots=99999999999999999999",
        "h:4x", "h:", "h slots=", "h slots=four", "h:4 slots=4", "h:1.5",
        "h max_slots=0", "h slots=4 max_slots=2", "[::1]:", "h slots=0x10"}) {
    INFO(line);
    CHECK(code_of(line) == "hostfile_slots");
  }
}

TEST_CASE("garbled lines") {
  for (const std::string& line :
       {std::string("h two words"),  std::string("h slots"),
        std::string("h=4"),          std::string("-np 4"),
        std::string(":4"),           std::string("[fd00::1"),
        std::string("[nonsense]:2"), std::string("[fd00::1]x"),
        std::string("h\x01"),        std::string("h\0", 2),
        std::string("h\x7f"),        std::string("\xff\xfe"),
        std::string("h\xc3\xa4st"),  std::string(".h"),
        std::string("h frobs=3"),    std::string("h,g"),
        std::string("$(rm)"),        std::string("a") + std::string(253, 'b'),
        std::string("user@"),        std::string("1.2.3.4\0x", 9)}) {
    INFO(line);
    CHECK(code_of(line) == "hostfile_syntax");
  }
  CHECK(hosts_of(std::string(253, 'b')).size() == 1);
  const std::string error = error_of(std::string(2000, '\x02'));
  CHECK(error.size() < 300);
  CHECK(error.find('\x02') == std::string::npos);
}

TEST_CASE("an empty file has a code of its own") {
  for (const char* text : {"", "\n\n", "# only\n  # comments\r\n"}) {
    CHECK(code_of(text) == "hostfile_empty");
  }
}

TEST_CASE("host lists") {
  const auto list = parse_host_list("a:2,b,[fd00::1]:4,a2 ,b", "-H");
  REQUIRE(list);
  REQUIRE(list->hosts.size() == 4);
  CHECK(list->hosts[0].slots == 2);
  CHECK(list->hosts[1].slots == 2);  // b twice
  CHECK(list->hosts[2].name == "fd00::1");
  CHECK(list->hosts[3].name == "a2");
  for (const char* bad : {"", "a,,b", "a,", ",a", "a:0", "a:1,a:1"}) {
    INFO(bad);
    CHECK_FALSE(parse_host_list(bad, "-H"));
  }
}

TEST_CASE("what is written is read back the same") {
  std::vector<HostEntry> hosts = {{"a.b", 4, true, 8, 1},
                                  {"10.0.0.1", 1, true, 0, 2},
                                  {"fd00::1", 2, true, 0, 3}};
  using enum HostfileFormat;
  CHECK(write_hostfile(hosts, kOpenMpi) ==
        "a.b slots=4 max_slots=8\n10.0.0.1 slots=1\nfd00::1 slots=2\n");
  CHECK(write_hostfile(hosts, kDeepSpeed) ==
        "a.b slots=4\n10.0.0.1 slots=1\nfd00::1 slots=2\n");
  for (const auto format : {kMpich, kIntel, kMvapich}) {
    CHECK(write_hostfile(hosts, format) == "a.b:4\n10.0.0.1:1\n[fd00::1]:2\n");
  }
  for (const auto format : {kOpenMpi, kMpich, kIntel, kMvapich, kDeepSpeed}) {
    const auto back = hosts_of(write_hostfile(hosts, format));
    REQUIRE(back.size() == hosts.size());
    for (size_t i = 0; i < hosts.size(); ++i) {
      CHECK(back[i].name == hosts[i].name);
      CHECK(back[i].slots == hosts[i].slots);
    }
  }
}

TEST_CASE("labels and addresses") {
  CHECK(first_label("a.b.c") == "a");
  CHECK(first_label("a") == "a");
  CHECK(first_label("10.1.2.3") == "10.1.2.3");
  CHECK(first_label("fd00::1") == "fd00::1");
  CHECK(is_ip_address("::"));
  CHECK_FALSE(is_ip_address("1.2.3"));
  CHECK_FALSE(is_ip_address(std::string_view("1.2.3.4\0x", 9)));
  CHECK_FALSE(is_ip_address(""));
}

}  // namespace
}  // namespace muster
