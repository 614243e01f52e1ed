// SPDX-License-Identifier: Apache-2.0
// Hostfiles and host lists of every MPI that a pod may hold, as one value:
// `h slots=n [max_slots=m]` (Open MPI, DeepSpeed), `h:n` (MPICH, Intel MPI,
// MVAPICH2), `[v6]:n`, bare names and addresses, `-H a:2,b`.
// Refuses: counts outside 1..65536, one host with two counts, odd characters.
// Pure; never resolves a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

constexpr int kMaxSlots = 65536;
constexpr size_t kMaxHostName = 253;  // RFC 1035 section 2.3.4, as text

struct HostEntry {
  std::string name;  // without brackets or login name
  int slots = 1;
  bool slots_given = false;  // by number, or by repeating a bare line
  // 0: none. Not a limit on ranks, whatever its manual says: with
  // --oversubscribe Open MPI 4.1.4 goes beyond it, without it not even beyond
  // `slots`.
  int max_slots = 0;
  int line = 0;            // 1-based; position in a list
  bool all_slots = false;  // "a:*" of a list: all slots of the host
};

struct Hostfile {
  std::vector<HostEntry> hosts;  // in file order, each name once
  std::string source;            // path or option, for messages
};

// Repeated bare lines add slots, as in Open MPI. Errors, all with FILE:LINE:
// "hostfile_syntax", "hostfile_slots", "hostfile_duplicate"; "hostfile_empty"
// if it names no host, which a caller may wait out: operators mount the file
// before they fill it.
Result<Hostfile> parse_hostfile(std::string_view text,
                                const std::string& source);

// The value of -H, --host or -hosts: the same entries, separated by commas, and
// "a:*".
Result<Hostfile> parse_host_list(std::string_view list,
                                 const std::string& source);

enum class HostfileFormat { kOpenMpi, kMpich, kIntel, kMvapich, kDeepSpeed };
// One line per host, always with its slots; Open MPI's max_slots is kept.
std::string write_hostfile(const std::vector<HostEntry>& hosts,
                           HostfileFormat format);

bool is_ip_address(std::string_view text);  // v4 or v6, without brackets
// "a.b.c" -> "a"; an address is its own first label.
std::string_view first_label(std::string_view host);

}  // namespace muster
