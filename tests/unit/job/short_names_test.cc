// SPDX-License-Identifier: Apache-2.0
#include "job/short_names.h"

#include "catch.h"

namespace muster {
namespace {

std::vector<HostEntry> hosts(const std::string& list) {
  auto parsed = parse_host_list(list, "-H");
  REQUIRE(parsed);
  return parsed->hosts;
}

const std::string kJob = "pi-worker-0.pi.ns.svc,pi-worker-1.pi.ns.svc";

using Names = std::vector<std::pair<std::string, std::string>>;

Names strangers(std::vector<HostEntry>& asked, const std::string& job = kJob) {
  Names out;
  for (const Stranger& one : use_job_names(asked, hosts(job))) {
    out.emplace_back(one.name, one.meant);
  }
  return out;
}

TEST_CASE("the name of a pod stands for the job's host") {
  auto asked = hosts("pi-worker-1:2,pi-worker-0");
  CHECK(use_job_names(asked, hosts(kJob)).empty());
  CHECK(asked[0].name == "pi-worker-1.pi.ns.svc");
  CHECK(asked[0].slots == 2);
  CHECK(asked[1].name == "pi-worker-0.pi.ns.svc");
}

TEST_CASE("capital letters name the same host") {
  auto asked = hosts("PI-Worker-1,pi-worker-0");
  CHECK(use_job_names(asked, hosts(kJob)).empty());
  CHECK(asked[0].name == "pi-worker-1.pi.ns.svc");
}

TEST_CASE("what is no pod of the job is named and left alone") {
  auto asked = hosts("pi-worker-7,10.1.2.3,a.b,pi-worker-0.pi");
  CHECK(strangers(asked) == Names{{"pi-worker-7", ""}});
  CHECK(asked[0].name == "pi-worker-7");
  CHECK(asked[1].name == "10.1.2.3");
  CHECK(asked[3].name == "pi-worker-0.pi");
}

TEST_CASE("a name that is misspelt is told with the job's") {
  auto asked = hosts("pi-wroker-1,pi-worke-0.pi.ns.svc,pi-worker-2.pi.ns.svc");
  CHECK(strangers(asked) ==
        Names{{"pi-wroker-1", "pi-worker-1.pi.ns.svc"},
              {"pi-worke-0.pi.ns.svc", "pi-worker-0.pi.ns.svc"},
              {"pi-worker-2.pi.ns.svc", ""}});
  asked = hosts("b,10.0.0.2,x-0.y");
  CHECK(strangers(asked, "a,10.0.0.1") == Names{{"b", ""}});
}

TEST_CASE("no guess among hosts of one label, no host twice") {
  auto asked = hosts("w-0");
  CHECK(use_job_names(asked, hosts("w-0.a,w-0.b")).size() == 1);
  CHECK(asked[0].name == "w-0");
  asked = hosts("w-0,w-0.a");
  CHECK(use_job_names(asked, hosts("w-0.a")).empty());
  CHECK(asked[0].name == "w-0");
  asked = hosts("w-0");
  CHECK(use_job_names(asked, hosts("w-0,w-1")).empty());
}

TEST_CASE("a host of a mpirun line without a number is one rank") {
  auto asked = hosts("a,b:2");
  CHECK_FALSE(asked[0].slots_given);
  give_one_slot_each(asked, 3);
  CHECK(asked[0].slots_given);
  CHECK(asked[0].slots == 1);
  asked = hosts("a,b");
  give_one_slot_each(asked, 4);
  CHECK_FALSE(asked[0].slots_given);
  give_one_slot_each(asked, 0);
  CHECK(asked[1].slots_given);
}

TEST_CASE("all slots of a host are its pod's to say") {
  std::vector<HostEntry> hosts = parse_host_list("a:*,b", "-H").value().hosts;
  give_one_slot_each(hosts, 9);
  CHECK(hosts[0].all_slots);
  CHECK_FALSE(hosts[0].slots_given);
  CHECK(hosts[1].slots_given);
  CHECK(parse_host_list("a:*,a", "-H").error().code == "hostfile_duplicate");
  CHECK(parse_host_list("a,a:*", "-H").error().code == "hostfile_duplicate");
  CHECK(parse_hostfile("a:*\n", "f").error().code == "hostfile_slots");
}

}  // namespace
}  // namespace muster
