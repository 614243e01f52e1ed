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

// An address that this pod, with `usable` alone, has no way to.
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

// The families this pod can use beyond loopback and link-local, so that no
// query is spent on addresses that could not be reached.
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

}  // namespace

// A thread inside getaddrinfo cannot be stopped: it keeps this alive, and finds
// `owner` empty once the Resolver is gone.
struct Resolver::Shared {
  std::mutex mutex;
  Resolver* owner = nullptr;
};

Resolver::Resolver(Loop& loop, ResolverOptions options)
    : loop_(loop),
      options_(std::move(options)),
      refilled_(Clock::now()),
      timer_(loop),
      shared_(std::make_shared<Shared>()) {
  shared_->owner = this;
  if (auto text = read_file(options_.resolv_conf)) {
    conf_ = parse_resolv_conf(*text);
  }
  if (auto text = read_file(options_.hosts_file)) {
    for (auto& name : hosts_file_names(*text)) local_names_.insert(name);
  }
  family_ = options_.family.value_or(usable_family());
  cost_ = family_ == AF_UNSPEC ? 2 : 1;
  tokens_ = 2 * cost_;
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
  } else {
    queue_.push_back({name, std::move(answer)});
  }
  pump();
}

bool Resolver::free_of_cost(const std::string& name) const {
  return literal_family(name) != 0 || local_names_.count(name) != 0;
}

void Resolver::refill() {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - refilled_).count();
  refilled_ = now;
  // What successes earned may exceed the resting level; time never does.
  const double earned = seconds * options_.queries_per_second;
  tokens_ = std::max(tokens_, std::min(tokens_ + earned, 2 * cost_));
}

void Resolver::pump() {
  refill();
  while (!queue_.empty() && running_ < options_.threads) {
    Request& front = queue_.front();
    const bool costs = !free_of_cost(front.name);
    if (costs && tokens_ < cost_) {
      const auto known = known_.find(front.name);
      if (known != known_.end() && !known->second.addresses.empty()) {
        loop_.post(
            [answer = std::move(front.answer),
             addresses = known->second.addresses] { answer(addresses); });
        queue_.pop_front();
        continue;
      }
      const double wait = (cost_ - tokens_) / options_.queries_per_second;
      timer_.start(Milliseconds(static_cast<int>(wait * 1000) + 1),
                   [this] { pump(); });
      return;
    }
    if (costs) tokens_ -= cost_;
    Request request = std::move(front);
    queue_.pop_front();
    launch(std::move(request));
  }
}

// The likeliest suffix most of the time, the others now and then: a name that
// is only late must not be asked for under three wrong names in between.
std::string Resolver::next_suffix(const std::string& name) {
  if (name.ends_with('.')) return {};
  const auto suffixes = candidate_suffixes(name, conf_, learned_.get());
  const size_t attempt = known_[name].attempts;
  const size_t every = learned_ ? 8 : 2;
  size_t index = 0;
  if (attempt % every == every - 1 && suffixes.size() > 1) {
    index = 1 + attempt / every % (suffixes.size() - 1);
  }
  return suffixes[index] + ".";
}

void Resolver::launch(Request request) {
  std::string suffix;
  if (!free_of_cost(request.name)) {
    suffix = next_suffix(request.name);
  }
  ++running_;
  const std::string absolute = request.name + suffix;
  const int family = literal_family(request.name) != 0 ? AF_UNSPEC : family_;
  auto work = [shared = shared_, &loop = loop_, family, absolute, suffix,
               request]() mutable {
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int error = ::getaddrinfo(absolute.c_str(), nullptr, &hints, &list);
    auto addresses = error == 0 ? to_addresses(list) : std::vector<Address>{};
    if (list != nullptr) ::freeaddrinfo(list);
    const std::lock_guard lock(shared->mutex);
    if (shared->owner == nullptr) return;
    loop.post([shared, request = std::move(request), suffix, error,
               addresses = std::move(addresses)]() mutable {
      if (shared->owner != nullptr) {
        shared->owner->finished(request, suffix, error, std::move(addresses));
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

void Resolver::finished(const Request& request, const std::string& suffix,
                        int gai_error, std::vector<Address> addresses) {
  --running_;
  if (gai_error == 0) {
    known_[request.name].addresses = addresses;
    if (suffix.size() > 1) {
      learned_ =
          std::make_unique<std::string>(suffix.substr(0, suffix.size() - 1));
      known_[request.name].attempts = 0;
    }
    if (!free_of_cost(request.name)) tokens_ += 2 * cost_;
    request.answer(std::move(addresses));
  } else {
    ++known_[request.name].attempts;
    const bool missing = gai_error == EAI_NONAME || gai_error == EAI_NODATA;
    request.answer(fail(Error{
        missing ? "dns_unresolved" : "dns_failure",
        missing ? "its name is not in DNS" : "the DNS server failed to answer",
        ::gai_strerror(gai_error),
        request.name,
        {}}));
  }
  pump();
}

}  // namespace muster
