// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/sshd_args.h"

#include "catch.h"

using namespace muster;

namespace {
using Words = std::vector<std::string>;
}

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
  const auto config = parse_sshd_config(
      "PidFile /home/mpiuser/sshd.pid\n"
      "HostKey /home/mpiuser/.ssh/id_rsa\n"
      "StrictModes no\n"
      "Port 2222\n",
      "f");
  CHECK(config.port == 2222);
  CHECK(config.host_keys == Words{"/home/mpiuser/.ssh/id_rsa"});
  CHECK(config.ignored == Words{"f:1: PidFile", "f:3: StrictModes"});
  CHECK(config.problems.empty());
}

TEST_CASE("spellings of sshd_config") {
  const auto config = parse_sshd_config(
      "  # comment\r\nport=2200 # mine\r\nPort 1\n"
      "HOSTKEY \"/a b\"\n"
      "AuthorizedKeysFile .ssh/authorized_keys /etc/keys/%u\n"
      "Match User x\nPort 7\nHostKey /no\n",
      "f");
  CHECK(config.port == 2200);
  CHECK(config.authorized_keys ==
        Words{".ssh/authorized_keys", "/etc/keys/%u"});
  CHECK(config.host_keys.size() == 1);
  CHECK(config.ignored.back() == "f:6: Match and what follows");
}

TEST_CASE("files that a configuration includes are noted, for none is read") {
  const SshdConfig config = parse_sshd_config(
      "Include /etc/ssh/sshd_config.d/*.conf\n"
      "Port 2222\n"
      "include = more.conf\n",
      "f");
  CHECK(config.includes == Words{"f:1: Include /etc/ssh/sshd_config.d/*.conf",
                                 "f:3: Include more.conf"});
  CHECK(config.ignored.empty());
  CHECK(merge({}, config).includes == config.includes);
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
  const auto config = parse_sshd_config("ListenAddress " + text, "f");
  CHECK(config.address == address);
  CHECK(config.port.value_or(0) == port);
}

TEST_CASE("mistakes in a file are told, not fatal") {
  const auto config =
      parse_sshd_config("Port many\nPort\nHostKey\nPort 70000\nPort 2200", "f");
  CHECK(config.port == 2200);
  CHECK(config.problems.size() == 4);
  CHECK(config.problems[0].starts_with("f:1: "));
}

TEST_CASE("the command line wins over the file") {
  SshdConfig given;
  given.port = 1;
  const auto file =
      parse_sshd_config("Port 2\nHostKey /h\nListenAddress 10.0.0.1\n", "f");
  const auto merged = merge(given, file);
  CHECK(merged.port == 1);
  CHECK(merged.host_keys == Words{"/h"});
  CHECK(merged.address == "10.0.0.1");
}

TEST_CASE("key file names are resolved as sshd does") {
  CHECK(resolve_key_file(".ssh/ak", "/home/u") == "/home/u/.ssh/ak");
  CHECK(resolve_key_file("%h/ak", "/home/u") == "/home/u/ak");
  CHECK(resolve_key_file("/a%%b", "/home/u") == "/a%b");
  CHECK(resolve_key_file("/keys/%u", "/home/u").empty());
  CHECK(resolve_key_file("none", "/home/u").empty());
  CHECK(resolve_key_file("%", "/home/u").empty());
}
