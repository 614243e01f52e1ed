// SPDX-License-Identifier: Apache-2.0
// The PMI-1 conversation, line by line, as MPICH holds it.
#include "pmi/pmi1_server.h"

#include "catch.h"
#include "worlds.h"

using namespace muster;
using muster::test::make_world;

namespace {

struct Node {
  explicit Node(World given)
      : world(std::move(given)),
        server(world, {[this](int rank, std::string_view line) {
                         replies[rank].emplace_back(line);
                       },
                       [this](std::string data) { barriers.push_back(data); },
                       [this](int rank) { connected.push_back(rank); },
                       [this](int rank) { finalized.push_back(rank); },
                       [this](int rank, int code, const std::string&) {
                         aborts.emplace_back(rank, code);
                       },
                       [this](int, const wire::NamesRequest& request) {
                         names.push_back(request);
                       },
                       [this](int, const std::string& text) {
                         complaints.push_back(text);
                       }}) {}

  std::string ask(int rank, const std::string& line) {
    const size_t before = replies[rank].size();
    REQUIRE(server.receive(rank, line + "\n"));
    return replies[rank].size() > before ? replies[rank].back() : "";
  }

  World world;
  std::map<int, std::vector<std::string>> replies;
  std::vector<std::string> barriers;
  std::vector<int> connected;
  std::vector<int> finalized;
  std::vector<std::pair<int, int>> aborts;
  std::vector<wire::NamesRequest> names;
  std::vector<std::string> complaints;
  Pmi1Server server;
};

}  // namespace

TEST_CASE("init, sizes and the mapping") {
  Node node(*make_world(4, {"0-1", "2-3"}));
  CHECK(node.ask(0, "cmd=init pmi_version=1 pmi_subversion=1") ==
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  CHECK(node.connected == std::vector<int>{0});
  CHECK(node.ask(0, "cmd=get_maxes") ==
        "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n");
  CHECK(node.ask(0, "cmd=get_universe_size") ==
        "cmd=universe_size rc=0 size=4\n");
  CHECK(node.ask(0, "cmd=get_my_kvsname") ==
        "cmd=my_kvsname rc=0 kvsname=job\n");
  CHECK(node.ask(0, "cmd=get kvsname=job key=PMI_process_mapping") ==
        "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n");
}

TEST_CASE("PMI-2 is refused by name") {
  Node node(*make_world(1, {"0"}));
  CHECK(node.ask(0, "cmd=init pmi_version=2 pmi_subversion=0").find("rc=-1") !=
        std::string::npos);
  CHECK(node.connected.empty());
  REQUIRE(node.complaints.size() == 1);
}

TEST_CASE("what one node puts, the other gets after the barrier") {
  Node one(*make_world(2, {"0", "1"}, 0));
  Node two(*make_world(2, {"0", "1"}, 1));
  CHECK(one.ask(0, "cmd=put kvsname=job key=k value=a b=c d") ==
        "cmd=put_result rc=0 msg=success\n");
  CHECK(two.ask(1, "cmd=get kvsname=job key=k").find("rc=-1") !=
        std::string::npos);
  CHECK(one.ask(0, "cmd=barrier_in").empty());
  CHECK(two.ask(1, "cmd=barrier_in").empty());
  REQUIRE(one.barriers.size() == 1);
  two.server.release(one.barriers[0] + two.barriers[0]);
  CHECK(two.replies[1].back() == "cmd=barrier_out rc=0\n");
  CHECK(two.ask(1, "cmd=get kvsname=job key=k") ==
        "cmd=get_result rc=0 msg=success value=a b=c d\n");
  // Only what is new goes into the next barrier.
  one.server.release(one.barriers[0]);
  one.ask(0, "cmd=barrier_in");
  CHECK(one.barriers[1].empty());
}

TEST_CASE("a barrier waits for every rank of the node") {
  Node node(*make_world(2, {"0-1"}));
  node.ask(0, "cmd=barrier_in");
  CHECK(node.barriers.empty());
  CHECK(node.server.came(0));
  CHECK_FALSE(node.server.came(1));
  node.ask(0, "cmd=barrier_in");  // twice by the same rank does not count
  CHECK(node.barriers.empty());
  CHECK(node.complaints.size() == 1);
  node.ask(1, "cmd=barrier_in");
  CHECK(node.barriers.size() == 1);
}

TEST_CASE("lines may come in pieces, and not grow for ever") {
  Node node(*make_world(1, {"0"}));
  REQUIRE(node.server.receive(0, "cmd=get_app"));
  CHECK(node.replies[0].empty());
  REQUIRE(node.server.receive(0, "num\ncmd=finalize\n"));
  CHECK(node.replies[0][0] == "cmd=appnum rc=0 appnum=0\n");
  CHECK(node.replies[0][1] == "cmd=finalize_ack rc=0\n");
  CHECK(node.finalized == std::vector<int>{0});
  CHECK_FALSE(node.server.receive(0, std::string(5000, 'x')));
}

TEST_CASE("of a rank's second MPI program it is known that it connects") {
  Node node(*make_world(1, {"0"}));
  node.ask(0, "cmd=init pmi_version=1 pmi_subversion=1");
  node.ask(0, "cmd=finalize");
  node.ask(0, "cmd=init pmi_version=1 pmi_subversion=1");
  CHECK(node.connected == std::vector<int>{0, 0});
}

TEST_CASE("abort keeps the code, in both spellings") {
  Node node(*make_world(1, {"0"}));
  CHECK(node.ask(0, "cmd=abort exitcode=7").empty());
  CHECK(node.ask(0, "cmd=abort exit_code=8").empty());
  CHECK(node.aborts == std::vector<std::pair<int, int>>{{0, 7}, {0, 8}});
}

TEST_CASE("a spawn is swallowed whole and refused with the way out") {
  Node node(*make_world(1, {"0"}));
  CHECK(node.ask(0, "mcmd=spawn").empty());
  CHECK(node.ask(0, "cmd=put key=a value=b").empty());
  CHECK(node.ask(0, "endcmd").find("--bootstrap mpirun") != std::string::npos);
  CHECK(node.ask(0, "cmd=get key=a").find("rc=-1") != std::string::npos);
}

TEST_CASE("names go to the launcher and back") {
  Node node(*make_world(1, {"0"}));
  node.ask(0, "cmd=publish_name service=s port=p");
  REQUIRE(node.names.size() == 1);
  CHECK(node.names[0].keys == std::vector<std::string>{"pmi1:s"});
  node.server.names_reply(0, {});
  CHECK(node.replies[0].back() == "cmd=publish_result rc=0 info=ok\n");
  node.ask(0, "cmd=lookup_name service=s");
  node.server.names_reply(0, {"", {"pmi1:s"}, {"p"}, {0}});
  CHECK(node.replies[0].back() == "cmd=lookup_result rc=0 info=ok port=p\n");
}

TEST_CASE("cut contributions are noticed") {
  std::string data;
  append_pmi1_pair(data, "k", "v");
  std::map<std::string, std::string> out;
  CHECK(read_pmi1_pairs(data, out));
  CHECK(out["k"] == "v");
  for (size_t length = 1; length < data.size(); ++length) {
    CHECK_FALSE(read_pmi1_pairs(data.substr(0, length), out));
  }
}
