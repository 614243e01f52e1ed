// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/lookup_plan.h"

#include <algorithm>

namespace muster {

namespace {

constexpr double kPerName = 20;      // look-ups a second
constexpr double kPerLauncher = 20;  // and one more for each name
constexpr double kLeast = 2;
constexpr double kRested = 2;  // look-ups at once after a rest
constexpr double kPerFind = 2;
constexpr std::chrono::seconds kBrisk{10};
constexpr int kServerFails = 3;  // a lone failure is a name's own
constexpr size_t kOtherForm = 16;
constexpr size_t kOtherFormUnsure = 2;

double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

// "job.ns.svc" of "pod.job.ns.svc".
std::string domain_of(const std::string& name) {
  const size_t dot = name.find('.');
  return dot == std::string::npos ? std::string() : name.substr(dot + 1);
}

}  // namespace

LookupPlan::LookupPlan(ResolvConf conf, Time now)
    : conf_(std::move(conf)), tokens_(kRested), refilled_(now) {}

void LookupPlan::await(const std::string& name, Time now) {
  refill(now);
  if (awaited_.empty()) awaited_since_ = now;
  awaited_.insert(name);
}

double LookupPlan::per_second(Time now) const {
  if (failures_ >= kServerFails) return kLeast;
  const double names = std::max(1.0, static_cast<double>(awaited_.size()));
  double rate = std::min(kPerName * names, kPerLauncher + names);
  const auto waited = now - awaited_since_;
  if (!awaited_.empty() && waited > kBrisk) {
    rate *= seconds(kBrisk) / seconds(waited);
  }
  return std::max(rate, kLeast);
}

// Names that were found may lift tokens_ above kRested; time does not.
void LookupPlan::refill(Time now) {
  const double earned = seconds(now - refilled_) * per_second(now);
  refilled_ = now;
  tokens_ = std::max(tokens_, std::min(tokens_ + earned, kRested));
}

Clock::duration LookupPlan::wait(Time now) {
  refill(now);
  if (tokens_ >= 1) return {};
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>((1 - tokens_) / per_second(now)));
}

std::string LookupPlan::take(const std::string& name, Time now) {
  refill(now);
  tokens_ -= 1;
  return choose_form(name);
}

std::string LookupPlan::choose_form(const std::string& name) {
  NameForms forms = forms_of(name, conf_);
  auto& suffixes = forms.suffixes;
  const auto worked = worked_.find(domain_of(name));
  if (worked != worked_.end()) {
    // A wildcard of another domain may have answered instead of the sure form:
    // the plan tries both then.
    forms.sure = !forms.sure || suffixes[0] == worked->second;
    std::erase(suffixes, worked->second);
    suffixes.insert(suffixes.begin(), worked->second);
  }
  const auto [asked, is_new] =
      asked_.try_emplace(name, Asked{asked_.size(), 0});
  const size_t turn = asked->second.number + asked->second.times++;
  const size_t every = forms.sure ? kOtherForm : kOtherFormUnsure;
  const bool other = turn % every == every - 1 && suffixes.size() > 1 &&
                     !(is_new && forms.sure);
  return suffixes[other ? 1 + turn / every % (suffixes.size() - 1) : 0];
}

void LookupPlan::found(const std::string& name, const std::string& suffix) {
  failures_ = 0;
  worked_[domain_of(name)] = suffix;
  if (awaited_.erase(name) != 0) tokens_ += kPerFind;
}

bool LookupPlan::missed(const std::string& name, const std::string& suffix,
                        Time now) {
  failures_ = 0;
  const auto worked = worked_.find(domain_of(name));
  const bool other = worked != worked_.end() && worked->second != suffix;
  if (other && awaited_.count(name) == 0) return false;
  await(name, now);
  return true;
}

}  // namespace muster
