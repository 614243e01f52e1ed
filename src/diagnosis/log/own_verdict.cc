// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/own_verdict.h"

#include <re2/re2.h>

#include <vector>

#include "base/text.h"
#include "job/exit_codes.h"

namespace muster {

namespace {

constexpr std::string_view kError = "muster: error: ";
constexpr std::string_view kOwn = "muster: ";

// "code: gpu_oom (likely), exit code 1, worth a retry"
const RE2& code_line() {
  static const RE2 kPattern(
      R"(code: (\w+) \((proven|likely|possible)\), exit code (\d{1,3})(, worth a retry)?)");
  return kPattern;
}

// "Rank 1 on w-0 ended", "(rank 0 on pi-worker-0.pi.default.svc)"
const RE2& rank_on_host() {
  static const RE2 kPattern(R"([Rr]ank (\d{1,7}) on ([\w.-]*\w))");
  return kPattern;
}

// Only a launcher that begins prints this.
bool begins_attempt(std::string_view line) {
  if (line.starts_with(kOwn)) line.remove_prefix(kOwn.size());
  return line.starts_with("connecting to ") || line.starts_with("starting ");
}

Confidence confidence_of(std::string_view word) {
  return word == "proven"   ? Confidence::kProven
         : word == "likely" ? Confidence::kLikely
                            : Confidence::kPossible;
}

void find_rank(Verdict& verdict) {
  std::vector<std::string> texts = {verdict.headline};
  texts.insert(texts.end(), verdict.evidence.begin(), verdict.evidence.end());
  for (const std::string& text : texts) {
    if (RE2::PartialMatch(text, rank_on_host(), &verdict.first_rank,
                          &verdict.host)) {
      return;
    }
  }
}

}  // namespace

bool OwnVerdict::begin(std::string_view line) {
  Verdict verdict;
  std::string confidence;
  std::string retry;
  if (!RE2::FullMatch({line.data(), line.size()}, code_line(), &verdict.code,
                      &confidence, &verdict.exit_code, &retry)) {
    return false;
  }
  if (rules_.find(verdict.code) == nullptr || before_.empty()) return false;
  // Small ones are a program's own: 2 is not our usage error there.
  const auto own_class = exit_class_by_code(verdict.exit_code);
  verdict.exit_class = own_class && verdict.exit_code >= 100
                           ? exit_class_name(*own_class)
                           : "rank_failed";
  verdict.confidence = confidence_of(confidence);
  verdict.retryable = !retry.empty();
  verdict.headline = before_;
  find_rank(verdict);
  verdict_ = std::move(verdict);
  return true;
}

// "the same on 2 more", or the title of a class and who it was.
std::string OwnVerdict::code_of(std::string_view also) const {
  if (also.starts_with("the same on ")) return verdict_->code;
  const Rule* found = nullptr;
  for (const Rule& rule : rules_.rules()) {
    if (!also.starts_with(rule.title)) continue;
    const std::string_view rest = also.substr(rule.title.size());
    if (rest.empty() || rest.starts_with(": ") || rest.starts_with(" and ")) {
      found = &rule;
    }
  }
  return found == nullptr ? "unknown" : found->code;
}

bool OwnVerdict::go_on(std::string_view part) {
  const size_t colon = part.find(": ");
  if (colon == std::string_view::npos) return false;
  const std::string_view kind = part.substr(0, colon);
  const std::string text(part.substr(colon + 2));
  if (kind == "why") {
    verdict_->cause = text;
  } else if (kind == "seen") {
    verdict_->evidence.push_back(text);
  } else if (kind == "also") {
    verdict_->also.push_back({code_of(text), text});
  } else if (kind.starts_with("fix ")) {
    verdict_->remedies.push_back(text);
  } else {
    return false;
  }
  if (verdict_->first_rank < 0) find_rank(*verdict_);
  return true;
}

bool OwnVerdict::add(std::string_view line) {
  const std::string_view text = trim(line);
  open_ = begin(text) || (open_ && go_on(text));
  if (open_) return true;
  if (begins_attempt(text)) verdict_.reset();
  const size_t own = text.find(kError);
  before_ =
      own == std::string_view::npos ? text : text.substr(own + kError.size());
  return false;
}

}  // namespace muster
