// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/resolver.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/fd.h"

namespace muster {

namespace {

// Of an address; 0: it is a name.
int literal_family(const std::string& name) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, name.c_str(), &v4) == 1) return AF_INET;
  if (::inet_pton(AF_INET6, name.c_str(), &v6) == 1) return AF_INET6;
  return 0;
}

// An address that this pod cannot reach with the families in `usable`.
bool is_out_of_reach(const std::string& name, int usable) {
  const int family = literal_family(name);
  const bool loopback = name == "::1" || name.starts_with("127.");
  return family != 0 && usable != AF_UNSPEC && family != usable && !loopback;
}

Error no_such_family(const std::string& name, int usable) {
  const std::string own = usable == AF_INET ? "IPv4" : "IPv6";
  const std::string other = usable == AF_INET ? "IPv6" : "IPv4";
  return Error{
      "tcp_unreachable",
      "it is an address of " + other + ", and this pod has no " + other,
      {},
      name,
      "name the worker by its name, or by its address of " + own};
}

// The families that this pod can use beyond loopback and link-local, so that no
// query asks for an unreachable address.
int usable_family() {
  bool v4 = false;
  bool v6 = false;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return AF_UNSPEC;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if (i->ifa_addr->sa_family == AF_INET) v4 = true;
    if (i->ifa_addr->sa_family == AF_INET6) {
      const auto* address = reinterpret_cast<sockaddr_in6*>(i->ifa_addr);
      if (!IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr)) v6 = true;
    }
  }
  ::freeifaddrs(list);
  if (v4 == v6) return AF_UNSPEC;
  return v4 ? AF_INET : AF_INET6;
}

ResolvConf read_resolv_conf(const std::string& path) {
  const auto text = read_file(path);
  return text ? parse_resolv_conf(*text) : ResolvConf{};
}

// A name that resolved is not looked up again for this long: the launcher tries
// a refusing port many times a second.
constexpr std::chrono::seconds kFresh{1};

std::vector<Address> to_addresses(const addrinfo* list) {
  std::vector<Address> out;
  for (const addrinfo* i = list; i != nullptr; i = i->ai_next) {
    Address address;
    std::memcpy(&address.storage, i->ai_addr, i->ai_addrlen);
    address.length = i->ai_addrlen;
    out.push_back(address);
  }
  return out;
}

bool says_missing(const LookupAnswer& answer) {
  return answer.error == EAI_NONAME || answer.error == EAI_NODATA;
}

}  // namespace

LookupAnswer ask_system(const std::string& name, int family) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  LookupAnswer answer;
  answer.error = ::getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (answer.error == 0) answer.addresses = to_addresses(list);
  if (list != nullptr) ::freeaddrinfo(list);
  return answer;
}

// A thread inside getaddrinfo cannot be stopped: it keeps this alive, and finds
// `owner` empty once the Resolver is gone.
struct Resolver::Shared {
  std::mutex mutex;
  Resolver* owner = nullptr;
};

Resolver::Resolver(Loop& loop, ResolverOptions options)
    : loop_(loop),
      options_(std::move(options)),
      plan_(read_resolv_conf(options_.resolv_conf), Clock::now()),
      timer_(loop),
      shared_(std::make_shared<Shared>()) {
  shared_->owner = this;
  if (auto text = read_file(options_.hosts_file)) {
    for (auto& name : hosts_file_names(*text)) local_names_.insert(name);
  }
  family_ = options_.family.value_or(usable_family());
}

Resolver::~Resolver() {
  const std::lock_guard lock(shared_->mutex);
  shared_->owner = nullptr;
}

void Resolver::resolve(const std::string& name, Answer answer) {
  if (is_out_of_reach(name, family_)) {
    loop_.post(
        [answer = std::move(answer), error = no_such_family(name, family_)] {
          answer(fail(error));
        });
    return;
  }
  if (free_of_cost(name)) {
    queue_.push_front({name, std::move(answer)});
    return pump();
  }
  if (const Known* known = remembered(name)) {
    loop_.post([answer = std::move(answer), addresses = known->addresses] {
      answer(addresses);
    });
    return;
  }
  if (known_.find(name) == known_.end()) plan_.await(name, Clock::now());
  queue_.push_back({name, std::move(answer)});
  pump();
}

const Resolver::Known* Resolver::remembered(const std::string& name) {
  const auto known = known_.find(name);
  if (known == known_.end()) return nullptr;
  const auto now = Clock::now();
  const bool fresh = now - known->second.seen < kFresh;
  return fresh || plan_.wait(now).count() > 0 ? &known->second : nullptr;
}

bool Resolver::free_of_cost(const std::string& name) const {
  return literal_family(name) != 0 || local_names_.count(name) != 0;
}

void Resolver::pump() {
  while (!queue_.empty() && running_ < options_.threads) {
    const auto wait = plan_.wait(Clock::now());
    if (!free_of_cost(queue_.front().name) && wait.count() > 0) {
      timer_.start(std::chrono::ceil<Milliseconds>(wait), [this] { pump(); });
      return;
    }
    Request request = std::move(queue_.front());
    queue_.pop_front();
    launch(std::move(request));
  }
}

void Resolver::launch(Request request) {
  std::string suffix;
  std::string asked = request.name;
  if (!free_of_cost(request.name)) {
    suffix = plan_.take(request.name, Clock::now());
    asked += suffix;
    if (!asked.ends_with('.')) asked += '.';  // nothing else to try
  }
  ++running_;
  const int family = literal_family(request.name) != 0 ? AF_UNSPEC : family_;
  auto work = [shared = shared_, &loop = loop_, look_up = options_.look_up,
               family, asked, suffix, request]() mutable {
    auto answer = look_up(asked, family);
    const std::lock_guard lock(shared->mutex);
    if (shared->owner == nullptr) return;
    loop.post([shared, request = std::move(request), suffix,
               answer = std::move(answer)]() mutable {
      if (shared->owner != nullptr) {
        shared->owner->finished(request, suffix, std::move(answer));
      }
    });
  };
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error&) {
    --running_;  // out of threads: the pids limit; callers retry
    loop_.post([answer = request.answer] {
      answer(fail(Error{"resources",
                        "cannot start a resolver thread",
                        "the pod's process limit (pids) is reached",
                        {},
                        {}}));
    });
  }
}

void Resolver::learn(const std::string& name, const std::string& suffix,
                     LookupAnswer& answer) {
  if (answer.error == 0) {
    plan_.found(name, suffix);
    known_[name] = {answer.addresses, Clock::now()};
  } else if (!says_missing(answer)) {
    plan_.server_failed();
  } else if (plan_.missed(name, suffix, Clock::now())) {
    known_.erase(name);
  } else {
    answer = {0, known_[name].addresses};
  }
}

void Resolver::finished(const Request& request, const std::string& suffix,
                        LookupAnswer answer) {
  --running_;
  if (!free_of_cost(request.name)) learn(request.name, suffix, answer);
  if (answer.error == 0) {
    request.answer(std::move(answer.addresses));
  } else {
    const bool missing = says_missing(answer);
    request.answer(fail(Error{
        missing ? "dns_unresolved" : "dns_failure",
        missing ? "its name is not in DNS" : "the DNS server failed to answer",
        ::gai_strerror(answer.error),
        request.name,
        {}}));
  }
  pump();
}

}  // namespace muster
