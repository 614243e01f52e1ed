// SPDX-License-Identifier: Apache-2.0
// The resolver without a DNS server: literal addresses, hosts files, and what
// is asked of a server that a test plays. ".invalid" never exists (RFC 2606).
#include "launcher/connect/resolver.h"

#include <netdb.h>
#include <sys/socket.h>

#include <mutex>
#include <optional>
#include <set>

#include "../base/temporary_directory.h"
#include "catch.h"
#include "launcher/connect/worker_dialer.h"
#include "run_loop.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::run_for;
using test::run_until;

struct Bed {
  Bed() {
    directory.write("resolv.conf", "nameserver 127.0.0.1\n");
    directory.write("hosts", "127.0.0.1 localhost here\n");
    options.resolv_conf = directory.at("resolv.conf");
    options.hosts_file = directory.at("hosts");
  }
  TemporaryDirectory directory;
  ResolverOptions options;
  Loop loop;
};

TEST_CASE("literal addresses are their own answer") {
  Bed bed;
  Resolver resolver(bed.loop, bed.options);
  std::string text;
  resolver.resolve("192.0.2.7", [&](Result<std::vector<Address>> answer) {
    REQUIRE(answer);
    text = to_text(answer->at(0));
  });
  CHECK(run_until(bed.loop, [&] { return !text.empty(); }));
  CHECK(text == "192.0.2.7");
}

TEST_CASE("an address of a family that the pod has not is told as such") {
  struct Case {
    int family;
    const char* address;
    const char* what;  // null: it is its own answer
  };
  for (const Case& one :
       {Case{AF_INET, "fd00::7",
             "it is an address of IPv6, and this pod has no IPv6"},
        Case{AF_INET6, "192.0.2.7",
             "it is an address of IPv4, and this pod has no IPv4"},
        Case{AF_INET, "::1", nullptr}, Case{AF_INET6, "127.0.0.1", nullptr},
        Case{AF_UNSPEC, "fd00::7", nullptr}}) {
    Bed bed;
    bed.options.family = one.family;
    Resolver resolver(bed.loop, bed.options);
    std::optional<Result<std::vector<Address>>> got;
    resolver.resolve(one.address, [&](Result<std::vector<Address>> answer) {
      got = answer;
    });
    REQUIRE(run_until(bed.loop, [&] { return got.has_value(); }));
    INFO(one.address);
    if (one.what == nullptr) {
      REQUIRE(*got);
      CHECK(to_text((*got)->at(0)) == one.address);
    } else {
      REQUIRE_FALSE(*got);
      CHECK(got->error().code == "tcp_unreachable");
      CHECK(got->error().what == one.what);
      CHECK(got->error().where == one.address);
      CHECK(likely_cause(got->error(), "w", "") == got->error().hint);
    }
  }
}

TEST_CASE("names of the hosts file cost no query") {
  Bed bed;
  Resolver resolver(bed.loop, bed.options);
  int answers = 0;
  for (int i = 0; i < 50; ++i) {
    resolver.resolve("localhost", [&](Result<std::vector<Address>> answer) {
      CHECK(answer);
      ++answers;
    });
  }
  CHECK(run_until(bed.loop, [&] { return answers == 50; }));
}

TEST_CASE("a name that is nowhere is told as such, with the name") {
  Bed bed;
  Resolver resolver(bed.loop, bed.options);
  std::optional<Error> error;
  resolver.resolve("w-0.job.invalid", [&](Result<std::vector<Address>> answer) {
    REQUIRE_FALSE(answer);
    error = answer.error();
  });
  CHECK(run_until(
      bed.loop, [&] { return error.has_value(); }, 30s));
  REQUIRE(error);
  // Without any server in reach it is the server that failed.
  CHECK((error->code == "dns_unresolved" || error->code == "dns_failure"));
  CHECK(error->where == "w-0.job.invalid");
}

// A server that a test plays; asked on other threads.
struct Server {
  std::mutex mutex;
  std::vector<std::string> asked;
  std::set<std::string> names;

  LookupAnswer answer(const std::string& name) {
    const std::lock_guard lock(mutex);
    asked.push_back(name);
    if (names.count(name) == 0) return {EAI_NONAME, {}};
    return ask_system("192.0.2.7", AF_INET);
  }
  size_t count() {
    const std::lock_guard lock(mutex);
    return asked.size();
  }
};

void play(const std::shared_ptr<Server>& server, Bed& bed) {
  bed.directory.write("resolv.conf",
                      "search n.svc.c svc.c c\noptions ndots:5\n");
  bed.options.look_up = [server](const std::string& name, int) {
    return server->answer(name);
  };
}

TEST_CASE("missing names use up the budget; free ones do not wait behind") {
  Bed bed;
  const auto server = std::make_shared<Server>();
  play(server, bed);
  Resolver resolver(bed.loop, bed.options);
  int failed = 0;
  int free_answers = 0;
  for (int i = 0; i < 2000; ++i) {
    resolver.resolve("w-" + std::to_string(i) + ".invalid",
                     [&](const Result<std::vector<Address>>&) { ++failed; });
  }
  resolver.resolve("192.0.2.7", [&](const Result<std::vector<Address>>&) {
    ++free_answers;
  });
  resolver.resolve("localhost", [&](const Result<std::vector<Address>>&) {
    ++free_answers;
  });
  CHECK(run_until(bed.loop, [&] { return free_answers == 2; }));
  CHECK(failed < 2000);
}

TEST_CASE("a name is asked for in one form, and answered from memory then") {
  Bed bed;
  const auto server = std::make_shared<Server>();
  server->names = {"w-0.job.n.svc.c."};
  play(server, bed);
  Resolver resolver(bed.loop, bed.options);
  int found = 0;
  for (int i = 1; i <= 5; ++i) {
    resolver.resolve("w-0.job.n.svc",
                     [&](const Result<std::vector<Address>>& answer) {
                       REQUIRE(answer);
                       CHECK(to_text(answer->at(0)) == "192.0.2.7");
                       ++found;
                     });
    REQUIRE(run_until(bed.loop, [&] { return found == i; }));
  }
  CHECK(server->asked == std::vector<std::string>{"w-0.job.n.svc.c."});
}

TEST_CASE("a name that goes is missing, whatever was known of it") {
  Bed bed;
  const auto server = std::make_shared<Server>();
  server->names = {"w-0.job.n.svc.c."};
  play(server, bed);
  Resolver resolver(bed.loop, bed.options);
  int found = 0;
  int missing = 0;
  const auto ask = [&] {
    resolver.resolve("w-0.job.n.svc",
                     [&](const Result<std::vector<Address>>& answer) {
                       ++(answer ? found : missing);
                     });
  };
  ask();
  REQUIRE(run_until(bed.loop, [&] { return found == 1; }));
  {
    const std::lock_guard lock(server->mutex);
    server->names.clear();
  }
  // Old addresses are good for a second, then the server has the word.
  while (missing == 0) {
    const int before = found;
    ask();
    REQUIRE(run_until(bed.loop, [&] { return found > before || missing > 0; }));
    run_for(bed.loop, 50ms);
  }
  CHECK(server->count() >= 2);
}

TEST_CASE("a resolver may go while look-ups are under way") {
  Bed bed;
  bool answered = false;
  {
    Resolver resolver(bed.loop, bed.options);
    for (int i = 0; i < 4; ++i) {
      resolver.resolve("192.0.2.1", [&](const Result<std::vector<Address>>&) {
        answered = true;
      });
    }
  }
  run_for(bed.loop, 50ms);
  CHECK_FALSE(answered);
}

TEST_CASE("files that are not there leave plain defaults") {
  Bed bed;
  bed.options.resolv_conf = bed.directory.at("none");
  bed.options.hosts_file = bed.directory.at("none");
  Resolver resolver(bed.loop, bed.options);
  bool answered = false;
  resolver.resolve("127.0.0.1", [&](const Result<std::vector<Address>>& a) {
    answered = a.has_value();
  });
  CHECK(run_until(bed.loop, [&] { return answered; }));
}

}  // namespace
}  // namespace muster
