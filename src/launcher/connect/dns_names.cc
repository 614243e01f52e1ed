// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/dns_names.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

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

std::vector<std::string> candidate_suffixes(const std::string& name,
                                            const ResolvConf& conf,
                                            const std::string* learned) {
  if (name.ends_with('.')) return {""};
  std::vector<std::string> out;
  const auto add = [&out](const std::string& suffix) {
    if (std::find(out.begin(), out.end(), suffix) == out.end()) {
      out.push_back(suffix);
    }
  };
  if (learned != nullptr) add(*learned);
  // "pod.job.ns.svc" lacks just the cluster domain: the search entry D for
  // which "svc.D" is an entry too.
  if (name.ends_with(".svc")) {
    for (const std::string& domain : conf.search) {
      const auto service =
          std::find(conf.search.begin(), conf.search.end(), "svc." + domain);
      if (service != conf.search.end()) add("." + domain);
    }
  }
  const auto dots = std::count(name.begin(), name.end(), '.');
  if (dots >= conf.ndots) add("");
  for (const std::string& domain : conf.search) add("." + domain);
  add("");
  return out;
}

}  // namespace muster
