// SPDX-License-Identifier: Apache-2.0
// The forms of a verdict: lines for a person, the termination message, JSON.
#include <algorithm>

#include "base/text.h"
#include "diagnosis/verdict.h"
#include "diagnosis/verdict_record.h"
#include "job/json_fields.h"

namespace muster {

namespace {

constexpr size_t kMaxLineBytes = 400;
// In one record of a log, with its prefix: 4 KiB.
constexpr size_t kMaxTextBytes = 3800;
constexpr size_t kShortText = 200;  // in JSON up to twice that

std::string line_of(std::string_view text) {
  return one_line(text, kMaxLineBytes - 1) + "\n";
}

// A newline, a quote and a backslash take two bytes there.
size_t size_in_json(const std::string& text) {
  return text.size() + static_cast<size_t>(
                           std::count_if(text.begin(), text.end(), [](char c) {
                             return c == '\n' || c == '"' || c == '\\';
                           }));
}

std::string remedy_line(const Verdict& verdict, size_t index) {
  return line_of("  fix " + std::to_string(index + 1) + ": " +
                 verdict.remedies[index]);
}

void write_facts(JsonWriter& writer, const Verdict& verdict) {
  writer.field("verdict", 1);
  writer.field("code", verdict.code);
  writer.field("class", verdict.exit_class);
  writer.field("exit_code", verdict.exit_code);
  writer.field("retryable", verdict.retryable);
  writer.field("confidence", std::string(to_text(verdict.confidence)));
  writer.field("rank", verdict.first_rank);
  writer.field("host", verdict.host);
}

void write_words(JsonWriter& writer, const Verdict& verdict) {
  writer.field("equal_failures", verdict.equal_failures);
  writer.field("summary", verdict.headline);
  writer.field("cause", verdict.cause);
  writer.field("evidence", verdict.evidence);
  writer.field("remedies", verdict.remedies);
  writer.objects("also", verdict.also,
                 [](JsonWriter& item, const AlsoSeen& also) {
                   item.field("code", also.code);
                   item.field("text", also.text);
                 });
}

}  // namespace

const char* to_text(Confidence confidence) {
  switch (confidence) {
    case Confidence::kProven:
      return "proven";
    case Confidence::kLikely:
      return "likely";
    case Confidence::kPossible:
      return "possible";
  }
  return "";
}

std::string verdict_text(const Verdict& verdict, int max_lines) {
  std::vector<std::string> lines;
  lines.push_back(line_of(verdict.headline));
  if (!verdict.failed()) return lines.front();
  lines.push_back(line_of("  code: " + verdict.code + " (" +
                          to_text(verdict.confidence) + "), exit code " +
                          std::to_string(verdict.exit_code) +
                          (verdict.retryable ? ", worth a retry" : "")));
  // The remedy counts most, then the first evidence, then the rest.
  const size_t room = static_cast<size_t>(std::max(max_lines, 3)) - 2;
  const size_t remedies = std::min(verdict.remedies.size(), room);
  std::vector<std::string> fixes;
  for (size_t i = 0; i < remedies; ++i) {
    fixes.push_back(remedy_line(verdict, i));
  }
  size_t left = room - remedies;
  size_t bytes = size_in_json(join(lines, "") + join(fixes, ""));
  const auto add = [&](const std::string& line) {
    const size_t size = size_in_json(line);
    if (left == 0 || bytes + size > kMaxTextBytes) return;
    bytes += size;
    --left;
    lines.push_back(line);
  };
  const bool repeats =
      !verdict.evidence.empty() &&
      verdict.evidence.front().find(verdict.cause) != std::string::npos;
  if (!verdict.cause.empty() && !repeats) {
    add(line_of("  why: " + verdict.cause));
  }
  for (const std::string& seen : verdict.evidence) {
    add(line_of("  seen: " + seen));
  }
  for (const AlsoSeen& also : verdict.also) {
    add(line_of("  also: " + also.text));
  }
  return join(lines, "") + join(fixes, "");
}

std::string termination_message(const Verdict& verdict, size_t max_bytes) {
  std::string text;
  const std::string lines = verdict_text(verdict);
  for (const std::string_view line : split(lines, '\n')) {
    if (line.empty() || text.size() + line.size() + 1 > max_bytes) continue;
    text += line;
    text += '\n';
  }
  JsonWriter facts;  // its words are the lines above
  write_facts(facts, verdict);
  const std::string json = facts.text();
  if (text.size() + json.size() + 1 <= max_bytes) text += json + "\n";
  return text;
}

std::string verdict_json(const Verdict& verdict) {
  JsonWriter writer;
  write_facts(writer, verdict);
  write_words(writer, verdict);
  return writer.text();
}

std::string short_verdict_json(Verdict verdict, size_t max_bytes) {
  std::string json = verdict_json(verdict);
  while (json.size() > max_bytes) {
    if (!verdict.also.empty()) {
      verdict.also.pop_back();
    } else if (verdict.evidence.size() > 1) {
      verdict.evidence.pop_back();
    } else if (verdict.remedies.size() > 1) {
      verdict.remedies.pop_back();
    } else {
      verdict.headline = one_line(verdict.headline, kShortText);
      verdict.cause = one_line(verdict.cause, kShortText);
      for (auto* texts : {&verdict.evidence, &verdict.remedies}) {
        for (std::string& text : *texts) text = one_line(text, kShortText);
      }
      return verdict_json(verdict);
    }
    json = verdict_json(verdict);
  }
  return json;
}

}  // namespace muster
