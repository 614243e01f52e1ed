// SPDX-License-Identifier: Apache-2.0
// Every recorded machine of tests/fabric yields its published setting; and a
// few things hold for all of them, whatever else is known or forgotten.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/text.h"
#include "catch.h"
#include "fabric/facts/facts_json.h"
#include "fabric/facts/facts_text.h"
#include "fabric/plan_json.h"
#include "fabric/policy/policy.h"
#include "sweep.h"

namespace {

using namespace muster;
using Json = nlohmann::json;

struct Machine {
  std::string name;
  Json json;
  std::vector<PodFabric> pods;
  FabricRequest request;
};

Machine load(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  Machine out;
  out.name = path.stem().string();
  out.json = Json::parse(strict_json(text.str()));
  const auto facts = read_facts(text.str(), out.name);
  INFO(out.name);
  if (!facts) {
    FAIL_CHECK(facts.error().text());
  } else {
    for (const std::string& note : facts->notes) {
      // Other names of a field are how people write; nothing may be lost.
      const bool harmless = note.find(" is read as ") != note.npos ||
                            note.find(" beside pods is taken ") != note.npos;
      if (!harmless) FAIL_CHECK(note);
    }
    out.pods = facts->pods;
  }
  const Json request = out.json.value("request", Json::object());
  out.request.profile_word = request.value("profile", "");
  out.request.profile = parse_profile(out.request.profile_word).value();
  out.request.nccl_version = request.value("nccl", "");
  return out;
}

std::vector<Machine> load_all() {
  std::vector<Machine> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(MUSTER_MACHINES)) {
    if (entry.path().extension() == ".json") out.push_back(load(entry.path()));
  }
  std::sort(out.begin(), out.end(),
            [](auto& a, auto& b) { return a.name < b.name; });
  return out;
}

// Reading hundreds of them for each case would take as long as the cases.
const std::vector<Machine>& machines() {
  static const std::vector<Machine> all = load_all();
  return all;
}

void check_env(const PodPlan& pod, const Json& wanted) {
  const auto env = pod.env();
  for (const auto& [name, value] : wanted.items()) {
    INFO(pod.name << " " << name);
    const auto found = env.find(name);
    CHECK((found == env.end() ? "(not set)" : found->second) ==
          value.get<std::string>());
  }
}

}  // namespace

TEST_CASE("recorded machines yield their published setting") {
  const auto& all = machines();
  REQUIRE(all.size() >= 25);
  for (const Machine& machine : all) {
    const FabricPlan plan = plan_fabric(machine.pods, machine.request);
    INFO(machine.name << "\n" << explain_plan(plan));
    const Json& expect = machine.json.at("expect");
    CHECK(verdict_name(plan.verdict) ==
          expect.at("verdict").get<std::string>());
    if (expect.contains("transport")) {
      CHECK(plan.transport == expect["transport"].get<std::string>());
    }
    std::set<std::string> codes;
    for (const Finding& finding : plan.findings) codes.insert(finding.code);
    for (const auto& code : expect.value("findings", Json::array())) {
      INFO("finding " << code);
      CHECK(codes.count(code.get<std::string>()) == 1);
    }
    for (const auto& code : expect.value("silent", Json::array())) {
      INFO("no finding " << code);
      CHECK(codes.count(code.get<std::string>()) == 0);
    }
    for (const PodPlan& pod : plan.pods) {
      const Json env = expect.value("env", Json::object());
      if (expect.contains("env") && env.empty()) CHECK(pod.env().empty());
      check_env(pod, env);
      for (const auto& name : expect.value("absent", Json::array())) {
        INFO("absent " << name);
        CHECK(pod.env().count(name.get<std::string>()) == 0);
      }
      if (expect.contains("pod_env") && expect["pod_env"].contains(pod.name)) {
        check_env(pod, expect["pod_env"][pod.name]);
      }
    }
    if (expect.contains("mpirun_args")) {
      CHECK(join(plan.mpirun_args, " ") ==
            expect["mpirun_args"].get<std::string>());
    }
  }
}

TEST_CASE("facts survive being written and read again") {
  Sweep sweep(0);
  for (const Machine& machine : machines()) {
    if (!sweep.takes()) continue;
    const std::string text = write_facts(machine.pods);
    const auto again = read_facts(text, "again");
    INFO(machine.name);
    REQUIRE(again.has_value());
    CHECK(write_facts(again->pods) == text);
    CHECK(plan_to_json(plan_fabric(again->pods, machine.request)) ==
          plan_to_json(plan_fabric(machine.pods, machine.request)));
  }
}

namespace {

// {"index": 3, "gid": "10.0.0.1", "type": "v2"} -> "3 v2 10.0.0.1"; as it was
// where words cannot say it.
Json gid_as_words(const Json& gid) {
  for (const char* field : {"readable", "usable"}) {
    if (gid.contains(field) && gid[field] == true) return gid;
  }
  std::string text = std::to_string(gid.value("index", 0));
  for (const char* field : {"type", "gid", "netdev"}) {
    const std::string word = gid.value(field, "");
    if (!word.empty()) text += " " + word;
  }
  if (gid.contains("readable")) text += " unreadable";
  if (gid.contains("usable")) text += " unusable";
  return text;
}

void respell_hca(Json& hca) {
  Json& ports = hca["ports"];
  for (Json& port : ports) {
    if (port.contains("gids")) {
      for (Json& gid : port["gids"]) gid = gid_as_words(gid);
    }
    if (port.contains("rate_gbps")) {
      port["rate_gbps"] = port["rate_gbps"].dump() + " Gb/sec (4X)";
    }
  }
  if (ports.size() != 1) return;
  const Json port = ports[0];
  hca.erase("ports");
  hca.update(port);
}

void respell_words(Json& part) {
  if (part.is_boolean()) part = part.get<bool>() ? "yes" : "no";
  if (!part.is_structured()) return;
  for (Json& item : part) respell_words(item);
}

// A list of which the reader makes the same order again, by name.
void respell_by_name(Json& list) {
  Json object = Json::object();
  std::string last;
  for (const Json& item : list) {
    const std::string name = item.value("name", "");
    if (name.empty() || object.contains(name) || name <= last ||
        name.size() < last.size()) {
      return;
    }
    last = name;
    object[name] = item;
    object[name].erase("name");
  }
  if (!object.empty()) list = std::move(object);
}

void respell(Json& pod) {
  for (const char* map : {"environment", "nccl_conf", "nccl_user_conf"}) {
    if (!pod.contains(map)) continue;
    // A line's quotation marks are the shell's.
    if (pod[map].dump().find("\\\"") != std::string::npos) continue;
    Json lines = Json::array();
    for (const auto& item : pod[map].items()) {
      lines.push_back(item.key() + "=" + item.value().get<std::string>());
    }
    pod[map] = std::move(lines);
  }
  if (pod.contains("hcas")) {
    for (Json& hca : pod["hcas"]) respell_hca(hca);
    respell_by_name(pod["hcas"]);
  }
  if (pod.contains("netdevs")) {
    for (Json& netdev : pod["netdevs"]) {
      if (netdev.contains("addresses") && netdev["addresses"].size() == 1) {
        netdev["addresses"] = Json(netdev["addresses"][0]);
      }
    }
    respell_by_name(pod["netdevs"]);
  }
  if (pod.contains("gpus") && !pod["gpus"].empty()) {
    const Json one = pod["gpus"][0];
    const size_t count = pod["gpus"].size();
    if (pod["gpus"] == Json(count, one)) {
      pod["gpus"] = one;
      pod["gpus"]["count"] = count;
    }
  }
  respell_words(pod);
}

}  // namespace

TEST_CASE("another spelling of a machine yields the same plan") {
  Sweep sweep(1);
  for (const Machine& machine : machines()) {
    if (!sweep.takes()) continue;
    Json json = Json::parse(write_facts(machine.pods));
    for (Json& pod : json["pods"]) respell(pod);
    const auto again = read_facts(json.dump(), "respelled");
    INFO(machine.name << " " << json.dump());
    if (!again) FAIL(again.error().text());
    CHECK(again->notes == std::vector<std::string>{});
    CHECK(plan_to_json(plan_fabric(again->pods, machine.request)) ==
          plan_to_json(plan_fabric(machine.pods, machine.request)));
  }
}

namespace {

// Of long lists the two ends: what is tried here grows with their square, and
// the whole machines are planned in the tests above.
void shorten(Json& part) {
  if (part.is_array() && part.size() > 4) {
    part.erase(part.begin() + 2, part.end() - 2);
  }
  if (!part.is_structured()) return;
  for (Json& item : part) shorten(item);
}

// The fields of a value, without what is in them: {"gid":1,"index":1}.
Json shape(const Json& part) {
  if (!part.is_structured()) return 1;
  Json out = part.is_array() ? Json::array() : Json::object();
  for (const auto& item : part.items()) {
    if (part.is_object()) out[item.key()] = shape(item.value());
    if (part.is_array()) out.push_back(shape(item.value()));
  }
  return out;
}

// All ways to forget one field somewhere in the facts. Of list entries with
// the same fields one loses them: the others stand in the same place.
void forget_each(const Json& whole, Json& part,
                 const std::function<void(const Json&)>& with) {
  if (part.is_object()) {
    std::vector<std::string> keys;
    for (const auto& item : part.items()) keys.push_back(item.key());
    for (const std::string& key : keys) {
      const Json saved = part[key];
      part.erase(key);
      with(whole);
      part[key] = saved;
      forget_each(whole, part[key], with);
    }
  } else if (part.is_array()) {
    std::set<std::string> seen;
    for (Json& item : part) {
      if (seen.insert(shape(item).dump()).second) {
        forget_each(whole, item, with);
      }
    }
  }
}

bool uses_rdma_everywhere(const FabricPlan& plan) {
  return plan.transport != "TCP" && plan.transport != "unknown";
}

// What explain tells of a setting: nothing of it may be left out.
bool is_whole(const FabricSetting& setting) {
  return !setting.value.empty() && !setting.reason.empty() &&
         !setting.evidence.empty() && !setting.source.empty() &&
         !setting.alone.empty() && !setting.rejected.empty();
}

void check_whole(const FabricPlan& plan, const Json& mutant) {
  for (const PodPlan& pod : plan.pods) {
    for (const FabricSetting& setting : pod.settings) {
      if (!is_whole(setting)) FAIL(setting.name << " of " << mutant.dump());
    }
    // No pod is sent to TCP by NCCL_NET while others use RDMA.
    const auto env = pod.env();
    const auto net = env.find("NCCL_NET");
    if (uses_rdma_everywhere(plan) && net != env.end() &&
        net->second == "Socket") {
      FAIL("Socket beside RDMA: " << mutant.dump());
    }
  }
}

}  // namespace

TEST_CASE("whatever is forgotten, a plan stays whole") {
  // Of each machine every fourth fact, another one than of the next machine:
  // with hundreds of machines each kind of fact is forgotten in many.
  constexpr size_t kStride = 4;
  size_t first = 0;
  int tried = 0;
  Sweep sweep(1);
  for (Machine machine : machines()) {
    if (!sweep.takes()) continue;
    size_t at = first++;
    Json json = Json::parse(write_facts(machine.pods));
    shorten(json["pods"]);
    machine.pods = read_facts(json.dump(), "short").value().pods;
    INFO(machine.name);
    std::set<std::string> seen;
    for (size_t i = 0; i < machine.pods.size(); ++i) {
      if (!seen.insert(shape(json["pods"][i]).dump()).second) continue;
      // Only the pod that changes is read again: reading is what takes long.
      std::vector<PodFabric> pods = machine.pods;
      Json pod = json["pods"][i];
      forget_each(pod, pod, [&](const Json& mutant) {
        if (++at % kStride != 0) return;
        ++tried;
        const auto facts = read_facts(mutant.dump(), "mutant");
        if (!facts) return;
        pods[i] = facts->pods[0];
        const FabricPlan plan = plan_fabric(pods, machine.request);
        REQUIRE(plan.pods.size() == pods.size());
        check_whole(plan, mutant);
      });
    }
  }
  CHECK(tried > 1000);
}

TEST_CASE("every decision says what was seen and what lost against it") {
  Sweep sweep(2);
  for (const Machine& machine : machines()) {
    if (!sweep.takes()) continue;
    const FabricPlan plan = plan_fabric(machine.pods, machine.request);
    INFO(machine.name << "\n" << explain_plan(plan));
    CHECK(!plan.transport_reason.empty());
    const bool rdma = uses_rdma_everywhere(plan);
    if (rdma) CHECK(!plan.transport_rejected.empty());
    for (const PodPlan& pod : plan.pods) {
      for (const FabricSetting& setting : pod.settings) {
        INFO(setting.name);
        CHECK(is_whole(setting));
      }
    }
  }
}

TEST_CASE("the order of pods does not change what they are told") {
  Sweep sweep(0);
  for (const Machine& machine : machines()) {
    if (!sweep.takes()) continue;
    auto turned = machine.pods;
    std::reverse(turned.begin(), turned.end());
    const FabricPlan plan = plan_fabric(machine.pods, machine.request);
    FabricPlan other = plan_fabric(turned, machine.request);
    std::reverse(other.pods.begin(), other.pods.end());
    INFO(machine.name);
    CHECK(plan.verdict == other.verdict);
    for (size_t i = 0; i < plan.pods.size(); ++i) {
      CHECK(plan.pods[i].env() == other.pods[i].env());
    }
  }
}

TEST_CASE("a pod without adapters takes any job to TCP, or refuses it") {
  PodFabric bare;
  bare.name = "bare";
  bare.hcas.emplace();
  bare.pci_hcas.emplace();
  Sweep sweep(1);
  for (const Machine& machine : machines()) {
    if (!sweep.takes()) continue;
    auto pods = machine.pods;
    pods.push_back(bare);
    FabricRequest request = machine.request;
    const FabricPlan plan = plan_fabric(pods, request);
    INFO(machine.name);
    CHECK((plan.verdict == FabricVerdict::kTcp ||
           plan.verdict == FabricVerdict::kRefuse));
    CHECK(plan.transport == "TCP");
    request.profile = Profile::kRdma;
    CHECK(plan_fabric(pods, request).verdict == FabricVerdict::kRefuse);
  }
}

TEST_CASE("the user's own values are never changed") {
  Sweep sweep(2);
  for (Machine machine : machines()) {
    if (!sweep.takes()) continue;
    const FabricPlan before = plan_fabric(machine.pods, machine.request);
    for (size_t i = 0; i < machine.pods.size(); ++i) {
      for (const auto& [name, value] : before.pods[i].env()) {
        machine.pods[i].environment[name] = "0";
      }
    }
    const FabricPlan after = plan_fabric(machine.pods, machine.request);
    for (size_t i = 0; i < machine.pods.size(); ++i) {
      for (const auto& [name, value] : machine.pods[i].environment) {
        INFO(machine.name << " " << name);
        CHECK(after.pods[i].env().count(name) == 0);
      }
    }
  }
}
