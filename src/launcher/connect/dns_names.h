// SPDX-License-Identifier: Apache-2.0
// Which absolute names a pod's short name may stand for. getaddrinfo would try
// all of them on every look-up (ndots:5, three search domains, A and AAAA: 8
// queries for a name that is not there yet). We ask one at a time and remember
// the suffix that worked. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct ResolvConf {
  std::vector<std::string> search;
  int ndots = 1;
};
ResolvConf parse_resolv_conf(std::string_view text);

// All names in /etc/hosts text: those need no DNS.
std::vector<std::string> hosts_file_names(std::string_view text);

// Suffixes to append to `name` ("" = as it is), likeliest first. `learned` is
// a suffix that worked for a sibling; null: none yet.
std::vector<std::string> candidate_suffixes(const std::string& name,
                                            const ResolvConf& conf,
                                            const std::string* learned);

}  // namespace muster
