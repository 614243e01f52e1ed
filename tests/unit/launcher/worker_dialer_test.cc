// SPDX-License-Identifier: Apache-2.0
// Retries of one worker: which errors are waited out and which are not.
#include "launcher/connect/worker_dialer.h"

#include "catch.h"
#include "fake_fleet.h"
#include "run_loop.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::Behaviour;
using test::FakePeer;
using test::run_for;
using test::run_until;

struct Bed {
  Loop loop;
  std::shared_ptr<FakePeer> peer = std::make_shared<FakePeer>();
  std::vector<Behaviour> script;  // by attempt; the last one goes on
  size_t attempts = 0;
  int ready = 0;
  std::vector<Error> lost;
  std::vector<Error> permanent;
  std::unique_ptr<WorkerDialer> dialer;

  void start() {
    DialerEvents events;
    events.on_ready = [this](const wire::HelloReply&) { ++ready; };
    events.on_frame = [](const wire::Frame&) {};
    events.on_lost = [this](Error error) { lost.push_back(error); };
    events.on_permanent = [this](Error error) { permanent.push_back(error); };
    wire::Hello hello = test::test_hello();
    hello.host = "w-1";
    dialer = std::make_unique<WorkerDialer>(
        loop, hello,
        [this] {
          const size_t index = std::min(attempts++, script.size() - 1);
          return test::make_fake_transport(loop, peer, script[index]);
        },
        std::move(events));
    dialer->start();
  }
};

TEST_CASE("a worker that comes up late is reached at last") {
  Bed bed;
  bed.script = {test::fail_with("dns_unresolved"),
                test::fail_with("tcp_refused"), test::open_and_answer};
  bed.start();
  CHECK_FALSE(bed.dialer->ready());
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 1; }));
  CHECK(bed.dialer->attempts() == 3);
  CHECK(bed.dialer->step() == "ready");
  CHECK(bed.dialer->connect_time() >= 40ms);  // two retries of 20 ms
  CHECK(bed.dialer->link() != nullptr);
  CHECK(bed.permanent.empty());
}

TEST_CASE("step and error of the last attempt are kept for the laggards") {
  Bed bed;
  bed.script = {test::fail_with("tcp_filtered", "no answer on TCP port 2222")};
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return bed.attempts == 2; }));
  CHECK(bed.dialer->step() == "tcp");
  CHECK(bed.dialer->last_error().code == "tcp_filtered");
  CHECK(bed.dialer->link() == nullptr);
}

TEST_CASE("a version that does not fit is not waited out") {
  Bed bed;
  bed.peer->answers_hello = false;
  bed.script = {[](FakePeer& peer) {
    peer.events.on_open();
    peer.say(wire::FrameType::kRefused, 0,
             wire::to_json(wire::Refused{"version", "too old"}));
  }};
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return !bed.permanent.empty(); }));
  CHECK(bed.permanent[0].code == "version_mismatch");
  run_for(bed.loop, 300ms);
  CHECK(bed.attempts == 1);
}

TEST_CASE("the lack of file descriptors is not waited out") {
  Bed bed;
  bed.script = {
      test::fail_with("no_descriptors", "no file descriptor is left")};
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return !bed.permanent.empty(); }));
  CHECK(bed.attempts == 1);
}

TEST_CASE("a command of --transport that is missing is not waited for") {
  Bed bed;
  bed.script = {test::fail_with("exe_not_found", "cannot start kubectl")};
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return !bed.permanent.empty(); }));
  CHECK(bed.attempts == 1);
}

TEST_CASE("other permanent-looking errors get some time to heal") {
  Bed bed;
  bed.script = {test::fail_with("ssh_auth"), test::fail_with("ssh_auth"),
                test::open_and_answer};
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 1; }));
  CHECK(bed.permanent.empty());
}

TEST_CASE("before commit a worker that vanishes is dialled again") {
  Bed bed;
  bed.script = {test::open_and_answer};
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 1; }));
  bed.peer->hang_up("ssh_closed");
  CHECK_FALSE(bed.dialer->ready());
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 2; }));
  CHECK(bed.lost.empty());
}

TEST_CASE("after commit it is lost for good") {
  Bed bed;
  bed.script = {test::open_and_answer};
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return bed.ready == 1; }));
  bed.dialer->commit();
  bed.peer->hang_up("ssh_closed");
  REQUIRE(bed.lost.size() == 1);
  run_for(bed.loop, 300ms);
  CHECK(bed.attempts == 1);
}

TEST_CASE("stop_trying ends retries but keeps a link") {
  Bed bed;
  bed.script = {test::fail_with("tcp_refused")};
  bed.start();
  REQUIRE(run_until(bed.loop, [&] { return bed.attempts == 1; }));
  bed.dialer->stop_trying();
  const size_t before = bed.attempts;
  run_for(bed.loop, 700ms);
  CHECK(bed.attempts == before);
  Bed other;
  other.script = {test::open_and_answer};
  other.start();
  REQUIRE(run_until(other.loop, [&] { return other.ready == 1; }));
  other.dialer->stop_trying();
  CHECK(other.dialer->ready());
  // The launch leaves once it has ended; a new one would be waited for.
  other.peer->hang_up("ssh_closed");
  CHECK(other.lost.size() == 1);
  run_for(other.loop, 700ms);
  CHECK(other.attempts == 1);
}

TEST_CASE("every error of the dialling steps has a likely cause") {
  for (const char* code :
       {"dns_unresolved", "dns_failure", "tcp_refused", "tcp_filtered",
        "tcp_unreachable", "ssh_banner", "ssh_closed", "ssh_foreign",
        "ssh_hostkey", "ssh_auth", "ssh_exec", "agent_exited",
        "version_mismatch"}) {
    INFO(code);
    CHECK_FALSE(likely_cause(Error{code, "", "", "", ""}, "w", "ml").empty());
  }
  CHECK(likely_cause(Error{}, "w", "ml").empty());
}

TEST_CASE("what only the API server knows comes with the command for it") {
  const auto cause = [](const char* code) {
    return likely_cause(Error{code, "", "", "", ""}, "w-0.job.team.svc", "");
  };
  CHECK(cause("dns_unresolved") ==
        "its pod is not scheduled, its image is not pulled, it has failed, or "
        "it is not Ready; only the API server knows which: `kubectl get pods "
        "-n team -o wide`, `kubectl describe pod w-0 -n team`");
  CHECK(cause("ssh_closed").ends_with("`kubectl logs w-0 -n team`"));
}

TEST_CASE("what waiting can heal is not permanent") {
  for (const char* code :
       {"dns_unresolved", "tcp_refused", "tcp_filtered", "ssh_banner",
        "ssh_closed", "agent_exited", "agent_silent", ""}) {
    CHECK_FALSE(is_permanent(code));
  }
  CHECK(is_permanent("ssh_auth"));
  CHECK(is_permanent("version_mismatch"));
  CHECK(is_permanent("agent_missing"));
}

}  // namespace
}  // namespace muster
