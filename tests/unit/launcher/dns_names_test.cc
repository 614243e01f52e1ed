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

TEST_CASE("the cluster's domain by a kubelet's list") {
  const ResolvConf conf = parse_resolv_conf(kPodConf);
  CHECK(cluster_domain(conf) == "cluster.local");
  const ResolvConf other = parse_resolv_conf("search svc.example lab.example");
  CHECK(cluster_domain(other).empty());
}

TEST_CASE("a name that lacks just the cluster domain gets it first") {
  // Behind the kubelet's three come those of the node.
  const ResolvConf conf =
      parse_resolv_conf(std::string(kPodConf) +
                        "search team.svc.cluster.local svc.cluster.local "
                        "cluster.local node.example\n");
  const NameForms forms = forms_of("w-0.job.team.svc", conf);
  // "….svc.team.svc.cluster.local" and "….svc.svc.cluster.local" cannot be.
  CHECK(forms.suffixes == Names{".cluster.local", ".node.example", ""});
  CHECK(forms.sure);
}

TEST_CASE("a name with the cluster's domain is asked for as it is") {
  const NameForms forms =
      forms_of("w-0.team.svc.cluster.local", parse_resolv_conf(kPodConf));
  CHECK(forms.suffixes == Names{""});
  CHECK(forms.sure);
}

TEST_CASE("short names go through the search list, then as they are") {
  const NameForms forms = forms_of("w-0.job", parse_resolv_conf(kPodConf));
  CHECK(forms.suffixes == Names{".team.svc.cluster.local", ".svc.cluster.local",
                                ".cluster.local", ""});
  CHECK(forms.sure);
}

TEST_CASE("enough dots, or one at the end, and the name is absolute") {
  ResolvConf conf;
  conf.search = {"example"};
  CHECK(forms_of("a.b", conf).suffixes == Names{"", ".example"});
  CHECK_FALSE(forms_of("a.b", conf).sure);
  CHECK(forms_of("a", conf).suffixes == Names{".example", ""});
  CHECK(forms_of("a.", conf).suffixes == Names{""});
  CHECK(forms_of("a", {}).suffixes == Names{""});
}

}  // namespace
}  // namespace muster
