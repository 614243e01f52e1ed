// SPDX-License-Identifier: Apache-2.0
// LookupPlan: how a launch asks DNS for the names of its workers: when the next
// look-up may go out, and in which form a name is asked for. Pure: time and
// answers are given.
//
// When: each name that is missing 20 times a second, all of them together at
// most 20 + (number of missing names) times a second. After 10 s the rate falls
// as the time waited grows, so that an answer is late by the same small part of
// it, to 2 a second. A name that was found pays for two more look-ups at once,
// as its siblings come with it. A server that fails is asked twice a second.
// Form: what forms_of() has first, or what has worked for a name of the same
// domain; every 16th time another one.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/loop.h"
#include "launcher/connect/dns_names.h"

namespace muster {

class LookupPlan {
 public:
  using Time = Clock::time_point;

  LookupPlan(ResolvConf conf, Time now);

  // The name has no address yet, or no more.
  void await(const std::string& name, Time now);
  // Until a look-up may go out; 0: at once.
  Clock::duration wait(Time now);
  // One goes out: the suffix to ask for `name` with.
  std::string take(const std::string& name, Time now);
  void found(const std::string& name, const std::string& suffix);
  // The server said that there is no such name. False: a form was asked for
  // that is not the one that has worked, and the name's address stands.
  bool missed(const std::string& name, const std::string& suffix, Time now);
  // It did not say anything of use.
  void server_failed() { ++failures_; }

  [[nodiscard]] double per_second(Time now) const;

 private:
  struct Asked {
    size_t number = 0;  // among all names
    size_t times = 0;
  };

  void refill(Time now);
  std::string choose_form(const std::string& name);

  ResolvConf conf_;
  double tokens_;
  Time refilled_;
  Time awaited_since_;
  std::set<std::string> awaited_;
  int failures_ = 0;  // of the server, in a row
  std::map<std::string, Asked> asked_;
  std::map<std::string, std::string> worked_;  // suffix, by a name's domain
};

}  // namespace muster
