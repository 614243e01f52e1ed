// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/link.h"

#include <signal.h>

#include "catch.h"
#include "sshd-lite/signal_names.h"

using namespace muster;

TEST_CASE("requests of a connection child survive the link") {
  const auto who =
      decode_request(encode(LinkRequest(Authenticated{"me", "SHA256:x"})));
  REQUIRE(who);
  CHECK(std::get<Authenticated>(*who).user == "me");
  const auto exec = decode_request(
      encode(LinkRequest(ExecRequest{"a b", {{"LANG", "C"}, {"TERM", ""}}})));
  REQUIRE(exec);
  CHECK(std::get<ExecRequest>(*exec).command == "a b");
  CHECK(std::get<ExecRequest>(*exec).env.size() == 2);
  const auto signal =
      decode_request(encode(LinkRequest(SignalProgram{SIGUSR1})));
  REQUIRE(signal);
  CHECK(std::get<SignalProgram>(*signal).number == SIGUSR1);
  const auto broken = decode_request(encode(LinkRequest(Broken{"type 94"})));
  REQUIRE(broken);
  CHECK(std::get<Broken>(*broken).reason == "type 94");
  const auto unserved = decode_request(encode(LinkRequest(Unserved{"X11"})));
  REQUIRE(unserved);
  CHECK(std::get<Unserved>(*unserved).what == "X11");
}

TEST_CASE("replies of pid 1 survive the link") {
  CHECK(std::holds_alternative<ProgramStarted>(
      *decode_reply(encode(LinkReply(ProgramStarted{})))));
  const auto refused =
      decode_reply(encode(LinkReply(ProgramRefused{"because"})));
  CHECK(std::get<ProgramRefused>(*refused).reason == "because");
  const auto ended = decode_reply(encode(LinkReply(ProgramEnded{0x1234})));
  CHECK(std::get<ProgramEnded>(*ended).wait_status == 0x1234);
}

TEST_CASE("nonsense from a child is refused") {
  const std::string bytes = GENERATE(
      std::string(), std::string("A"), std::string("Aone\0", 5),
      std::string("Aone\0two", 8), std::string("E"),
      std::string("Ecmd\0LANG\0", 10), std::string("Ecmd\0PATH\0/x\0", 13),
      std::string("Ecmd\0LD_PRELOAD\0x\0", 18), std::string("S\0", 2),
      std::string("S0\0", 3), std::string("S65\0", 4), std::string("S-9\0", 4),
      std::string("S9x\0", 4), std::string("Q\0", 2),
      std::string(kMaxLinkMessage + 1, 'E'));
  CHECK_FALSE(decode_request(bytes));
}

TEST_CASE("signals have their names of the protocol") {
  CHECK(ssh_signal_name(SIGKILL) == "KILL");
  CHECK(ssh_signal_name(SIGBUS) == "BUS@muster");
  for (int signal = 1; signal < NSIG; ++signal) {
    CHECK(ssh_signal_number(ssh_signal_name(signal)) == signal);
  }
  CHECK(ssh_signal_number("SYS@openssh.com") == SIGSYS);
  CHECK(ssh_signal_number("") == 0);
  CHECK(ssh_signal_number("0") == 0);
  CHECK(ssh_signal_number("NOPE") == 0);
}
