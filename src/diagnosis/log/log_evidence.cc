// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/log_evidence.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "diagnosis/cause/help_host.h"
#include "diagnosis/cause/missing_peers.h"
#include "diagnosis/log/json_line.h"
#include "diagnosis/log/line_host.h"
#include "diagnosis/log/writer_mark.h"
#include "logs/line_origin.h"

namespace muster {

namespace {

constexpr size_t kMaxLine = 4096;

// A line that people read has no terminal colours.
std::string without_escapes(std::string_view text) {
  if (text.find('\x1b') == std::string_view::npos) return std::string(text);
  std::string clean;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      clean += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '[') {
      for (i += 2; i < text.size() && (text[i] < 0x40 || text[i] > 0x7e);) ++i;
    }
  }
  return clean;
}

// Open MPI 4 puts its tag into the middle of a line that a rank wrote in
// several pieces: "Key[1,1]<stderr>:Error". `host`: whom what comes behind a
// tag names, "# Size[1,0]<stderr>:[node-3:4711] pml_ucx.c:323 Error".
std::string without_torn_tags(std::string text, std::string& host) {
  size_t at = 0;
  while ((at = text.find(">:", at)) != std::string::npos) {
    const size_t open = text.rfind('[', at);
    const std::string_view tag =
        open == std::string::npos
            ? std::string_view()
            : std::string_view(text).substr(open, at - open);
    const size_t close = tag.find("]<std");
    const bool torn =
        close != std::string_view::npos && close > 1 &&
        tag.substr(1, close - 1).find_first_not_of("0123456789,") ==
            std::string_view::npos;
    if (!torn) {
      at += 2;
      continue;
    }
    text.erase(open, at + 2 - open);
    at = open;
    if (host.empty()) host = host_in_line(std::string_view(text).substr(at));
  }
  return text;
}

// Where another rank's tag begins, in the middle of a line that its writer had
// not ended yet: "[1,5]<stderr>:ValueError: [1,2]<stderr>:…".
size_t other_tag(std::string_view text) {
  constexpr size_t kLatestTag = 40;  // behind a time
  std::string_view first;
  for (size_t at = text.find("]<std"); at != std::string_view::npos;
       at = text.find("]<std", at + 1)) {
    const size_t open = text.rfind('[', at);
    if (open == std::string_view::npos) continue;
    const std::string_view tag = text.substr(open, at - open);
    const bool numbers =
        tag.size() > 1 &&
        tag.find_first_not_of("0123456789,", 1) == std::string_view::npos;
    if (!numbers) continue;
    if (first.empty()) {
      if (open > kLatestTag) return std::string_view::npos;
      first = tag;
    } else if (tag != first) {
      return open;
    }
  }
  return std::string_view::npos;
}

// Where the next record begins in a line that a terminal filled with blanks, as
// it is copied: "…closing signal SIGTERM        ERROR:torch.distributed…".
size_t next_record(std::string_view text) {
  constexpr std::string_view kBlanks = "        ";
  for (size_t at = text.find(kBlanks); at != std::string_view::npos;
       at = text.find(kBlanks, at)) {
    at = text.find_first_not_of(' ', at);
    if (at == std::string_view::npos) return at;
    const std::string_view rest = text.substr(at);
    for (const std::string_view head :
         {"ERROR", "WARNING", "CRITICAL", "Traceback (most recent"}) {
      if (rest.starts_with(head)) return at;
    }
  }
  return std::string_view::npos;
}

// The text that another writer put behind a progress bar without a newline:
// "29%|## | 9/32 [3:28, 1.3s/it]Terminated". Of several bars on one line the
// last counts. Empty: nothing.
// A bar that does not know its end: "3 examples [00:02, 1.3 examples/s]".
std::string_view behind_bar(std::string_view text) {
  const size_t bar = text.find("%|");
  const size_t open = bar == std::string_view::npos
                          ? text.rfind(" [", text.find("/s]"))
                          : text.find(" [", bar);
  const size_t close = text.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos) {
    return {};
  }
  constexpr std::string_view kElapsed = "0123456789:";
  const std::string_view inside = text.substr(open + 2, close - open - 2);
  if (bar == std::string_view::npos &&
      (!inside.ends_with("/s") || inside.find(", ") == std::string_view::npos ||
       inside.find_first_not_of(kElapsed) != inside.find(", "))) {
    return {};
  }
  const std::string_view rest = trim(text.substr(close + 1));
  if (rest.find("%|") != std::string_view::npos) return behind_bar(rest);
  return rest.size() < 4 ? std::string_view() : rest;
}

// Adds the marks of programs and of tools other than launchers and kubectl.
void add_marks(ParsedLine& parsed, LearntTags& tags) {
  if (parsed.is_record) return;
  if (parsed.rank < 0 && parsed.host.empty()) {
    parsed.host = tags.take(parsed.message);
  }
  const WriterMark mark = read_writer_mark(parsed.message);
  if (parsed.rank < 0) parsed.rank = mark.rank;
  if (parsed.host.empty()) parsed.host = mark.host;
  if (mark.rest.size() < parsed.message.size() && !trim(mark.rest).empty()) {
    parsed.message = std::string(mark.rest);
  }
}

// The tag behind a tag: of mpirun behind stern's of the launcher's pod, of a
// program in what a container's runtime wrote as JSON.
void take_inner_tag(ParsedLine& parsed) {
  ParsedLine inner = parse_line(parsed.message);
  if (parsed.rank < 0) parsed.rank = inner.rank;
  if (parsed.stream.empty()) parsed.stream = std::move(inner.stream);
  if (parsed.time_ns < 0) parsed.time_ns = inner.time_ns;
  if (!inner.host.empty()) parsed.host = std::move(inner.host);
  parsed.message = std::move(inner.message);
}

bool is_python_frame(std::string_view text) {
  return trim(text).starts_with("File \"");
}

// "ERROR:__main__:MemoryError": rules look for the name at a line's start.
bool knows_only_shape(const LineMeaning& meaning) {
  return !meaning.matches.empty() &&
         std::all_of(meaning.matches.begin(), meaning.matches.end(),
                     [](const LineMatch& match) {
                       return match.rule->code == "unknown";
                     });
}

bool says_more(const LineMeaning& meaning) {
  return std::any_of(
      meaning.matches.begin(), meaning.matches.end(),
      [](const LineMatch& match) { return match.kind != PatternKind::kMaybe; });
}

// mpirun runs there, and its output is about other hosts.
bool only_relays(std::string_view host) {
  if (host.empty()) return false;
  for (const std::string_view name : {"-launcher", "-mpimaster"}) {
    const size_t at = host.find(name);
    const size_t end = at + name.size();
    if (at != std::string_view::npos &&
        (end == host.size() || host[end] == '-' || host[end] == '.')) {
      return true;
    }
  }
  return false;
}

// Of Ray, which prints an address where the program may print a name.
bool is_address(std::string_view host) {
  return host.find_first_not_of("0123456789.:") == std::string_view::npos;
}

}  // namespace

// A report shows a log as a block of code: what its first line is indented by.
size_t LogEvidence::margin_of(std::string_view line) {
  constexpr size_t kCodeBlock = 2;
  const size_t blanks = std::min(line.find_first_not_of(" \t"), line.size());
  if (blanks == line.size()) return 0;
  if (!margin_) margin_ = blanks >= kCodeBlock ? blanks : 0;
  return std::min(blanks, *margin_);
}

void LogEvidence::add(std::string_view raw) {
  kind_.add(raw.substr(0, kMaxLine));
  if (numbers_.decided() && head_.decided()) {
    add_line(numbers_.strip(raw));
    return;
  }
  held_.emplace_back(raw);
  if (!numbers_.decided()) numbers_.look(raw);
  if (!head_.decided()) head_.look(raw);
  if (numbers_.decided() && head_.decided()) add_held();
}

void LogEvidence::add_held() {
  for (const std::string& line : std::exchange(held_, {})) {
    add_line(numbers_.strip(line));
  }
}

void LogEvidence::add_line(std::string_view raw) {
  const CommonHead::Stripped own = head_.strip(raw);
  add_written(own.text, own);
}

void LogEvidence::add_written(std::string_view raw,
                              const CommonHead::Stripped& head) {
  ++line_;
  while (raw.ends_with('\r')) raw.remove_suffix(1);
  while (raw.starts_with("> ")) raw.remove_prefix(2);  // quoted in a report
  raw.remove_prefix(margin_of(raw));
  const size_t bar = raw.rfind('\r');
  if (bar != std::string_view::npos) raw.remove_prefix(bar + 1);
  const std::string text = without_escapes(raw.substr(0, 4 * kMaxLine));
  if (const size_t other = other_tag(text); other != std::string::npos) {
    add_written(std::string_view(text).substr(0, other), head);
    add_written(std::string_view(text).substr(other), head);
    return;
  }
  if (const size_t next = next_record(text);
      next != std::string::npos && !trim(text.substr(0, next)).empty()) {
    add_written(std::string_view(text).substr(0, next), head);
    add_written(std::string_view(text).substr(next), head);
    return;
  }
  ParsedLine parsed = parse_line(text);
  if (parsed.time_ns < 0) parsed.time_ns = head.time_ns;
  if (parsed.host.empty()) parsed.host = head.name;
  if (trim(parsed.message).empty()) return;
  const bool within = !parsed.is_record && read_json_line(parsed);
  const std::string message = std::exchange(parsed.message, {});
  bool more = false;
  for (const std::string_view part : split(message, '\n')) {
    if (trim(part).empty()) continue;
    if (std::exchange(more, true)) ++line_;
    parsed.message = part;
    ParsedLine own = parsed;
    if (within) take_inner_tag(own);
    add_parsed(std::move(own));
  }
}

void LogEvidence::add_parsed(ParsedLine parsed) {
  if (parsed.rank < 0 && own_.add(parsed.message)) return;
  if (only_relays(parsed.host)) parsed.host.clear();
  rank_hosts_.learn(parsed.message);
  add_marks(parsed, tags_);
  nccl_.learn(parsed.message);
  local_failure_.add(parsed.message, parsed.host);
  if (only_relays(parsed.host)) {
    parsed.host.clear();
    take_inner_tag(parsed);
    add_marks(parsed, tags_);
  }
  const bool nobody = parsed.rank < 0 && parsed.host.empty();
  const LogClock::Times times = clock_.times_of(
      nobody ? std::string() : std::to_string(parsed.rank) + parsed.host,
      parsed);
  if (failures_.is_later_failure(parsed.message)) return;
  const int rank =
      writers_.size() < KeptLines::kMaxWriters || writers_.contains(parsed.rank)
          ? parsed.rank
          : -1;
  Writer& writer = writers_[rank];
  writer.number = rank;
  if (writer.host.empty()) writer.host = parsed.host;
  if (writer.ignored.is_part(parsed.message)) return;
  if (std::string both = end_.joined(parsed.message); !both.empty()) {
    parsed.message = std::move(both);
  }
  // PyTorch repeats what NCCL wrote as its warning.
  if (std::exchange(writer.nccl_next, trim(parsed.message) == "Last error:")) {
    parsed.message.insert(0, "NCCL WARN ");
  }
  LineEvidence line{
      line_ * kLogLineNs, parsed.stream == "stderr",
      without_torn_tags(parsed.message.substr(0, kMaxLine), parsed.host),
      parsed.host};
  if (is_address(line.host)) {
    std::string_view named = host_in_line(line.text);
    // "[1,5]<stderr>:[node-7:4711] *** Process received signal ***".
    if (rank >= 0 && writer.host.empty()) writer.host = named;
    if (named.empty()) named = addresses_.host_in(line.text);
    if (named.empty()) named = ssh_.host_of(line.text);
    if (named.empty()) named = described_.host_of(line.text);
    if (named.empty()) named = broadcasts_.host_of(line.text);
    if (!named.empty()) line.host = named;
  }
  if (rank >= 0) {
    writer.alone = writer.alone || is_lone_rank(line.text);
  } else {
    lone_worlds_.add(line.text, line_);
  }
  const std::string rest(behind_bar(line.text));
  keep(writer, {std::move(line), times});
  if (!rest.empty()) {
    keep(writer, {{line_ * kLogLineNs + 1, parsed.stream == "stderr", rest,
                   std::string(host_in_line(rest))},
                  times});
  }
}

void LogEvidence::keep(Writer& writer, KeptLines::Line kept) {
  LineEvidence& line = kept.line;
  LineMeaning meaning = rules_.look(line.text);
  if (knows_only_shape(meaning)) {
    const std::string_view told = behind_logger_head(line.text);
    LineMeaning inner = rules_.look(told);
    if (says_more(inner)) {
      line.text = std::string(told);
      meaning = std::move(inner);
    }
  }
  const bool known = !meaning.matches.empty() || meaning.progress ||
                     meaning.success || meaning.fact ||
                     is_python_frame(line.text) ||
                     !host_in_help_line(line.text).empty() ||
                     !peer_in_help_line(line.text).empty() ||
                     !pod_entered(line.text).empty() || begins_list(line.text);
  const bool goes_on = std::exchange(writer.goes_on, false);
  writer.goes_on = (known && trim(line.text).ends_with(":")) ||
                   (goes_on && continues_list(line.text));
  kept_.add(writer.number, std::move(kept),
            !meaning.matches.empty() ? KeptLines::Kind::kAlarm
            : known || goes_on       ? KeptLines::Kind::kKnown
                                     : KeptLines::Kind::kUnknown);
}

// By writer, each in the order of time.
std::map<int, std::vector<LineEvidence>> LogEvidence::take_lines() {
  std::vector<std::pair<int, KeptLines::Line>> all = kept_.take();
  for (auto& [rank, kept] : all) {
    if (rank >= 0) continue;
    if (kept.line.host.empty()) {
      kept.line.host = tags_.take_late(kept.line.text);
    }
    rank = nccl_.rank_of(kept.line.text);
  }
  const auto by_place = [](const auto& a, const auto& b) {
    return a.second.line.time_ns < b.second.line.time_ns;
  };
  std::sort(all.begin(), all.end(), by_place);
  std::vector<LogClock::Line> lines;
  lines.reserve(all.size());
  for (const auto& [rank, kept] : all) {
    lines.push_back({kept.line.time_ns, kept.times});
  }
  const std::vector<int64_t> places = clock_.places(lines);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].second.line.time_ns = places[i];
  }
  std::sort(all.begin(), all.end(), by_place);
  std::map<int, std::vector<LineEvidence>> result;
  for (auto& [rank, kept] : all) result[rank].push_back(std::move(kept.line));
  return result;
}

Evidence LogEvidence::take() {
  head_.decide();
  add_held();
  Evidence evidence;
  evidence.job.bare_log = true;
  evidence.job.backend = "log";
  evidence.job.no_log = kind_.instead();
  evidence.job.lone_worlds = lone_worlds_.count();
  evidence.job.local_failure = local_failure_.rank();
  evidence.job.rank_hosts = rank_hosts_.take();
  const std::map<int, std::string> nccl_hosts = nccl_.hosts();
  int highest = -1;
  for (auto& [rank, lines] : take_lines()) {
    if (rank < 0) {
      evidence.job.tool_lines = std::move(lines);
      continue;
    }
    highest = std::max(highest, rank);
    RankEvidence entry;
    entry.rank = rank;
    entry.host = std::move(writers_[rank].host);
    if (const auto told = nccl_hosts.find(rank);
        entry.host.empty() && told != nccl_hosts.end()) {
      entry.host = told->second;
    }
    entry.lines = std::move(lines);
    evidence.ranks.push_back(std::move(entry));
  }
  // Only the first may call itself rank 0.
  const bool alone =
      std::any_of(writers_.begin(), writers_.end(), [](const auto& writer) {
        return writer.first > 0 && writer.second.alone;
      });
  for (RankEvidence& entry : evidence.ranks) {
    if (alone && writers_[entry.rank].alone) entry.world_size = 1;
  }
  // Ranks that wrote nothing are not in the log: only a full set is a world.
  if (highest + 1 == static_cast<int>(evidence.ranks.size())) {
    evidence.job.world_size = highest + 1;
  }
  writers_.clear();
  line_ = 0;
  kind_ = {};
  clock_ = {};
  tags_ = {};
  addresses_ = {};
  ssh_ = {};
  described_ = {};
  local_failure_ = {};
  broadcasts_ = {};
  end_ = {};
  numbers_ = {};
  head_ = {};
  nccl_ = {};
  margin_.reset();
  return evidence;
}

Evidence evidence_from_log(std::string_view text, const RuleBook& rules) {
  LogEvidence log(rules);
  for (const std::string_view line : split(text, '\n')) log.add(line);
  return log.take();
}

}  // namespace muster
