// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/sshd_args.h"

#include <map>

#include "catch.h"

using namespace muster;

namespace {
using Words = std::vector<std::string>;

Result<SshdConfig> parse(
    const std::string& text,
    const std::map<std::string, std::vector<ConfigFile>>& files = {}) {
  return parse_sshd_config(text, "f", [files](const std::string& pattern) {
    const auto found = files.find(pattern);
    return found == files.end() ? std::vector<ConfigFile>{} : found->second;
  });
}

SshdConfig config_of(
    const std::string& text,
    const std::map<std::string, std::vector<ConfigFile>>& files = {}) {
  auto config = parse(text, files);
  REQUIRE(config);
  return std::move(*config);
}
}  // namespace

TEST_CASE("command lines of operators and images are understood") {
  const auto parsed = parse_sshd_args(
      {"-De", "-f", "/home/mpiuser/.sshd_config", "-p2022", "-o",
       "AuthorizedKeysFile=/keys/ak", "-oPort=9", "-h", "/keys/host"});
  REQUIRE(parsed);
  CHECK(parsed->config_file == "/home/mpiuser/.sshd_config");
  CHECK(parsed->given.port == 2022);
  CHECK(parsed->given.authorized_keys == Words{"/keys/ak"});
  CHECK(parsed->given.host_keys == Words{"/keys/host"});
  const auto cluster = parse_sshd_args({"-4qDetp", "22"});
  REQUIRE(cluster);
  CHECK(cluster->test_only);
  CHECK(cluster->given.port == 22);
  CHECK(parse_sshd_args({})->config_file.empty());
}

TEST_CASE("what sshd does not know is a usage error") {
  const Words args = GENERATE(Words{"-Z"}, Words{"file"}, Words{"-p"},
                              Words{"-p", "0"}, Words{"-p", "65536"},
                              Words{"-p", "22x"}, Words{"-Dp"}, Words{"--help"},
                              Words{"-i"}, Words{"-"}, Words{"--"}, Words{""});
  const auto parsed = parse_sshd_args(args);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == "usage");
}

TEST_CASE("the operator's own configuration file") {
  const auto config = config_of(
      "PidFile /home/mpiuser/sshd.pid\n"
      "HostKey /home/mpiuser/.ssh/id_rsa\n"
      "StrictModes no\n"
      "Port 2222\n");
  CHECK(config.port == 2222);
  CHECK(config.host_keys == Words{"/home/mpiuser/.ssh/id_rsa"});
  CHECK(config.ignored == Words{"f:1: PidFile"});
  CHECK(config.strict_modes == false);
  CHECK(config.limits.empty());
  CHECK(config.problems.empty());
}

TEST_CASE("spellings of sshd_config") {
  const auto config = config_of(
      "  # comment\r\nport=2200 # mine\r\nPort 1\n"
      "HOSTKEY \"/a b\"\n"
      "AuthorizedKeysFile .ssh/authorized_keys /etc/keys/%u\n"
      "Match User x\nPort 7\nHostKey /no\nX11Forwarding no\n");
  CHECK(config.port == 2200);
  CHECK(config.authorized_keys ==
        Words{".ssh/authorized_keys", "/etc/keys/%u"});
  CHECK(config.host_keys.size() == 1);
  // sshd has neither in a block; this server does not start with them.
  REQUIRE(config.limits.size() == 2);
  CHECK(config.limits[0].where == "f:7");
  CHECK(config.limits[0].in_match);
}

TEST_CASE("included files count at their place") {
  const auto config = config_of(
      "Include /etc/ssh/sshd_config.d/*.conf\n"
      "Port 2222\n"
      "include = more.conf\n",
      {{"/etc/ssh/sshd_config.d/*.conf",
        {{"/d/1.conf", std::string("Port 2200\nMatch User a\nBanner x\n")},
         {"/d/2.conf", std::string("AllowUsers a\n")}}},
       {"/etc/ssh/more.conf", {{"/m", std::string("Port 1\nHostKey /k")}}}});
  CHECK(config.port == 2200);
  CHECK(config.host_keys == Words{"/k"});
  REQUIRE(config.limits.size() == 1);
  CHECK(config.limits[0].where == "/d/2.conf:1");
  CHECK_FALSE(config.limits[0].in_match);  // a Match ends with its file
}

TEST_CASE("an included file that cannot be read, or includes itself") {
  const auto unread = parse(
      "Include a\n",
      {{"/etc/ssh/a",
        {{"/a", fail(Error{"file", "cannot read /a", "denied", {}, {}})}}}});
  REQUIRE_FALSE(unread);
  CHECK(unread.error().text().find("f:1") != std::string::npos);
  const auto endless =
      parse("Include a\nInclude a\n",
            {{"/etc/ssh/a", {{"/a", std::string("Include a\nInclude a\n")}}}});
  REQUIRE_FALSE(endless);
  CHECK(endless.error().text().find("too many files") != std::string::npos);
}

TEST_CASE("addresses to listen on") {
  const auto [text, address, port] = GENERATE(
      table<std::string, std::string, int>({{"0.0.0.0", "", 0},
                                            {"::", "", 0},
                                            {"*:2200", "", 2200},
                                            {"10.1.2.3", "10.1.2.3", 0},
                                            {"10.1.2.3:22", "10.1.2.3", 22},
                                            {"fd00::1", "fd00::1", 0},
                                            {"[fd00::1]:22", "fd00::1", 22},
                                            {"[::]:22", "", 22}}));
  const auto config = config_of("ListenAddress " + text);
  CHECK(config.address == address);
  CHECK(config.port.value_or(0) == port);
}

TEST_CASE("mistakes in a file are told, not fatal") {
  const auto config =
      config_of("Port many\nPort\nHostKey\nPort 70000\nPort 2200");
  CHECK(config.port == 2200);
  CHECK(config.problems.size() == 4);
  CHECK(config.problems[0].starts_with("f:1: "));
}

TEST_CASE("the command line wins over the file") {
  SshdConfig given;
  given.port = 1;
  const auto file = config_of("Port 2\nHostKey /h\nListenAddress 10.0.0.1\n");
  const auto merged = merge(given, file);
  CHECK(merged.port == 1);
  CHECK(merged.host_keys == Words{"/h"});
  CHECK(merged.address == "10.0.0.1");
}

TEST_CASE("key file names are resolved as sshd does") {
  const KeyFileOwner owner{"/home/u", "me", 1000};
  CHECK(resolve_key_file(".ssh/ak", owner) == "/home/u/.ssh/ak");
  CHECK(resolve_key_file("%h/ak", owner) == "/home/u/ak");
  CHECK(resolve_key_file("/a%%b", owner) == "/a%b");
  CHECK(resolve_key_file("/keys/%u", owner) == "/keys/me");
  CHECK(resolve_key_file("/keys/%U", owner) == "/keys/1000");
  CHECK(resolve_key_file("/keys/%u", {"/home/u", "", 1000}).empty());
  CHECK(resolve_key_file("/keys/%x", owner).empty());
  CHECK(resolve_key_file("none", owner).empty());
  CHECK(resolve_key_file("%", owner).empty());
}

TEST_CASE("one family of addresses") {
  CHECK(config_of("AddressFamily inet").address == "0.0.0.0");
  CHECK(config_of("AddressFamily inet6").address == "::");
  CHECK(config_of("AddressFamily any").address.empty());
  CHECK(config_of("ListenAddress 10.0.0.1\nAddressFamily inet").address ==
        "10.0.0.1");
  CHECK(parse_sshd_args({"-4"})->given.address == "0.0.0.0");
}
