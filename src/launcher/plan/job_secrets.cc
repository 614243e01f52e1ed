// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/job_secrets.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "logs/masker.h"

namespace muster {

namespace {

class Collector {
 public:
  void add(const std::string& name, const std::string& value) {
    if (is_secret(name, value) && seen_.insert(value).second) {
      found_.emplace_back(name, value);
    }
  }

  void add_requests(const std::vector<EnvRequest>& requests) {
    for (const EnvRequest& request : requests) {
      if (request.value) add(request.name, *request.value);
    }
  }

  // --api-key VALUE, --api-key=VALUE, NAME=VALUE
  void add_words(const std::vector<std::string>& words) {
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string_view word = words[i];
      const size_t equals = word.find('=');
      const size_t begin = std::min(word.find_first_not_of('-'), equals);
      if (begin == std::string_view::npos) continue;
      const std::string name(word.substr(begin, equals - begin));
      if (equals != std::string_view::npos) {
        add_flag(name, std::string(word.substr(equals + 1)));
      } else if (begin > 0 && i + 1 < words.size()) {
        add_flag(name, words[i + 1]);
      }
    }
  }

  Environment take() { return std::move(found_); }

 private:
  // A flag's value may be a word ("--image-token <image>"), a secret is none.
  void add_flag(const std::string& name, const std::string& value) {
    const bool password = secret_kind(name) == SecretKind::kPassword;
    const bool digit = value.find_first_of("0123456789") != std::string::npos;
    if (password || digit) add(name, value);
  }

  Environment found_;
  std::set<std::string> seen_;
};

}  // namespace

Environment job_secrets(const Discovery& discovery,
                        const LaunchOptions& options,
                        const std::vector<EnvMerge>& pods) {
  Collector secrets;
  for (const auto& [name, value] : discovery.env) secrets.add(name, value);
  for (const EnvMerge& merge : pods) {
    for (const EnvDecision& decision : merge.decisions) {
      secrets.add(decision.name, decision.value);
      if (decision.overridden) secrets.add(decision.name, *decision.overridden);
    }
  }
  secrets.add_requests(options.env);
  secrets.add_words(options.command);
  if (discovery.line) {  // what stands in an application file, too
    secrets.add_requests(discovery.line->env);
    for (const MpirunApp& app : discovery.line->apps) {
      secrets.add_requests(app.env);
      secrets.add_words(app.argv);
    }
  }
  return secrets.take();
}

}  // namespace muster
