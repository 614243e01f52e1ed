// SPDX-License-Identifier: Apache-2.0
#include "job/kubectl.h"

#include "../base/temporary_directory.h"
#include "catch.h"

using namespace muster;

TEST_CASE("kubectl gets the pod's name and its namespace") {
  const std::string host = "pi-worker-0.pi.ml.svc";
  CHECK(describe_pod(host, "") == "kubectl describe pod pi-worker-0 -n ml");
  CHECK(describe_pod(host + ".cluster.local", "other") ==
        "kubectl describe pod pi-worker-0 -n ml");
  CHECK(logs_of_pod(host, "") == "kubectl logs pi-worker-0 -n ml");
  CHECK(node_of_pod(host, "") == "kubectl get pod pi-worker-0 -n ml -o wide");
  CHECK(exec_in_pod(host, "") == "kubectl exec pi-worker-0 -n ml --");
}

TEST_CASE("the namespace is that of the launcher's pod, or a placeholder") {
  CHECK(describe_pod("pi-worker-0", "ml") ==
        "kubectl describe pod pi-worker-0 -n ml");
  CHECK(describe_pod("pi-worker-0", "") ==
        "kubectl describe pod pi-worker-0 -n NAMESPACE");
  CHECK(namespace_of("tj-node-0-0.tj", "ml") == "ml");
  CHECK(namespace_of("10.0.0.7", "ml") == "ml");
  CHECK(namespace_of("", "") == "NAMESPACE");
}

// <JobSet>-<replicated job>-<index>-<pod>, and five random letters.
TEST_CASE("the name of a JobSet's pod is known to its random end") {
  const std::string host = "tj-node-0-1.tj";
  CHECK(describe_pod(host, "ml") == "kubectl describe pod tj-node-0-1- -n ml");
  CHECK(logs_of_pod(host, "ml") ==
        "kubectl logs -n ml -l batch.kubernetes.io/job-name=tj-node-0,"
        "batch.kubernetes.io/job-completion-index=1");
  CHECK(node_of_pod(host, "ml") ==
        "kubectl get pods -n ml -o wide -l "
        "batch.kubernetes.io/job-name=tj-node-0,"
        "batch.kubernetes.io/job-completion-index=1");
  CHECK(exec_in_pod(host, "ml").empty());
  CHECK(describe_pod("tj-node-0-1.tj.ml.svc", "") ==
        "kubectl describe pod tj-node-0-1- -n ml");
  // A pod's own host name, as of the launcher.
  CHECK(describe_pod("tj-node-0-1", "ml") ==
        "kubectl describe pod tj-node-0-1 -n ml");
  CHECK(logs_of_pod("tj-node-0-1", "ml") == logs_of_pod(host, "ml"));
}

TEST_CASE("the pod of a LeaderWorkerSet has its host's name") {
  CHECK(describe_pod("mpi-0-2.mpi.ml", "") ==
        "kubectl describe pod mpi-0-2 -n ml");
  CHECK(exec_in_pod("mpi-0-2.mpi.ml", "") == "kubectl exec mpi-0-2 -n ml --");
}

TEST_CASE("an address is looked up among all pods") {
  const std::string all = "kubectl get pods -n ml -o wide";
  CHECK(describe_pod("10.0.0.7", "ml") == all);
  CHECK(logs_of_pod("fd00::7", "ml") == all);
  CHECK(node_of_pod("", "ml") == all);
  CHECK(exec_in_pod("10.0.0.7", "ml").empty());
}

TEST_CASE("a pod finds its namespace") {
  TemporaryDirectory directory;
  CHECK(own_namespace(directory.path()).empty());
  directory.write("etc/resolv.conf",
                  "nameserver 10.0.0.10\n"
                  "search ml.svc.cluster.local svc.cluster.local\n");
  CHECK(own_namespace(directory.path()) == "ml");
  directory.write("var/run/secrets/kubernetes.io/serviceaccount/namespace",
                  "team\n");
  CHECK(own_namespace(directory.path()) == "team");
}

TEST_CASE("another machine's search list names no namespace") {
  TemporaryDirectory directory;
  directory.write("etc/resolv.conf", "search corp.example\nsearch\n");
  CHECK(own_namespace(directory.path()).empty());
}
