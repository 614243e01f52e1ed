// SPDX-License-Identifier: Apache-2.0
// Resolver: names to addresses for all workers of a launch, politely.
// getaddrinfo on a bounded set of short-lived threads; answers come back on
// the loop. While names are missing it asks the DNS server at most
// `queries_per_second`; every success earns two more look-ups at once, so a
// launch whose names all exist resolves in a few round trips.
// Names from /etc/hosts and literal addresses cost nothing.
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
#include "launcher/connect/dns_names.h"

namespace muster {

struct ResolverOptions {
  double queries_per_second = 2;
  int threads = 16;
  std::string resolv_conf = "/etc/resolv.conf";
  std::string hosts_file = "/etc/hosts";
  std::optional<int> family;  // AF_INET, …: all this pod has; else it is seen
};

class Resolver {
 public:
  using Answer = std::function<void(Result<std::vector<Address>>)>;

  Resolver(Loop& loop, ResolverOptions options);
  ~Resolver();

  // Answers once, on the loop. A name that resolved before is answered from
  // memory while the query budget is used up. Error codes: "dns_unresolved"
  // (no such name), "dns_failure" (the server failed or did not answer),
  // "tcp_unreachable" (an address of a family that this pod does not have).
  void resolve(const std::string& name, Answer answer);

 private:
  struct Request {
    std::string name;
    Answer answer;
  };
  struct Known {
    std::vector<Address> addresses;
    size_t attempts = 0;  // failed in a row; picks the suffix to ask for
  };
  struct Shared;  // outlives us in threads still inside getaddrinfo

  void pump();
  void refill();
  // An address, or a name of /etc/hosts: no DNS server hears of it.
  bool free_of_cost(const std::string& name) const;
  std::string next_suffix(const std::string& name);
  void launch(Request request);
  void finished(const Request& request, const std::string& suffix,
                int gai_error, std::vector<Address> addresses);

  Loop& loop_;
  ResolverOptions options_;
  ResolvConf conf_;
  std::set<std::string> local_names_;
  int family_ = 0;
  double cost_ = 1;  // queries per look-up: A, AAAA or both
  double tokens_;
  Clock::time_point refilled_;
  int running_ = 0;
  std::deque<Request> queue_;
  std::map<std::string, Known> known_;
  std::unique_ptr<std::string> learned_;
  Timer timer_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace muster
