// SPDX-License-Identifier: Apache-2.0
// NCCL's lists of names (NCCL_IB_HCA, NCCL_SOCKET_IFNAME): "[^][=]a,b:1,…".
// Entries match as prefixes unless the whole value starts with "="; "^" and "="
// count at the start of the value only. A blank belongs to the name, and atoi()
// reads the port: "mlx5_0:0" matches no port, because verbs count from 1.
// Source: NCCL src/misc/utils.cc, parseStringList(). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct NameList {
  struct Entry {
    std::string name;
    int port = -1;  // -1: any
  };
  bool exclude = false;
  bool exact = false;
  std::vector<Entry> entries;
};

NameList parse_name_list(std::string_view text);
// Whether the list lets `name` (and its port) through; an empty list does.
bool admits(const NameList& list, std::string_view name, int port = -1);
bool entry_matches(const NameList::Entry& entry, bool exact,
                   std::string_view name, int port = -1);

}  // namespace muster
