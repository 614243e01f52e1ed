// SPDX-License-Identifier: Apache-2.0
#include "job/ssh_options.h"

#include "base/text.h"
#include "catch.h"

using namespace muster;

namespace {

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> out;
  for (const auto word : split_words(line)) out.emplace_back(word);
  return out;
}

}  // namespace

TEST_CASE("command lines of those who call ssh") {
  struct Case {
    const char* line;
    const char* host;
    const char* user;
    int port;
    bool no_stdin;
    const char* command;
  };
  const Case given = GENERATE(
      Case{"node1 orted -mca ess env", "node1", "", 0, false,
           "orted -mca ess env"},  // ORTE
      Case{"-x node1 /usr/bin/hydra_pmi_proxy --pgid 0", "node1", "", 0, false,
           "/usr/bin/hydra_pmi_proxy --pgid 0"},  // Hydra
      Case{"-q -x -n -p 2222 node1.ns.svc. cmd", "node1.ns.svc", "", 2222, true,
           "cmd"},  // Intel
      Case{"-oConnectTimeout=10 -2 -a -x -lbob node1 cd /w; python t.py",
           "node1", "bob", 0, false, "cd /w; python t.py"},  // pdsh
      Case{"-o PasswordAuthentication=no -o StrictHostKeyChecking=no -p 22 h c",
           "h", "", 22, false, "c"},  // horovodrun
      Case{"-F /x/config -i /k -o Port=77 bob@[fd00::7] c d", "fd00::7", "bob",
           77, false, "c d"},
      Case{"h -n -- -c", "h", "", 0, true, "-c"},
      Case{"-xqnTtv -- u@w1 -q ls -l", "w1", "u", 0, true, "ls -l"},
      Case{"-xp2222 -lroot w1 c", "w1", "root", 2222, false, "c"},
      Case{"-vq ssh://[h]:6 c", "h", "", 6, false, "c"},
      Case{"-p5 -p6 -o Port=7 ssh://h:8 c", "h", "", 5, false, "c"},
      Case{"-o Port=7 -p5 h c", "h", "", 7, false, "c"},
      Case{"ssh://bob@h:6 c", "h", "bob", 6, false, "c"});
  INFO(given.line);
  const auto parsed = parse_ssh_arguments(words(given.line));
  REQUIRE(parsed);
  CHECK(parsed->host == given.host);
  CHECK(parsed->user == given.user);
  CHECK(parsed->port == given.port);
  CHECK(parsed->no_stdin == given.no_stdin);
  CHECK(parsed->command == given.command);
  CHECK(parsed->pin_host_key);
}

TEST_CASE("habits do not loosen the pin, a word of its own does") {
  CHECK(parse_ssh_arguments(words("-o StrictHostKeyChecking=no h c"))
            ->pin_host_key);
  CHECK_FALSE(
      parse_ssh_arguments(words("-o MusterPinHostKey=no h c"))->pin_host_key);
}

TEST_CASE("an amount after which new keys are agreed") {
  const auto [value, bytes] =
      GENERATE(table<std::string, uint64_t>({{"1M", 1 << 20},
                                             {"512k", 512 << 10},
                                             {"2G 1h", uint64_t{2} << 30},
                                             {"100000", 100000},
                                             {"default", 0},
                                             {"default 30", 0},
                                             {"none", 0},
                                             {"99999999999999G", 0},
                                             {"-1", 0},
                                             {"", 0}}));
  INFO(value);
  const auto parsed =
      parse_ssh_arguments({"-o", "RekeyLimit=" + value, "h", "c"});
  REQUIRE(parsed);
  CHECK(parsed->rekey_bytes == bytes);
}

TEST_CASE("what this client has not is refused") {
  const std::string line = GENERATE(
      "", "h", "-x", "-p 0 h c", "-p x h c", "-p", "-N h c", "-f h c",
      "-L 1:h:2 h c", "-D 1 h c", "-s h sftp", "-J j h c", "-W a:1 h", "-Z h c",
      "-o Port=99999 h c", "@ c", "-- -h c", "-o ConnectTimeout=x h c");
  INFO(line);
  const auto parsed = parse_ssh_arguments(words(line));
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == "usage");
}
