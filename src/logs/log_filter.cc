// SPDX-License-Identifier: Apache-2.0
#include "logs/log_filter.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "job/plan.h"

namespace muster {

namespace {

tl::unexpected<Error> wrong(std::string why) {
  return fail(Error{"usage", "cannot read the options", std::move(why), "",
                    kLogsUsage});
}

// "10m" ago, or a time of day with its date.
Result<int64_t> parse_moment(const std::string& text, int64_t now_ns) {
  if (const auto ago = parse_duration_ms(text)) {
    constexpr int64_t kMostMs = INT64_MAX / 1'000'000;
    return *ago > kMostMs ? INT64_MIN : now_ns - *ago * 1'000'000;
  }
  size_t used = 0;
  const int64_t time = parse_timestamp(text, &used);
  if (time < 0 || used != text.size()) {
    return wrong("'" + text +
                 "' is neither a duration (10m) nor a time "
                 "(2026-01-31T12:00:00Z)");
  }
  return time;
}

bool is_worker(const std::string& host, const std::string& wanted) {
  if (host == wanted) return true;
  const std::string_view first =
      std::string_view(host).substr(0, host.find('.'));
  if (first == wanted) return true;
  // A log of text has the pod's name alone.
  if (first == host && wanted.starts_with(host + ".")) return true;
  if (!parse_integer(wanted) || !first.ends_with(wanted)) return false;
  const std::string_view name = first.substr(0, first.size() - wanted.size());
  return name.ends_with('-') ||  // pi-worker-3, and node3 of --local
         (!name.empty() &&
          std::isalpha(static_cast<unsigned char>(name.back())));
}

// "0-3,7", from the first to the last of each; nullopt: not a set of ranks.
std::optional<std::vector<std::pair<int, int>>> parse_ranges(
    std::string_view text) {
  std::vector<std::pair<int, int>> out;
  for (const std::string_view part : split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash));
    const auto last = dash == std::string_view::npos
                          ? first
                          : parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMaxRanks) {
      return std::nullopt;
    }
    out.emplace_back(static_cast<int>(*first), static_cast<int>(*last));
  }
  return out;
}

// "[0-3] loading model": a line of several ranks, as --log-fold writes it.
bool is_folded_of(const std::set<int>& ranks, std::string_view message) {
  const size_t end = message.find("] ");
  if (!message.starts_with('[') || end == std::string_view::npos) return false;
  const auto ranges = parse_ranges(message.substr(1, end - 1));
  return ranges && std::any_of(ranges->begin(), ranges->end(), [&](auto range) {
           const auto found = ranks.lower_bound(range.first);
           return found != ranks.end() && *found <= range.second;
         });
}

Status apply(LogFilter& filter, const std::string& option,
             const std::string& value, int64_t now_ns) {
  if (option == "--rank") {
    auto ranks = parse_rank_set(value);
    if (!ranks) {
      return wrong("'" + value + "' is not a set of ranks such as 0-3,7");
    }
    filter.ranks = *std::move(ranks);
  } else if (option == "--worker") {
    filter.worker = value;
  } else if (option == "--level") {
    const auto level = parse_level(value);
    if (!level)
      return wrong(
          "--level is trace, debug, info, warn, error or "
          "fatal, not '" +
          value + "'");
    filter.level = *level;
  } else if (option == "--since" || option == "--until") {
    const auto moment = parse_moment(value, now_ns);
    if (!moment) return fail(moment.error());
    (option == "--since" ? filter.since_ns : filter.until_ns) = *moment;
  } else if (option == "--grep") {
    RE2::Options quiet;
    quiet.set_log_errors(false);
    auto pattern = std::make_shared<const RE2>(value, quiet);
    if (!pattern->ok()) return wrong("--grep: " + pattern->error());
    filter.grep = std::move(pattern);
  } else if (option == "-o") {
    if (value != "text" && value != "json") {
      return wrong("-o is text or json, not '" + value + "'");
    }
    filter.json = value == "json";
  } else {
    return wrong("unknown option " + option);
  }
  return {};
}

}  // namespace

const char* const kLogsUsage =
    "usage: muster logs [FILE|-] [--rank 0-3,7] [--worker NAME|N] [--level L] "
    "[--since T] [--until T] [--grep RE2] [-o text|json]";

bool LogFilter::wants(const ParsedLine& line, LogLevel line_level) const {
  if (!ranks.empty() && !ranks.contains(line.rank) &&
      (line.rank >= 0 || !is_folded_of(ranks, line.message))) {
    return false;
  }
  if (!worker.empty() && !is_worker(line.host, worker)) return false;
  if (line_level < level) return false;
  if (line.time_ns >= 0 &&
      (line.time_ns < since_ns || line.time_ns > until_ns)) {
    return false;
  }
  return !grep || RE2::PartialMatch(line.message, *grep);
}

Result<LogFilter> parse_logs_options(const std::vector<std::string>& args,
                                     int64_t now_ns) {
  LogFilter filter;
  bool have_file = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "-" || !arg.starts_with('-')) {
      if (have_file) return wrong("one file at a time");
      have_file = true;
      filter.file = arg;
      continue;
    }
    const size_t equals = arg.find('=');
    if (arg.starts_with("--") && equals != std::string::npos) {
      const Status status =
          apply(filter, arg.substr(0, equals), arg.substr(equals + 1), now_ns);
      if (!status) return fail(status.error());
      continue;
    }
    if (i + 1 == args.size()) return wrong(arg + " needs a value");
    const Status status = apply(filter, arg, args[++i], now_ns);
    if (!status) return fail(status.error());
  }
  return filter;
}

std::optional<std::set<int>> parse_rank_set(std::string_view text) {
  const auto ranges = parse_ranges(text);
  if (!ranges) return std::nullopt;
  std::set<int> ranks;
  for (const auto& [first, last] : *ranges) {
    for (int rank = first; rank <= last; ++rank) ranks.insert(rank);
  }
  return ranks;
}

}  // namespace muster
