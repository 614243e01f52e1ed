// SPDX-License-Identifier: Apache-2.0
// When names are asked for, and in which form, against a DNS server that exists
// only here, on a clock that the test moves.
#include "launcher/connect/lookup_plan.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "catch.h"
#include "launcher/connect/retry_delay.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using Time = LookupPlan::Time;

const char* const kPodConf =
    "search team.svc.cluster.local svc.cluster.local cluster.local\n"
    "options ndots:5\n";
constexpr auto kRoundTrip = 1ms;
constexpr auto kNever = 100h;

// A launch that asks for names which appear each at its time.
class Waiting {
 public:
  Waiting(const std::string& conf, std::vector<Clock::duration> appear)
      : plan_(parse_resolv_conf(conf), Time{}) {
    for (size_t i = 0; i < appear.size(); ++i) {
      names_.push_back({"w-" + std::to_string(i) + ".job.team.svc",
                        Time{} + appear[i],
                        Time{},
                        RetryDelay(1),
                        {}});
      plan_.await(names_.back().name, Time{});
    }
  }

  // Until `end`, or all names are found.
  void run(Clock::duration end) {
    while (now_ - Time{} < end && !all_found()) step();
  }
  [[nodiscard]] bool all_found() const {
    return std::all_of(names_.begin(), names_.end(),
                       [](const Name& n) { return n.found.has_value(); });
  }
  // The longest time that a name was there and not yet found.
  [[nodiscard]] Clock::duration latest() const {
    Clock::duration most{};
    for (const Name& name : names_) {
      most = std::max(most, *name.found - name.appears);
    }
    return most;
  }
  [[nodiscard]] Clock::duration last_found_after_last_appeared() const {
    Time appeared{};
    Time found{};
    for (const Name& name : names_) {
      appeared = std::max(appeared, name.appears);
      found = std::max(found, *name.found);
    }
    return found - appeared;
  }

  std::string right = ".cluster.local";
  std::vector<std::string> asked;

 private:
  struct Name {
    std::string name;
    Time appears;
    Time due;  // dialled again then
    RetryDelay delay;
    std::optional<Time> found;
  };

  void step() {
    Name* next = nullptr;  // who has been due the longest
    for (Name& name : names_) {
      if (!name.found && (next == nullptr || name.due < next->due)) {
        next = &name;
      }
    }
    now_ = std::max(now_, next->due);
    // A timer of whole milliseconds, as the loop has.
    now_ += std::chrono::ceil<Milliseconds>(plan_.wait(now_));
    if (plan_.wait(now_).count() > 0) return;
    const std::string suffix = plan_.take(next->name, now_);
    asked.push_back(next->name + suffix);
    now_ += kRoundTrip;
    if (suffix == right && now_ >= next->appears) {
      next->found = now_;
      plan_.found(next->name, suffix);
    } else {
      plan_.missed(next->name, suffix, now_);
      next->due = now_ + next->delay.after("dns_unresolved", now_, 0);
    }
  }

  LookupPlan plan_;
  Time now_;
  std::vector<Name> names_;
};

std::vector<Clock::duration> all_at(size_t names, Clock::duration when) {
  return std::vector<Clock::duration>(names, when);
}

TEST_CASE("names that exist cost a look-up each and no time") {
  for (const size_t names : {1U, 8U, 128U}) {
    Waiting waiting(kPodConf, all_at(names, 0s));
    waiting.run(1s);
    REQUIRE(waiting.all_found());
    CHECK(waiting.asked.size() == names);
    CHECK(waiting.latest() < 150ms);  // one after the other, 1 ms each
  }
}

TEST_CASE("names that appear within seconds are found within 0.1 s") {
  for (const size_t names : {1U, 2U, 8U, 30U}) {
    for (const auto when : {400ms, 1030ms, 3700ms, 9500ms}) {
      Waiting waiting(kPodConf, all_at(names, when));
      waiting.run(60s);
      REQUIRE(waiting.all_found());
      INFO(names << " names at " << when.count() << " ms");
      CHECK(waiting.latest() <= 100ms);
    }
  }
}

TEST_CASE("the last of names that come one by one is found within 0.1 s") {
  for (const size_t names : {2U, 8U, 30U, 128U}) {
    std::vector<Clock::duration> appear;
    for (size_t i = 0; i < names; ++i) {
      appear.push_back(1s + i * 8000ms / names);
    }
    Waiting waiting(kPodConf, appear);
    waiting.run(60s);
    REQUIRE(waiting.all_found());
    INFO(names << " names");
    CHECK(waiting.last_found_after_last_appeared() <= 100ms);
  }
}

TEST_CASE("after a long wait an answer is late by a small part of it") {
  for (const size_t names : {1U, 8U, 30U}) {
    for (const auto when : {40s, 120s, 280s}) {
      Waiting waiting(kPodConf, all_at(names, when));
      waiting.run(600s);
      REQUIRE(waiting.all_found());
      INFO(names << " names at " << when.count() << " s");
      CHECK(waiting.latest() <= Clock::duration(when) / 50);
    }
  }
}

TEST_CASE("names that never come are asked for ever more rarely") {
  struct Case {
    size_t names;
    size_t first_10_s;
    size_t in_300_s;
  };
  // 20 a second for one; 20 + N for N; falling as 10 s / waited from 10 s on.
  for (const Case& one :
       {Case{1, 200, 1100}, Case{8, 280, 1400}, Case{128, 1480, 6600}}) {
    INFO(one.names << " names");
    Waiting brief(kPodConf, all_at(one.names, kNever));
    brief.run(10s);
    CHECK(brief.asked.size() <= one.first_10_s + 2);
    CHECK(brief.asked.size() > one.first_10_s / 2);
    Waiting waiting(kPodConf, all_at(one.names, kNever));
    waiting.run(300s);
    CHECK(waiting.asked.size() <= one.in_300_s);
  }
}

TEST_CASE("one form is asked for; the others now and then") {
  Waiting waiting(kPodConf, all_at(4, kNever));
  waiting.run(20s);
  size_t likeliest = 0;
  for (const std::string& name : waiting.asked) {
    INFO(name);
    CHECK_FALSE(name.ends_with(".svc.team.svc.cluster.local"));
    CHECK_FALSE(name.ends_with(".svc.svc.cluster.local"));
    likeliest += name.ends_with(".team.svc.cluster.local") ? 1 : 0;
  }
  CHECK(likeliest * 16 >= waiting.asked.size() * 15);
  CHECK(likeliest < waiting.asked.size());
}

TEST_CASE("a form that only the search list has is found, and stays") {
  // No kubelet wrote this list: nothing tells which form is right.
  Waiting waiting("search rack.example lab.example\n", all_at(30, 0s));
  waiting.right = ".lab.example";
  waiting.run(30s);
  REQUIRE(waiting.all_found());
  size_t wrong = 0;
  for (const std::string& name : waiting.asked) {
    wrong += name.ends_with(".lab.example") ? 0 : 1;
  }
  CHECK(wrong <= 6);
  // Nor is it lost where a kubelet's list speaks for another one.
  Waiting odd(std::string("search a.svc.c svc.c c far.example\n"),
              all_at(8, 0s));
  odd.right = ".far.example";
  odd.run(30s);
  CHECK(odd.all_found());
}

TEST_CASE("a wildcard that answered first does not hide the right name") {
  LookupPlan plan(parse_resolv_conf("search n.svc.c svc.c c corp.example"),
                  Time{});
  plan.found("w-0.job.n.svc", ".corp.example");
  std::vector<std::string> asked;
  for (int i = 0; i < 4; ++i) asked.push_back(plan.take("w-0.job.n.svc", {}));
  CHECK(std::count(asked.begin(), asked.end(), ".c") >= 1);
}

TEST_CASE("another form's miss says nothing of a name that has an address") {
  LookupPlan plan(parse_resolv_conf(kPodConf), Time{});
  plan.await("w-0", Time{});
  CHECK(plan.missed("w-0", ".svc.cluster.local", Time{}));
  plan.found("w-0", ".team.svc.cluster.local");
  CHECK_FALSE(plan.missed("w-0", ".svc.cluster.local", Time{}));
  CHECK(plan.missed("w-0", ".team.svc.cluster.local", Time{}));
  CHECK(plan.missed("w-0", ".svc.cluster.local", Time{}));
}

TEST_CASE("a server that fails is asked twice a second") {
  LookupPlan plan(parse_resolv_conf(kPodConf), Time{});
  for (int i = 0; i < 8; ++i) plan.await("w-" + std::to_string(i), Time{});
  CHECK(plan.per_second(Time{}) == 28);
  plan.server_failed();
  CHECK(plan.per_second(Time{}) == 28);  // it may be that name alone
  plan.server_failed();
  plan.server_failed();
  CHECK(plan.per_second(Time{}) == 2);
  plan.missed("w-0", ".team.svc.cluster.local", Time{});
  CHECK(plan.per_second(Time{}) == 28);
}

TEST_CASE("a name that is asked for again and again pays for no others") {
  LookupPlan plan(parse_resolv_conf(kPodConf), Time{});
  plan.await("w-0", Time{});
  Time now{};
  for (int i = 0; i < 100; ++i) {
    now += 1s;
    REQUIRE(plan.wait(now).count() == 0);
    plan.take("w-0", now);
    plan.found("w-0", ".team.svc.cluster.local");
  }
  for (int i = 0; i < 4; ++i) plan.take("w-0", now);
  CHECK(plan.wait(now).count() > 0);
}

}  // namespace
}  // namespace muster
