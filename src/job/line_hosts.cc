// SPDX-License-Identifier: Apache-2.0
#include "job/line_hosts.h"

#include <algorithm>

#include "base/text.h"
#include "job/short_names.h"

namespace muster {

namespace {

// 0: all slots of the host. Checks this many ranks per node against them.
int slots_for_program(const MpirunLine& line, const HostEntry& host) {
  if (host.slots_given) return host.slots;
  return host.all_slots || line.per_node.value_or(1) > 1 ? 0 : 1;
}

auto named(const std::vector<HostEntry>& hosts, const std::string& name) {
  return std::find_if(hosts.begin(), hosts.end(),
                      [&](const HostEntry& host) { return host.name == name; });
}

}  // namespace

std::vector<HostEntry> hosts_of_line(const MpirunLine& line) {
  std::vector<HostEntry> out = line.hosts;
  if (!out.empty()) {
    if (line.per_node.value_or(1) == 1) {
      give_one_slot_each(out, line.np.value_or(0));
    }
    return out;
  }
  for (const MpirunApp& app : line.apps) {
    for (HostEntry host : app.hosts) {
      const int slots = slots_for_program(line, host);
      host.slots_given = slots > 0;
      host.slots = std::max(slots, 1);
      const auto at = named(out, host.name) - out.cbegin();
      if (at == static_cast<ptrdiff_t>(out.size())) {
        out.push_back(std::move(host));
        continue;
      }
      HostEntry& first = out[static_cast<size_t>(at)];
      first.all_slots |= host.all_slots;
      first.slots_given &= host.slots_given;
      first.slots = std::max(first.slots, host.slots);
    }
  }
  return out;
}

Result<std::vector<AppHost>> own_places(const MpirunLine& line,
                                        const MpirunApp& app,
                                        const std::vector<HostEntry>& hosts) {
  std::vector<AppHost> out;
  if (line.apps.size() < 2) return out;
  for (const HostEntry& host : app.hosts) {
    const auto found = named(hosts, host.name);
    if (found == hosts.end()) {
      return fail(Error{
          "usage",
          "cannot place " + shell_quote(app.argv[0]),
          "its host " + host.name + " is not among the hosts of this launch",
          {},
          "Name it in --hostfile or -H of `muster launch`, too, or "
          "leave these out."});
    }
    out.push_back({static_cast<int>(found - hosts.begin()),
                   slots_for_program(line, host)});
  }
  return out;
}

}  // namespace muster
