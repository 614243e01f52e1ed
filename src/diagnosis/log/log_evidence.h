// SPDX-License-Identifier: Apache-2.0
// Turns a bare text log into Evidence: each line goes to its rank if a prefix
// names it, else to the launcher's lines. Bounds memory for a log of any size
// (kept_lines.h). Refuses nothing: any bytes are a log. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/book/rule_book.h"
#include "diagnosis/evidence.h"
#include "diagnosis/log/broadcast_host.h"
#include "diagnosis/log/common_head.h"
#include "diagnosis/log/described_pod.h"
#include "diagnosis/log/end_in_two_lines.h"
#include "diagnosis/log/ignored_exception.h"
#include "diagnosis/log/kept_lines.h"
#include "diagnosis/log/known_addresses.h"
#include "diagnosis/log/learnt_tags.h"
#include "diagnosis/log/line_numbers.h"
#include "diagnosis/log/local_failure.h"
#include "diagnosis/log/log_clock.h"
#include "diagnosis/log/lone_worlds.h"
#include "diagnosis/log/nccl_ranks.h"
#include "diagnosis/log/own_verdict.h"
#include "diagnosis/log/rank_hosts.h"
#include "diagnosis/log/ssh_target.h"
#include "diagnosis/log/text_kind.h"
#include "diagnosis/log/torch_failures.h"
#include "logs/line_origin.h"

namespace muster {

class LogEvidence {
 public:
  explicit LogEvidence(const RuleBook& rules) : rules_(rules) {}

  // One line without its newline. After a '\r' within it only the rest counts
  // (a progress bar's last state).
  void add(std::string_view line);
  // Times are line numbers in steps of 10 ms, so that neighbours differ, in
  // the order in which the lines say that they were written.
  [[nodiscard]] Evidence take();
  // The verdict of muster's launcher at the log's end, if it is its log.
  [[nodiscard]] const std::optional<Verdict>& own_verdict() const {
    return own_.verdict();
  }

 private:
  struct Writer {
    int number = -1;  // its rank
    std::string host;
    IgnoredException ignored;
    bool goes_on = false;    // the last line that matches a rule ended with ":"
    bool alone = false;      // took itself for the only rank
    bool nccl_next = false;  // the next line repeats NCCL's last error
  };

  void add_line(std::string_view raw);
  // Without a log tool's prefix.
  void add_written(std::string_view raw, const CommonHead::Stripped& head);
  void add_parsed(ParsedLine parsed);
  void add_held();
  void keep(Writer& writer, KeptLines::Line kept);
  std::map<int, std::vector<LineEvidence>> take_lines();
  size_t margin_of(std::string_view line);

  const RuleBook& rules_;
  OwnVerdict own_{rules_};
  LineNumbers numbers_;
  CommonHead head_;
  std::vector<std::string> held_;  // until both are known
  TorchFailures failures_;
  NcclRanks nccl_;
  RankHosts rank_hosts_;
  LoneWorlds lone_worlds_;
  LocalFailure local_failure_;
  LearntTags tags_;
  KnownAddresses addresses_;
  SshTarget ssh_;
  DescribedPod described_;
  BroadcastHost broadcasts_;
  EndInTwoLines end_;
  TextKind kind_;
  LogClock clock_;
  int64_t line_ = 0;
  std::optional<size_t> margin_;   // known from the first line on
  std::map<int, Writer> writers_;  // by rank; -1: of none
  KeptLines kept_;
};

// Reads `text` as a whole.
Evidence evidence_from_log(std::string_view text, const RuleBook& rules);

}  // namespace muster
