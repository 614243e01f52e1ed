// SPDX-License-Identifier: Apache-2.0
// Agents behind child processes: programs that echo, fail, or are missing.
#include "launcher/connect/process_transport.h"

#include <signal.h>

#include "base/process_table.h"
#include "catch.h"
#include "run_loop.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::run_for;
using test::run_until;

struct Bed {
  Loop loop;
  Reaper reaper{loop};
  std::string steps;
  std::string data;
  std::string errors;
  int opened = 0;
  std::vector<Error> closed;
  std::unique_ptr<ProcessTransport> transport;

  using Child = ProcessTransport::Child;
  void start(std::vector<std::string> argv, Child child = Child::kAgent) {
    transport = std::make_unique<ProcessTransport>(
        loop, reaper, "w-1", child, std::move(argv), current_environment());
    TransportEvents events;
    events.on_step = [this](std::string_view step) { steps += step; };
    events.on_open = [this] { ++opened; };
    events.on_data = [this](std::string_view bytes) { data += bytes; };
    events.on_stderr = [this](std::string_view bytes) { errors += bytes; };
    events.on_closed = [this](Error error) { closed.push_back(error); };
    transport->start(std::move(events));
  }
};

TEST_CASE("bytes go in and come out") {
  Bed bed;
  bed.start({"cat"});
  CHECK(bed.opened == 1);
  CHECK(bed.steps == "agent");
  bed.transport->send("hello");
  CHECK(run_until(bed.loop, [&] { return bed.data == "hello"; }));
  CHECK(bed.closed.empty());
}

TEST_CASE("more than a pipe holds is queued, and arrives whole") {
  Bed bed;
  bed.start({"sh", "-c", "sleep 0.2; exec cat"});
  const std::string big(1 << 20, 'x');
  bed.transport->send(big);
  bed.transport->send("end");
  CHECK(bed.transport->queued() > 0);
  CHECK(run_until(bed.loop, [&] { return bed.data.size() == big.size() + 3; }));
  CHECK(bed.data.ends_with("xend"));
  CHECK(bed.transport->queued() == 0);
}

TEST_CASE("the end of its output is the end, told once") {
  Bed bed;
  bed.start({"sh", "-c", "echo why >&2; exit 4"});
  CHECK(run_until(bed.loop, [&] { return !bed.closed.empty(); }));
  run_for(bed.loop, 20ms);
  REQUIRE(bed.closed.size() == 1);
  CHECK(bed.closed[0].code == "agent_exited");
  CHECK(bed.closed[0].where == "w-1");
  CHECK(bed.closed[0].why == "status 4");
  CHECK(bed.errors == "why\n");
}

TEST_CASE("a shell that does not find the agent says so by its status") {
  for (const char* status : {"126", "127"}) {
    Bed bed;
    bed.start({"sh", "-c", std::string("exit ") + status});
    CHECK(run_until(bed.loop, [&] { return !bed.closed.empty(); }));
    CHECK(bed.closed[0].code == "agent_missing");
  }
}

TEST_CASE("an agent that took us for gone says so by its status") {
  Bed bed;
  bed.start({"sh", "-c", "exec >&-; sleep 0.1; exit 3"});
  CHECK(run_until(bed.loop, [&] { return !bed.closed.empty(); }));
  CHECK(bed.closed[0].code == "launcher_silent");
  CHECK(bed.closed[0].where == "w-1");
}

TEST_CASE("who ends its output and lives on has ended for us") {
  Bed bed;
  bed.start({"sh", "-c", "exec >&-; sleep 60"});
  CHECK(run_until(bed.loop, [&] { return !bed.closed.empty(); }));
  CHECK(bed.closed[0].code == "agent_exited");
}

// Here there is no pid 1 of ours to do it.
TEST_CASE("what outlives an agent that was killed is ended") {
  Bed bed;
  // The output of what is left is the agent's.
  bed.start({"sh", "-c", "sleep 1000 & kill -9 $$"});
  CHECK(run_until(
      bed.loop, [&] { return !bed.closed.empty(); }, 10s));
}

TEST_CASE("writing to one that is gone does no harm") {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  Bed bed;
  bed.start({"sh", "-c", "exec 0<&-; sleep 0.1"});
  run_for(bed.loop, 50ms);
  bed.transport->send(std::string(300'000, 'x'));
  CHECK(run_until(bed.loop, [&] { return !bed.closed.empty(); }));
  CHECK(bed.transport->queued() == 0);
  ::signal(SIGPIPE, before);
}

TEST_CASE("a program that is not there is an error with its host") {
  Bed bed;
  bed.start({"/none/muster-agent", "agent"});
  CHECK(bed.opened == 0);
  CHECK(bed.closed.empty());  // never from inside start()
  CHECK(run_until(bed.loop, [&] { return bed.closed.size() == 1; }));
  CHECK(bed.closed[0].code == "exe_not_found");
  CHECK(bed.closed[0].where == "w-1");
  bed.transport->send("into the void");
  CHECK(bed.transport->queued() == 0);
}

TEST_CASE("destroyed, it closes the program's input and says nothing more") {
  Bed bed;
  bed.start({"sh", "-c", "cat >/dev/null; exit 0"});
  run_for(bed.loop, 20ms);
  bed.transport.reset();
  run_for(bed.loop, 100ms);
  CHECK(bed.closed.empty());
}

TEST_CASE("a command on the way to an agent does not outlive its attempt") {
  const bool carrier = GENERATE(false, true);
  Bed bed;
  bed.start({"sh", "-c", "echo $$; exec sleep 1000"},
            carrier ? Bed::Child::kCarrier : Bed::Child::kAgent);
  REQUIRE(run_until(bed.loop, [&] { return bed.data.ends_with('\n'); }));
  const pid_t pid = std::stoi(bed.data);
  bed.transport.reset();
  CHECK(run_until(
            bed.loop, [&] { return !is_alive(pid); }, carrier ? 10s : 100ms) ==
        carrier);
  ::kill(pid, SIGKILL);
}

// It may have gone into the background by intent, as an SSH control master.
TEST_CASE("what a command that we told to end left behind is not searched") {
  const bool told = GENERATE(false, true);
  Bed bed;
  bed.start({"sh", "-c",
             "setsid sh -c 'echo $$; exec sleep 1000' & read a; kill -9 $$"},
            Bed::Child::kCarrier);
  REQUIRE(run_until(bed.loop, [&] { return bed.data.ends_with('\n'); }));
  const pid_t pid = std::stoi(bed.data);
  if (told) {
    bed.transport.reset();
  } else {
    bed.transport->send("\n");
  }
  CHECK(run_until(
            bed.loop, [&] { return !is_alive(pid); }, told ? 200ms : 10s) !=
        told);
  ::kill(pid, SIGKILL);
}

TEST_CASE("it may be destroyed by its own end") {
  Bed bed;
  bed.transport = std::make_unique<ProcessTransport>(
      bed.loop, bed.reaper, "w-1", Bed::Child::kAgent,
      std::vector<std::string>{"true"}, current_environment());
  TransportEvents events;
  bool closed = false;
  events.on_step = [](std::string_view) {};
  events.on_open = [] {};
  events.on_data = [](std::string_view) {};
  events.on_stderr = [](std::string_view) {};
  events.on_closed = [&](const Error&) {
    bed.transport.reset();
    closed = true;
  };
  bed.transport->start(std::move(events));
  CHECK(run_until(bed.loop, [&] { return closed; }));
}

}  // namespace
}  // namespace muster
