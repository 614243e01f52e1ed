// SPDX-License-Identifier: Apache-2.0
// Search lists as a kubelet writes them, and what a short name may stand for.
#include "launcher/connect/dns_names.h"

#include "catch.h"

namespace muster {
namespace {

using Names = std::vector<std::string>;

const char* const kPodConf =
    "nameserver 10.96.0.10\n"
    "search team.svc.cluster.local svc.cluster.local cluster.local\n"
    "options ndots:5\n";

TEST_CASE("resolv.conf of a pod") {
  const ResolvConf conf = parse_resolv_conf(kPodConf);
  CHECK(conf.search ==
        Names{"team.svc.cluster.local", "svc.cluster.local", "cluster.local"});
  CHECK(conf.ndots == 5);
}

TEST_CASE("resolv.conf in odd forms") {
  CHECK(parse_resolv_conf("").search.empty());
  CHECK(parse_resolv_conf("").ndots == 1);
  CHECK(parse_resolv_conf("search a b\nsearch c.\n").search == Names{"c"});
  CHECK(parse_resolv_conf("domain only.example\n").search ==
        Names{"only.example"});
  CHECK(parse_resolv_conf("options rotate ndots:2 timeout:1").ndots == 2);
  for (const char* bad : {"options ndots:", "options ndots:x",
                          "options ndots:-1", "options ndots:99"}) {
    INFO(bad);
    CHECK(parse_resolv_conf(bad).ndots == 1);
  }
}

TEST_CASE("names of a hosts file") {
  CHECK(hosts_file_names("127.0.0.1 localhost\n"
                         "# 1.2.3.4 not-this\n"
                         "10.0.0.7\tw-0.job.team.svc w-0 # nor-this\n\n") ==
        Names{"localhost", "w-0.job.team.svc", "w-0"});
  CHECK(hosts_file_names("").empty());
}

TEST_CASE("a name that lacks just the cluster domain gets it first") {
  const ResolvConf conf = parse_resolv_conf(kPodConf);
  const Names names = candidate_suffixes("w-0.job.team.svc", conf, nullptr);
  REQUIRE(!names.empty());
  CHECK(names[0] == ".cluster.local");
  CHECK(names.back().empty());
  CHECK(names.size() == 4);
}

TEST_CASE("short names go through the search list, then as they are") {
  const ResolvConf conf = parse_resolv_conf(kPodConf);
  CHECK(candidate_suffixes("w-0.job", conf, nullptr) ==
        Names{".team.svc.cluster.local", ".svc.cluster.local", ".cluster.local",
              ""});
}

TEST_CASE("what worked for a sibling comes first, once") {
  const ResolvConf conf = parse_resolv_conf(kPodConf);
  const std::string learned = ".cluster.local";
  const Names names = candidate_suffixes("w-1.job", conf, &learned);
  CHECK(names == Names{".cluster.local", ".team.svc.cluster.local",
                       ".svc.cluster.local", ""});
}

TEST_CASE("enough dots, or one at the end, and the name is absolute") {
  ResolvConf conf;
  conf.search = {"example"};
  CHECK(candidate_suffixes("a.b", conf, nullptr) == Names{"", ".example"});
  CHECK(candidate_suffixes("a", conf, nullptr) == Names{".example", ""});
  CHECK(candidate_suffixes("a.", conf, nullptr) == Names{""});
  CHECK(candidate_suffixes("a", {}, nullptr) == Names{""});
}

}  // namespace
}  // namespace muster
