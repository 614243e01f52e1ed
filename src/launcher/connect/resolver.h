// SPDX-License-Identifier: Apache-2.0
// Resolver: resolves the names of all workers of a launch. Runs getaddrinfo on
// a bounded set of short-lived threads; answers come back on the loop.
// LookupPlan decides when and in which form a look-up goes out. Names from
// /etc/hosts and literal addresses need no look-up.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "launcher/connect/address.h"
#include "launcher/connect/lookup_plan.h"

namespace muster {

struct LookupAnswer {
  int error = 0;  // EAI_…
  std::vector<Address> addresses;
};

// getaddrinfo.
LookupAnswer ask_system(const std::string& name, int family);

struct ResolverOptions {
  int threads = 16;
  std::string resolv_conf = "/etc/resolv.conf";
  std::string hosts_file = "/etc/hosts";
  std::optional<int> family;  // the pod's only one; nullopt: find out
  // Asks for one absolute name. Blocks, on a thread of its own.
  std::function<LookupAnswer(const std::string& name, int family)> look_up =
      ask_system;
};

class Resolver {
 public:
  using Answer = std::function<void(Result<std::vector<Address>>)>;

  Resolver(Loop& loop, ResolverOptions options);
  ~Resolver();

  // Answers once, on the loop. Answers from memory if the name resolved within
  // the last second, or earlier and no look-up may go out now. Error codes:
  // "dns_unresolved" (no such name), "dns_failure" (the server failed or did
  // not answer), "tcp_unreachable" (an address of a family that this pod does
  // not have).
  void resolve(const std::string& name, Answer answer);

 private:
  struct Request {
    std::string name;
    Answer answer;
  };
  struct Known {
    std::vector<Address> addresses;
    Clock::time_point seen;
  };
  struct Shared;  // outlives us in threads still inside getaddrinfo

  void pump();
  // An address, or a name of /etc/hosts: needs no DNS server.
  bool free_of_cost(const std::string& name) const;
  // The answer for a name that needs no look-up now; null: it needs one.
  const Known* remembered(const std::string& name);
  void launch(Request request);
  // Keeps the result of a look-up. If a miss says nothing about a name with an
  // address, returns that address.
  void learn(const std::string& name, const std::string& suffix,
             LookupAnswer& answer);
  void finished(const Request& request, const std::string& suffix,
                LookupAnswer answer);

  Loop& loop_;
  ResolverOptions options_;
  LookupPlan plan_;
  std::set<std::string> local_names_;
  int family_ = 0;
  int running_ = 0;
  std::deque<Request> queue_;
  std::map<std::string, Known> known_;
  Timer timer_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace muster
