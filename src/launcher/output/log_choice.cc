// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_choice.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "logs/log_filter.h"

namespace muster {

namespace {

// Long enough for ranks that print the same at about the same time.
constexpr Milliseconds kFoldWindow{200};

// A bar on a terminal moves smoothly.
constexpr Milliseconds kBarInterval{100};

bool same_file(const char* a, const char* b) {
  struct stat first {};
  struct stat second {};
  return ::stat(a, &first) == 0 && ::stat(b, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

// kubectl logs shows the output of pid 1 of the container.
bool stdout_is_container_log() {
  return ::getpid() == 1 || same_file("/proc/self/fd/1", "/proc/1/fd/1");
}

LogFormat choose_format(const LaunchOptions& options) {
  if (options.log_format == "text") return LogFormat::kText;
  if (options.log_format == "plain") return LogFormat::kPlain;
  if (options.log_format == "json") return LogFormat::kJson;
  if (options.drop_in) {
    return stdout_is_container_log() ? LogFormat::kText : LogFormat::kPlain;
  }
  return ::isatty(STDOUT_FILENO) == 1 ? LogFormat::kText : LogFormat::kJson;
}

}  // namespace

OutputOptions choose_output(const LaunchOptions& options) {
  OutputOptions out;
  out.format = choose_format(options);
  out.color = out.format == LogFormat::kText && ::isatty(STDOUT_FILENO) == 1 &&
              ::getenv("NO_COLOR") == nullptr;
  out.status_line =
      out.format == LogFormat::kText && ::isatty(STDOUT_FILENO) == 1;
  if (out.status_line) out.progress_interval = kBarInterval;
  out.directory = options.log_directory;
  if (const auto rotation = parse_rotation(options.log_rotate)) {
    out.rotation = *rotation;
  }
  out.drop = options.log_drop;
  const bool fold = options.fold == "on" ||
                    (options.fold == "auto" && ::isatty(STDOUT_FILENO) == 1);
  if (fold) out.fold = kFoldWindow;
  if (const auto level = parse_level(options.rank_level)) out.level = *level;
  if (const auto ranks = parse_rank_set(options.log_ranks)) out.ranks = *ranks;
  return out;
}

MpiTags tags_of(const MpirunLine& line, const std::string& version) {
  const MpiTags open_mpi =
      version.starts_with("4.") ? MpiTags::kOpenMpi : MpiTags::kOpenMpi5;
  for (const LineOption& option : line.options) {
    if (option.meaning != OptionMeaning::kTagOutput) continue;
    return option.name == "tag-output" ? open_mpi : MpiTags::kHydra;
  }
  return line.tag_output ? open_mpi : MpiTags::kNone;
}

namespace {

// "512M": a number of bytes, with or without K, M, G, T (powers of 1024).
std::optional<int64_t> parse_size(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  int shift = 0;
  if (!text.empty() && kUnits.find(text.back()) != std::string_view::npos) {
    shift = 10 * static_cast<int>(kUnits.find(text.back()) + 1);
    text.remove_suffix(1);
  }
  const auto number = parse_integer(text);
  if (!number || *number < 1 || *number > (INT64_MAX >> shift)) {
    return std::nullopt;
  }
  return *number << shift;
}

}  // namespace

Result<LogRotation> parse_rotation(const std::string& text) {
  constexpr int64_t kMaxOlder = 1000;
  LogRotation out;
  if (text.empty()) return out;
  if (text == "off") {
    out.bytes = 0;
    return out;
  }
  const auto words = split(text, ',');
  const auto size = parse_size(words[0]);
  const auto older = words.size() == 2 ? parse_integer(words[1]) : out.older;
  if (words.size() > 2 || !size || *size < 4096 || !older || *older < 0 ||
      *older > kMaxOlder) {
    return fail(Error{"usage",
                      "bad value of --log-rotate",
                      "'" + text + "' is no SIZE[,OLDER]",
                      {},
                      "As in --log-rotate 256M,4 (at least 4K), or off."});
  }
  out.bytes = static_cast<uint64_t>(*size);
  out.older = static_cast<int>(*older);
  return out;
}

Result<Masker> make_masker(const LaunchOptions& options,
                           const Environment& env) {
  MaskOptions mask;
  mask.environment = env;
  mask.patterns = options.mask_patterns;
  return Masker::create(mask);
}

void configure_log(const LaunchOptions& options, const std::string& host) {
  log::Options log_options;
  log_options.level = options.log_level == "debug"   ? log::Level::kDebug
                      : options.log_level == "warn"  ? log::Level::kWarn
                      : options.log_level == "error" ? log::Level::kError
                                                     : log::Level::kInfo;
  log_options.json = choose_format(options) == LogFormat::kJson;
  log_options.host = host;
  log::configure(log_options);
}

}  // namespace muster
