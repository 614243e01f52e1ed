// SPDX-License-Identifier: Apache-2.0
// What kubectl has to be asked about a host of the hostfile.
#include "launcher/connect/pod_ref.h"

#include "catch.h"

namespace muster {
namespace {

TEST_CASE("a pod's name and namespace from its host name") {
  struct Case {
    const char* host;
    const char* name;
    const char* space;
  };
  for (const Case& one :
       {Case{"pi-worker-0.pi.team.svc", "pi-worker-0", "team"},
        Case{"pi-worker-0.pi.team.svc.cluster.local", "pi-worker-0", "team"},
        Case{"js-node-0-1.js", "js-node-0-1", "mine"},
        Case{"w-0", "w-0", "mine"}, Case{"svc.team.svc", "svc", "mine"},
        Case{"10.0.0.7", "", "mine"}, Case{"fd00::7", "", "mine"}}) {
    INFO(one.host);
    const PodRef pod = pod_of_host(one.host, "mine");
    CHECK(pod.name == one.name);
    CHECK(pod.space == one.space);
  }
}

TEST_CASE("commands can be pasted") {
  const PodRef pod{"w-0", "team"};
  CHECK(describe_command(pod) == "kubectl describe pod w-0 -n team");
  CHECK(list_command(pod) == "kubectl get pods -o wide -n team");
  CHECK(describe_command({"w-0", ""}) == "kubectl describe pod w-0");
  CHECK(describe_command({"", "team"}) == "kubectl get pods -o wide -n team");
}

TEST_CASE("the launcher's own namespace") {
  const char* const conf = "search b.svc.c.example svc.c.example c.example\n";
  CHECK(namespace_of("a\n", conf) == "a");
  CHECK(namespace_of("", conf) == "b");
  CHECK(namespace_of("", "search c.example\n").empty());
  CHECK(namespace_of("", "").empty());
}

}  // namespace
}  // namespace muster
