// SPDX-License-Identifier: Apache-2.0
// LookupPlan: how a launch asks DNS for the names of its workers: when the next
// look-up may go out, and the form of the name. Pure: the caller passes time
// and answers.
//
// Rate: each missing name 20 times a second, all of them together at most 20 +
// (number of missing names) times a second. After 10 s the rate falls as the
// time waited grows, so that an answer is late by the same small part of it, to
// 2 a second. A name that resolves allows two more look-ups at once, as its
// siblings appear with it. If the server fails, the rate is two a second. Form:
// the first of forms_of(), or the form that has worked for a name of the same
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
  // The server said that there is no such name. False: the name has an address
  // by another form, which stays.
  bool missed(const std::string& name, const std::string& suffix, Time now);
  // The server gave no usable answer.
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
