// SPDX-License-Identifier: Apache-2.0
#include "fabric/nccl_log.h"

#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kLongestPrefix = 200;  // host:pid:tid [device] NCCL INFO
constexpr size_t kLongestLine = 300;    // of what is shown
constexpr size_t kNamedPods = 8;

// The text behind "NCCL INFO "; empty for any other line.
std::string_view message_of(std::string_view line) {
  const size_t at = line.substr(0, kLongestPrefix).find(kNcclMark);
  return at == line.npos ? std::string_view{}
                         : line.substr(at + kNcclMark.size());
}

bool is_tcp(std::string_view network) {
  const std::string name = to_lower(network);
  return name == "socket" || name == "fastsocket";
}

std::string names_of(const std::set<std::string>& pods) {
  std::string out;
  size_t named = 0;
  for (const std::string& pod : pods) {
    if (named == kNamedPods) {
      return out + " and " + std::to_string(pods.size() - named) + " more";
    }
    out += (named++ == 0 ? "" : ", ") + pod;
  }
  return out;
}

}  // namespace

NcclLogWatch::NcclLogWatch(std::string planned)
    : planned_(planned == "unknown" ? "" : std::move(planned)) {}

bool NcclLogWatch::line(int rank, const std::string& pod,
                        std::string_view line) {
  if (rank < 0 || planned_.empty()) return false;
  const std::string_view message = message_of(line);
  if (message.empty()) return false;
  const bool none_before = astray_.empty();
  constexpr std::string_view kNetwork = "Using network ";
  if (message.starts_with(kNetwork)) {
    take(rank, pod, trim(message.substr(kNetwork.size())));
  } else if (message.starts_with("NET/IB : Using")) {
    on_ib_.insert(rank);
  } else if (message.starts_with("NET/Socket : Using") &&
             on_ib_.count(rank) == 0) {
    take(rank, pod, "Socket");
  }
  const bool first = none_before && !astray_.empty();
  if (first) evidence_ = std::string(line.substr(0, kLongestLine));
  return first;
}

void NcclLogWatch::take(int rank, const std::string& pod,
                        std::string_view network) {
  checked_.insert(rank);
  if (is_tcp(network) == (planned_ == "TCP")) return;
  if (astray_.empty()) network_ = network;
  astray_.insert(rank);
  pods_.insert(pod);
}

std::optional<Finding> NcclLogWatch::finding() const {
  if (astray_.empty()) return std::nullopt;
  const std::string who = std::to_string(astray_.size()) + " of " +
                          std::to_string(checked_.size()) +
                          " ranks that named their network, on " +
                          names_of(pods_);
  if (planned_ == "TCP") {
    return Finding{
        Severity::kWarning, "nccl_not_as_planned",
        "NCCL uses " + network_ + " although TCP was planned: " + who,
        evidence_,
        "ranks that use different networks hang: see what overrides "
        "NCCL_NET=Socket there, or let all of them use RDMA"};
  }
  return Finding{
      Severity::kWarning, "nccl_fell_back",
      "NCCL fell back to TCP although " + planned_ + " was planned: " + who,
      evidence_,
      "`muster fabric check` tells why; --profile rdma makes it an error"};
}

}  // namespace muster
