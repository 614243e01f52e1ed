// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/exec_policy.h"

#include "catch.h"

using namespace muster;

namespace {
const ExecPolicy kStrict{"/opt/muster/libexec/muster/muster-agent", false,
                         false};
const ExecPolicy kOpen{"/opt/muster/libexec/muster/muster-agent", true, false};
using Words = std::vector<std::string>;
}  // namespace

TEST_CASE("the agent may be asked for by any path, and ours is started") {
  const std::string command =
      GENERATE("muster-agent agent", "  muster-agent   agent ",
               "/opt/muster/libexec/muster/muster-agent agent",
               "/some/other/image/muster-agent agent");
  const auto allowed = decide_exec(kStrict, command);
  REQUIRE(allowed);
  CHECK(allowed->argv == Words{kStrict.agent, "agent"});
  CHECK(allowed->kind == CommandKind::kAgent);
}

TEST_CASE("simple flags go through") {
  const auto allowed =
      decide_exec(kStrict, "muster-agent agent --log=debug --probe");
  REQUIRE(allowed);
  CHECK(allowed->argv ==
        Words{kStrict.agent, "agent", "--log=debug", "--probe"});
}

TEST_CASE("a doctor's visit is a probe: flags only") {
  const auto allowed = decide_exec(
      kStrict, "muster-agent doctor --output=json --check-path=/data");
  REQUIRE(allowed);
  CHECK(allowed->kind == CommandKind::kProbe);
  CHECK(allowed->argv.size() == 4);
  CHECK_FALSE(decide_exec(kStrict, "muster-agent doctor /data"));
  CHECK_FALSE(decide_exec(kStrict, "muster-agent doctor --program='a b'"));
}

TEST_CASE("version is a probe, not a job") {
  const auto allowed = decide_exec(kStrict, "muster-agent version");
  REQUIRE(allowed);
  CHECK(allowed->kind == CommandKind::kProbe);
}

TEST_CASE("what wait loops and launchers ask first is answered") {
  const auto [line, argv] = GENERATE(table<std::string, Words>({
      {"true", {"true"}},
      {":", {"true"}},
      {"/bin/true", {"true"}},
      {"exit", {"true"}},
      {"exit 0", {"/bin/sh", "-c", "exit 0"}},
      {"exit 7", {"/bin/sh", "-c", "exit 7"}},
      {"date", {"date"}},
      {"date +%s", {"date", "+%s"}},
      {"hostname", {"hostname"}},
      {" hostname  -I ", {"hostname", "-I"}},
      {"hostname -f", {"hostname", "-f"}},
      {"/usr/bin/uptime", {"/usr/bin/uptime"}},
      {"whoami", {"whoami"}},
      {"id -u", {"id", "-u"}},
      {"uname -a", {"uname", "-a"}},
      {"nproc", {"nproc"}},
      {"echo", {"echo"}},
      {"echo ok", {"echo", "ok"}},
      {"echo 'I am here'", {"echo", "I am here"}},
      {"echo \"a b\"c", {"echo", "a bc"}},
      {"test -f /tmp/ready", {"test", "-f", "/tmp/ready"}},
      {"[ -e '/data/a b' ]", {"test", "-e", "/data/a b"}},
  }));
  INFO(line);
  const auto allowed = decide_exec(kStrict, line);
  REQUIRE(allowed);
  CHECK(allowed->argv == argv);
  CHECK(allowed->kind == CommandKind::kProbe);
}

TEST_CASE("no question opens a way to run something else") {
  for (const char* more : {"true; id",
                           "true id;",
                           "true && id",
                           "true|id",
                           "true\nid",
                           "hostname x",
                           "hostname -F x",
                           "hostname -I x",
                           "hostname --file=x",
                           "/tmp/hostname",
                           "./true",
                           "hostname\n-I;",
                           "exit $X",
                           "exit 7777",
                           "exit -1",
                           "exit 0 1",
                           "/bin/exit",
                           "date -s 12:00",
                           "date --set=x",
                           "date 010101",
                           "date -f /etc/shadow",
                           "date -r x",
                           "echo $HOME",
                           "echo `id`",
                           "echo $(id)",
                           "echo a > /tmp/x",
                           "echo a>/tmp/x",
                           "echo \"$HOME\"",
                           "echo \"`id`\"",
                           "echo 'a",
                           "echo \\x",
                           "echo \"a\\\"; id\"",
                           "echo {a,b}",
                           "echo ~",
                           "echo *",
                           "echo a#b;",
                           "test -f a -o -f b",
                           "test -f",
                           "test a = b",
                           "[ -f a",

                           "test -t 0",
                           "id root",
                           "id --help",
                           "uname --x",
                           "uptime -V",
                           "nproc --all",
                           "whoami x",
                           "sh",
                           "sh -c true",
                           "bash",
                           "env",
                           "cat x",
                           "ls",
                           "\"\"",
                           "''",
                           "\ttrue",
                           "true\t-x",
                           "tru\xc3\xa4"}) {
    INFO(more);
    CHECK_FALSE(decide_exec(kStrict, more));
  }
}

TEST_CASE("everything else is refused") {
  const std::string command = GENERATE(
      "", " ", "sh", "muster-agent", "agent", "muster-agent rank -- sh",
      "muster-agent version extra", "./muster-agent agent",
      "../muster-agent agent", "x/muster-agent agent", "muster-agent2 agent",
      "/tmp/xmuster-agent agent", "muster-agent agent; sh",
      "muster-agent agent && sh", "muster-agent agent $(sh)",
      "muster-agent agent `sh`", "muster-agent agent | sh",
      "muster-agent agent > /x", "muster-agent agent sh",
      "muster-agent agent -c", "muster-agent agent --",
      "muster-agent agent\nsh", "muster-agent agent --x='a b'",
      "'muster-agent' agent", "muster-agent \\agent",
      "FOO=1 muster-agent agent", std::string("muster-agent agent\0", 19),
      "muster-agent agent --x=\xc3\xa4", "orted --hnp",
      "muster-agent agent --" + std::string(5000, 'a'));
  INFO(command);
  const auto refused = decide_exec(kStrict, command);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == "exec_refused");
  CHECK(refused.error().text().size() < 400);
}

TEST_CASE("with any command allowed the shell gets the line") {
  const auto shell = decide_exec(kOpen, "PATH=/x orted -mca a 'b c'");
  REQUIRE(shell);
  CHECK(shell->argv == Words{"/bin/sh", "-c", "PATH=/x orted -mca a 'b c'"});
  CHECK(shell->kind == CommandKind::kAny);
  const auto agent = decide_exec(kOpen, "muster-agent agent");
  REQUIRE(agent);
  CHECK(agent->kind == CommandKind::kAgent);
  CHECK_FALSE(decide_exec(kOpen, std::string("a\0b", 3)));
  CHECK_FALSE(decide_exec(kOpen, std::string(kMaxCommand + 1, 'a')));
}

TEST_CASE("only harmless variables may come from a client") {
  CHECK(env_allowed("LANG", "en_US.UTF-8"));
  CHECK(env_allowed("LC_ALL", "C"));
  CHECK(env_allowed("TERM", "xterm-256color"));
  CHECK_FALSE(env_allowed("LD_PRELOAD", "/x.so"));
  CHECK_FALSE(env_allowed("PATH", "/x"));
  CHECK_FALSE(env_allowed("MUSTER_AGENT_TAG", "x"));
  CHECK_FALSE(env_allowed("LC_A=B", "x"));
  CHECK_FALSE(env_allowed("LANG", "a\nb"));
  CHECK_FALSE(env_allowed("LANG", std::string(300, 'a')));
  CHECK_FALSE(env_allowed("", ""));
}
