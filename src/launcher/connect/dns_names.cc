// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/dns_names.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

namespace {

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

ResolvConf parse_resolv_conf(std::string_view text) {
  ResolvConf conf;
  for (const auto line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.empty()) continue;
    if (words[0] == "search" || words[0] == "domain") {
      conf.search.clear();  // the last line wins, resolv.conf(5)
      for (size_t i = 1; i < words.size(); ++i) {
        std::string_view domain = words[i];
        while (domain.ends_with('.')) domain.remove_suffix(1);
        if (!domain.empty()) conf.search.emplace_back(domain);
      }
    } else if (words[0] == "options") {
      for (const auto word : words) {
        if (!word.starts_with("ndots:")) continue;
        const auto value = parse_integer(word.substr(6));
        if (value && *value >= 0 && *value <= 15) {
          conf.ndots = static_cast<int>(*value);
        }
      }
    }
  }
  return conf;
}

std::vector<std::string> hosts_file_names(std::string_view text) {
  std::vector<std::string> names;
  for (const auto line : split(text, '\n')) {
    const auto words = split_words(line.substr(0, line.find('#')));
    for (size_t i = 1; i < words.size(); ++i) names.emplace_back(words[i]);
  }
  return names;
}

std::string cluster_domain(const ResolvConf& conf) {
  for (const std::string& domain : conf.search) {
    if (has(conf.search, "svc." + domain)) return domain;
  }
  return {};
}

NameForms forms_of(const std::string& name, const ResolvConf& conf) {
  if (name.ends_with('.')) return {{""}, true};
  const std::string domain = cluster_domain(conf);
  const bool complete = !domain.empty() && name.ends_with(".svc." + domain);
  const bool lacks_domain = !domain.empty() && name.ends_with(".svc");
  NameForms out;
  out.sure = !domain.empty();
  const auto add = [&out](const std::string& suffix) {
    if (!has(out.suffixes, suffix)) out.suffixes.push_back(suffix);
  };
  if (lacks_domain) add("." + domain);
  const auto dots = std::count(name.begin(), name.end(), '.');
  if (complete || (dots >= conf.ndots && !lacks_domain)) add("");
  for (const std::string& entry : conf.search) {
    // "pod.job.ns.svc" in a namespace of the cluster: such a name cannot exist.
    const bool of_services = entry == "svc." + domain ||
                             entry.ends_with(".svc." + domain) ||
                             entry == domain;
    if ((complete || lacks_domain) && of_services) continue;
    add("." + entry);
  }
  add("");
  return out;
}

}  // namespace muster
