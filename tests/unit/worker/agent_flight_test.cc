// SPDX-License-Identifier: Apache-2.0
// Real files and pipes; who writes the dumps stands in for PyTorch.
#include "worker/hang/agent_flight.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "../base/temporary_directory.h"
#include "base/fd.h"
#include "base/json_text.h"
#include "catch.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

std::string dump(const std::string& name) {
  const auto bytes = read_file(MUSTER_FLIGHT_DUMPS + ("/" + name));
  REQUIRE(bytes);
  return *bytes;
}

wire::FlightRequest about(int rank, const std::string& file) {
  return {false, {{rank, 0, {file}, {}}}};
}

TEST_CASE("where a rank's record would be") {
  auto place = flight_place(7,
                            "A=1\0TORCH_FR_DUMP_TEMP_FILE=/d/new_\0"
                            "TORCH_NCCL_DEBUG_INFO_TEMP_FILE=/d/old_\0"
                            "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=/d/p_\0"s);
  CHECK(place.rank == 7);
  CHECK(place.files == std::vector<std::string>{"/d/new_7", "/d/old_7"});
  CHECK(place.pipes == std::vector<std::string>{"/d/p_7.pipe"});
  place = flight_place(1, "TORCH_FR_DEBUG_INFO_PIPE_FILE=/d/fr_\0"s);
  CHECK(place.pipes == std::vector<std::string>{"/d/fr_1.pipe"});
  place = flight_place(0, "HOME=/home/u\0"s);
  CHECK(place.files ==
        std::vector<std::string>{"/home/u/.cache/torch/comm_lib_trace_rank_0",
                                 "/tmp/nccl_trace_rank_0"});
  CHECK(place.pipes.empty());
  place = flight_place(0, "XDG_CACHE_HOME=/x\0"s);
  CHECK(place.files.front() == "/x/torch/comm_lib_trace_rank_0");
}

TEST_CASE("what a rank wrote is read") {
  const TemporaryDirectory dir;
  dir.write("r3", dump("form_2_10_rank_3"));
  auto request = about(3, dir.at("r3"));
  request.places.push_back({0, 0, {dir.at("none")}, {}});
  const auto records = read_flight_records(request, 10s);
  REQUIRE(records.size() == 1);
  CHECK(records[0].rank == 3);
  CHECK(records[0].written_ns > 0);
  CHECK(records[0].problem.empty());
  CHECK(records[0].groups.size() == 1);
}

TEST_CASE("members of a group are told once a pod") {
  const TemporaryDirectory dir;
  wire::FlightRequest request;
  for (int rank = 0; rank < 3; ++rank) {
    const std::string name = "r" + std::to_string(rank);
    dir.write(name, dump("form_2_10_rank_" + std::to_string(rank)));
    request.places.push_back({rank, 0, {dir.at(name)}, {}});
  }
  const auto records = read_flight_records(request, 10s);
  REQUIRE(records.size() == 3);
  CHECK(records[0].groups[0].ranks.size() == 4);
  CHECK(records[1].groups[0].ranks.empty());
  CHECK(records[1].groups[0].members == records[0].groups[0].members);
}

TEST_CASE("of another job, of another place, of no file: not read") {
  const TemporaryDirectory dir;
  dir.write("real", dump("form_2_10_rank_3"));
  auto request = about(3, dir.at("real"));
  request.places[0].since_ns = realtime_ns() + 60'000'000'000;
  CHECK(read_flight_records(request, 10s).empty());
  dir.link("link", dir.at("real"));
  CHECK(read_flight_records(about(3, dir.at("link")), 10s).empty());
  REQUIRE(::mkfifo(dir.at("fifo").c_str(), 0600) == 0);
  CHECK(read_flight_records(about(3, dir.at("fifo")), 10s).empty());
  CHECK(read_flight_records(about(3, dir.path()), 10s).empty());
}

TEST_CASE("a file of another user is not read") {
  if (::geteuid() != 0) return;  // only root can make one
  const TemporaryDirectory dir;
  dir.write("r3", dump("form_2_10_rank_3"));
  REQUIRE(::chown(dir.at("r3").c_str(), 12345, 12345) == 0);
  CHECK(read_flight_records(about(3, dir.at("r3")), 10s).empty());
}

TEST_CASE("what cannot be read is told with its name") {
  const TemporaryDirectory dir;
  dir.write("r3", "no pickle");
  const auto records = read_flight_records(about(3, dir.at("r3")), 10s);
  REQUIRE(records.size() == 1);
  CHECK(records[0].rank == 3);
  CHECK(records[0].problem.find(dir.at("r3")) != std::string::npos);
}

TEST_CASE("a rank that is asked writes anew, in its time") {
  const TemporaryDirectory dir;
  dir.write("r0", dump("form_2_10_rank_3"));  // of an earlier time
  const std::string pipe = dir.at("p0.pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const UniqueFd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  std::thread torch([&] {
    pollfd wait{reader.get(), POLLIN, 0};
    ::poll(&wait, 1, 60'000);
    const std::string text = dump("form_2_10_rank_0");
    dir.write("r0", text.substr(0, 900));  // half of it
    std::this_thread::sleep_for(250ms);
    dir.write("r0", text);
  });
  const wire::FlightRequest request{true, {{0, 0, {dir.at("r0")}, {pipe}}}};
  const auto records = read_flight_records(request, 60s);
  torch.join();
  REQUIRE(records.size() == 1);
  REQUIRE(records[0].problem.empty());
  CHECK(records[0].groups[0].last == 4);
}

TEST_CASE("nobody at the pipe: what is there counts, without a wait") {
  const TemporaryDirectory dir;
  dir.write("r0", dump("form_2_10_rank_0"));
  REQUIRE(::mkfifo(dir.at("p").c_str(), 0600) == 0);
  dir.write("file", "");
  for (const char* pipe : {"p", "none", "file"}) {
    const wire::FlightRequest request{true,
                                      {{0, 0, {dir.at("r0")}, {dir.at(pipe)}}}};
    CHECK(read_flight_records(request, 600s).size() == 1);
  }
  CHECK(std::filesystem::file_size(dir.at("file")) == 0);
}

TEST_CASE("of a rank that does not answer what it wrote before counts") {
  const TemporaryDirectory dir;
  dir.write("r0", dump("form_2_10_rank_0"));
  REQUIRE(::mkfifo(dir.at("p").c_str(), 0600) == 0);
  const UniqueFd reader(::open(dir.at("p").c_str(), O_RDONLY | O_NONBLOCK));
  const wire::FlightRequest request{true,
                                    {{0, 0, {dir.at("r0")}, {dir.at("p")}}}};
  CHECK(read_flight_records(request, 300ms).size() == 1);
}

}  // namespace
}  // namespace muster
