// SPDX-License-Identifier: Apache-2.0
// The verbs tests, rail by rail: adapters that reach nobody, single ways that
// fail, rails slower than their median or than their port's rate.
#include <map>

#include "fabric/prove/judge_parts.h"

namespace muster {

namespace {

struct RailWays {
  std::vector<Way> tested;
  std::vector<Way> bad;
  std::map<std::pair<size_t, size_t>, const RailResult*> failures;
  std::vector<std::pair<Way, const RailResult*>> measured;
};

std::map<std::string, RailWays> by_rail(const JobCheck& check) {
  std::map<std::string, RailWays> out;
  for (const TestedPair& pair : check.pairs) {
    for (const RailResult& rail : pair.answer.result.rails) {
      const std::string name = rail.across || rail.rail != rail.peer_rail
                                   ? rail.rail + " to " + rail.peer_rail
                                   : rail.rail;
      RailWays& ways = out[name];
      const Way way{pair.driver, pair.peer};
      ways.tested.push_back(way);
      if (!rail.code.empty()) {
        ways.bad.push_back(way);
        ways.failures[{way.from, way.to}] = &rail;
      } else {
        ways.measured.emplace_back(way, &rail);
      }
    }
  }
  return out;
}

const RailResult* example(const RailWays& ways, size_t pod) {
  for (const auto& [way, rail] : ways.failures) {
    if (way.first == pod || way.second == pod) return rail;
  }
  return nullptr;
}

void judge_failures(const JobCheck& check, const std::string& name,
                    const RailWays& ways, Findings& out) {
  const std::string remedy =
      "cable, switch port, VLAN, MTU, route or address of that adapter; "
      "`muster fabric show` in that pod says more";
  const BlamedWays blamed = blame(ways.tested, ways.bad, BlameSide::kBoth);
  for (const size_t pod : blamed.pods) {
    const RailResult* rail = example(ways, pod);
    out.push_back(
        {Severity::kError, rail->code,
         "rail " + name + " of " + check.pods[pod].name + " does not work",
         rail->text, remedy});
  }
  for (const Way& way : blamed.ways) {
    const RailResult* rail = ways.failures.at({way.from, way.to});
    out.push_back(
        {rail->across ? Severity::kWarning : Severity::kError, rail->code,
         "rail " + name + " does not work between " +
             check.pods[way.from].name + " and " + check.pods[way.to].name,
         rail->text, remedy});
  }
}

void judge_speed(const JobCheck& check, const std::string& name,
                 const RailWays& ways, Findings& out) {
  std::vector<double> rates;
  for (const auto& [way, rail] : ways.measured) rates.push_back(rail->to_gbps);
  const double usual = median_of(rates);
  for (const auto& [way, rail] : ways.measured) {
    const bool outlier = rates.size() >= 3 && rail->to_gbps < usual / 2;
    const bool below = rail->port_gbps > 0 && rail->to_gbps >= 0 &&
                       rail->to_gbps < 0.8 * rail->port_gbps;
    if (!outlier && !below) continue;
    std::string evidence = decimal(rail->to_gbps) + " Gb/s";
    if (outlier) evidence += ", the rail's median is " + decimal(usual);
    if (below) evidence += ", the port has " + decimal(rail->port_gbps);
    out.push_back({outlier ? Severity::kWarning : Severity::kInfo, "rdma_slow",
                   "rail " + name + " from " + check.pods[way.from].name +
                       " to " + check.pods[way.to].name + " is slow",
                   evidence, "other traffic, PCIe width, relaxed ordering"});
  }
}

}  // namespace

void judge_rails(const JobCheck& check, Findings& out) {
  const auto rails = by_rail(check);
  for (const auto& [name, ways] : rails) {
    judge_failures(check, name, ways, out);
    if (check.bench) judge_speed(check, name, ways, out);
  }
}

}  // namespace muster
