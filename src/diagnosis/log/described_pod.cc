// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/described_pod.h"

#include <cctype>

#include "base/text.h"

namespace muster {

namespace {

// "Name:   x-worker-3": what stands behind the key, if it is one word.
std::string_view value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return {};
  const std::string_view value = trim(line.substr(key.size()));
  return value.find(' ') == std::string_view::npos ? value : std::string_view();
}

// "$ kubectl describe pod x-worker-3 | tail": the end alone has no name.
std::string_view pod_asked_for(std::string_view line) {
  constexpr std::string_view kCommand = "kubectl describe po";
  const size_t at = line.find(kCommand);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + kCommand.size());
  for (const std::string_view end : {"ds", "d"}) {
    if (rest.starts_with(end)) rest.remove_prefix(end.size());
  }
  if (!rest.starts_with(' ') && !rest.starts_with('/')) return {};
  rest.remove_prefix(1);
  const std::string_view name = rest.substr(0, rest.find_first_of(" |"));
  return name.starts_with('-') ? std::string_view() : name;
}

bool is_entry(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t') return true;
  return std::isupper(static_cast<unsigned char>(line.front())) != 0 &&
         line.substr(0, 32).find(':') != std::string_view::npos;
}

}  // namespace

std::string_view DescribedPod::host_of(std::string_view line) {
  if (line.empty()) return {};
  if (const std::string_view asked = pod_asked_for(line); !asked.empty()) {
    pod_ = asked;
    name_.clear();
    node_.clear();
    return {};
  }
  if (!value_of(line, "Name:").empty()) {
    name_ = value_of(line, "Name:");
    pod_.clear();
    return {};
  }
  if (!name_.empty() && line.starts_with("Namespace:")) {
    pod_ = std::move(name_);
    name_.clear();
    node_.clear();
  }
  if (pod_.empty()) return {};
  if (!is_entry(line)) {
    pod_.clear();
    return {};
  }
  const std::string_view node = value_of(line, "Node:");
  if (!node.empty()) node_ = node.substr(0, node.find('/'));
  const bool of_node = line.find("NodeNotReady") != std::string_view::npos;
  return of_node && !node_.empty() ? node_ : pod_;
}

}  // namespace muster
