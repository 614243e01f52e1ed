// SPDX-License-Identifier: Apache-2.0
// The way to a real server is tests/cluster/test_event.py.
#include "launcher/report/verdict_event.h"

#include <nlohmann/json.hpp>

#include "../base/temporary_directory.h"
#include "catch.h"

using namespace muster;

TEST_CASE("what an event is about") {
  const auto job = parse_event_object("MPIJob/pi");
  REQUIRE(job);
  CHECK(job->api_version == "kubeflow.org/v2beta1");
  CHECK(job->kind == "MPIJob");
  CHECK(job->name == "pi");
  CHECK(job->uid.empty());
  CHECK(parse_event_object("trainjob/t/8-4-4-4-12")->uid == "8-4-4-4-12");
  CHECK(parse_event_object("job/pi.launcher")->kind == "Job");
  for (const char* bad :
       {"", "pi", "mpijob", "mpijob/", "node/n", "mpijob/a/b/c", "mpijob/A B",
        "on", "mpijob/pi/", "mpijob/\"x"}) {
    INFO(bad);
    CHECK_FALSE(parse_event_object(bad));
  }
}

TEST_CASE("a pod knows its own UID by what the kubelet mounted") {
  const std::string uid = "0c9f0a6e-6d2f-4b0e-9a44-0b1d2c3d4e5f";
  const std::string mounts =
      "600 500 8:1 /x /a rw - ext4 /dev/sda rw\n"
      "601 500 8:1 /var/lib/kubelet/pods/" +
      uid + "/etc-hosts /etc/hosts rw,relatime - ext4 /dev/sda1 rw\n";
  EventObject pod = own_pod({}, "pi-launcher-x7k2p", mounts);
  CHECK(pod.kind == "Pod");
  CHECK(pod.name == "pi-launcher-x7k2p");
  CHECK(pod.uid == uid);
  pod = own_pod({{"POD_NAME", "mpi-launcher-0-0-abcde"}}, "mpi-launcher-0-0",
                "1 2 8:1 /pods/no-uid/etc-hosts /etc/hosts rw - ext4 d rw\n");
  CHECK(pod.name == "mpi-launcher-0-0-abcde");
  CHECK(pod.uid.empty());
}

TEST_CASE("an event has the sentence, and fits the API's bounds") {
  Verdict verdict;
  verdict.code = "host_oom_kill";
  verdict.exit_class = "worker_out_of_memory";
  verdict.exit_code = 204;
  verdict.retryable = true;
  verdict.headline = "Worker-1 exceeded its memory limit \"64 MiB\"";
  const EventObject job = *parse_event_object("mpijob/pi");
  auto event = nlohmann::json::parse(
      event_json(job, "ml", verdict, 1'700'000'000'123'000'000));
  CHECK(event["involvedObject"]["kind"] == "MPIJob");
  CHECK(event["involvedObject"]["namespace"] == "ml");
  CHECK(event["metadata"]["namespace"] == "ml");
  CHECK(event["reason"] == "WorkerOutOfMemory");
  CHECK(event["type"] == "Warning");
  CHECK(event["message"] ==
        "Worker-1 exceeded its memory limit \"64 MiB\" (host_oom_kill, exit "
        "code 204, worth a retry)");
  CHECK(event["firstTimestamp"] == "2023-11-14T22:13:20Z");
  CHECK_FALSE(event["involvedObject"].contains("uid"));
  verdict.headline = std::string(5000, 'x');
  event = nlohmann::json::parse(event_json(job, "ml", verdict, 1));
  CHECK(event["message"].get<std::string>().size() <= 1024);
}

TEST_CASE("without a token nobody asks the API server") {
  TemporaryDirectory directory;
  const Environment env = {{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                           {"KUBERNETES_SERVICE_PORT", "443"}};
  CHECK(event_environment(env, "ml", directory.path()).empty());
  directory.write("var/run/secrets/kubernetes.io/serviceaccount/token", "t");
  CHECK(event_environment(env, "", directory.path()).empty());
  CHECK(event_environment({}, "ml", directory.path()).empty());
  const Environment made = event_environment(env, "ml", directory.path());
  const std::string* url = find_env(made, "KUBEFLOW_TRAINER_SERVER_URL");
  REQUIRE(url != nullptr);
  CHECK(*url == "https://[fd00::1]:443/api/v1/namespaces/ml/events");
}
