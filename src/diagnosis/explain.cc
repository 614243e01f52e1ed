// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/explain.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "diagnosis/book/rule_book.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"
#include "job/exit_codes.h"
#include "logs/line_reader.h"
#include "logs/masker.h"

namespace muster {

namespace {

constexpr int kUsage = 2;
constexpr int kUnreadable = 1;

int usage_error(const std::string& text) {
  std::cerr << "muster: " << text << '\n';
  return kUsage;
}

// Templates read as prose: the last alternative, names in capitals.
std::string as_prose(std::string_view text) {
  constexpr std::string_view kOr = " || ";
  const size_t last = text.rfind(kOr);
  if (last != std::string_view::npos) text.remove_prefix(last + kOr.size());
  std::string prose;
  bool in_name = false;
  bool condition = false;  // "{?image}": only if it is known
  bool many = false;       // "{was|were}": the former
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '}') {
      const std::string_view rest = text.substr(i);
      in_name = c == '{' && rest.find('|') > rest.find('}');
      condition = many = false;
      continue;
    }
    many |= c == '|';
    if (many) continue;
    condition |= in_name && c == '?';
    if (condition) continue;
    prose += in_name && c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  }
  return prose;
}

void list_codes(const RuleBook& rules) {
  for (const Rule& rule : rules.rules()) {
    std::cout << rule.code
              << std::string(rule.code.size() < 24 ? 24 - rule.code.size() : 1,
                             ' ')
              << rule.title << '\n';
  }
}

void print_entry(const Rule& rule) {
  std::cout << rule.code << ": " << rule.title << "\n\n  " << rule.meaning
            << '\n';
  if (!rule.exit_class.empty()) {
    std::cout << "\n  exit class: " << rule.exit_class << '\n';
  }
  if (!rule.aliases.empty()) {
    std::cout << "\n  also covers: " << join(rule.aliases, ", ") << '\n';
  }
  std::cout << "\n  to confirm: " << rule.confirm << '\n';
  int number = 0;
  for (const std::string& remedy : rule.remedies) {
    const std::string prose = as_prose(remedy);
    if (prose == "REMEDY") continue;  // the finding brings its own
    std::cout << "\n  fix " << ++number << ": " << prose << '\n';
  }
}

// `muster explain 203`: the exit code of a launch, and its failures.
void print_exit_code(int code, const RuleBook& rules) {
  const auto own = exit_class_by_code(code);
  if (!own) {
    const bool signal = code > 128 && code <= 128 + 64;
    std::cout << "exit code " << code << ": of the program that failed first"
              << (signal ? ", " + describe_wait_status(code - 128) : "")
              << "\n";
    return;
  }
  const std::string_view name = exit_class_name(*own);
  std::cout << "exit code " << code << ", " << name << ": "
            << exit_class_meaning(*own) << '\n';
  if (is_retryable(*own)) {
    std::cout << "\n  worth another attempt as it is\n";
  } else if (code >= 100 && code <= 109) {
    std::cout << "\n  the same job with the same settings fails again\n";
  }
  for (const Rule& rule : rules.rules()) {
    if (rule.exit_class != name) continue;
    std::cout << "\n  " << rule.code << ": " << rule.title;
  }
  std::cout << "\n";
}

struct LogRequest {
  std::string file;
  std::string rules_directory;
  bool json = false;
};

Result<LogRequest> parse_request(const std::vector<std::string>& args) {
  LogRequest request;
  const auto wrong = [](std::string what) {
    return fail(Error{"usage", std::move(what),
                      "usage is muster explain-log FILE|- [-o text|json] "
                      "[--rules DIR]",
                      "", ""});
  };
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "-o" || arg == "--rules") {
      if (i + 1 == args.size()) return wrong(arg + " needs a value");
      const std::string& value = args[++i];
      if (arg == "--rules") {
        request.rules_directory = value;
      } else if (value == "json" || value == "text") {
        request.json = value == "json";
      } else {
        return wrong("-o is text or json, not '" + value + "'");
      }
    } else if (arg.size() > 1 && arg.front() == '-') {
      return wrong("unknown option " + arg);
    } else if (!request.file.empty()) {
      return wrong("one log at a time");
    } else {
      request.file = arg;
    }
  }
  if (request.file.empty()) return wrong("no log given");
  return request;
}

// The log may say more than a launcher that had seen only an end, and the user
// asks for rules of his own.
Verdict judge(LogEvidence& log, const LogRequest& request,
              const RuleBook& rules) {
  Verdict verdict = diagnose(log.take(), rules);
  const std::optional<Verdict>& own = log.own_verdict();
  if (!own || !request.rules_directory.empty()) return verdict;
  const auto silent = [](const Verdict& one) {
    return one.code == "unknown" || one.code == "exit_nonzero_silent";
  };
  const bool more = silent(*own) && verdict.failed() && !silent(verdict);
  return more ? verdict : *own;
}

// Masks secrets that show by their form: a foreign log comes without the
// environment that names them.
void mask_secrets(Verdict& verdict) {
  const auto masker = Masker::create({});
  if (!masker) return;  // without patterns of a user nothing can fail
  const auto mask = [&](std::string& text) { text = masker->masked(text); };
  mask(verdict.headline);
  mask(verdict.cause);
  for (std::string& text : verdict.evidence) mask(text);
  for (std::string& text : verdict.remedies) mask(text);
  for (AlsoSeen& also : verdict.also) mask(also.text);
}

int explain_stream(int input, const LogRequest& request,
                   const RuleBook& rules) {
  LogEvidence log(rules);
  LineReader reader(input, LineReader::From::kFile);
  bool any = false;
  while (const auto line = reader.next()) {
    any = any || !trim(*line).empty();
    log.add(*line);
  }
  if (reader.error() != 0) {
    std::cerr << "muster: cannot read " << request.file << ": "
              << reader.error_text() << '\n';
    return kUnreadable;
  }
  if (!any) {
    std::cerr << "muster: " << request.file
              << ": the log is empty; of a restarted pod `kubectl logs POD -n "
                 "NAMESPACE --previous` has it, of another container `kubectl "
                 "logs POD -n NAMESPACE -c CONTAINER`\n";
    return kUnreadable;
  }
  Verdict verdict = judge(log, request, rules);
  mask_secrets(verdict);
  if (request.json) {
    // Under the same name as in report.json.
    std::cout << "{\"verdict\":" << verdict_json(verdict) << "}\n";
  } else {
    std::cout << verdict_text(verdict);
  }
  return 0;
}

}  // namespace

int explain_main(const std::vector<std::string>& args) {
  const RuleBook& rules = RuleBook::built_in();
  if (args.empty()) {
    list_codes(rules);
    return 0;
  }
  if (args.size() > 1) return usage_error("usage is muster explain [CODE]");
  if (const Rule* rule = rules.find(args[0])) {
    print_entry(*rule);
    return 0;
  }
  const auto number = parse_integer(args[0]);
  if (number && *number >= 0 && *number <= 255) {
    print_exit_code(static_cast<int>(*number), rules);
    return 0;
  }
  std::vector<std::string> known;
  for (const Rule& rule : rules.rules()) {
    known.push_back(rule.code);
    known.insert(known.end(), rule.aliases.begin(), rule.aliases.end());
  }
  const auto near = nearest(args[0], known);
  return usage_error("unknown failure code '" + args[0] + "'" +
                     (near ? ", did you mean " + *near + "?"
                           : "; `muster explain` lists them"));
}

int explain_log_main(const std::vector<std::string>& args) {
  const auto request = parse_request(args);
  if (!request) return usage_error(request.error().text());
  std::optional<RuleBook> own;
  if (!request->rules_directory.empty()) {
    auto read = RuleBook::with_directory(request->rules_directory);
    if (!read) return usage_error(read.error().text());
    own = *std::move(read);
  }
  const RuleBook& rules = own ? *own : RuleBook::built_in();
  if (request->file == "-" && ::isatty(STDIN_FILENO) == 1) {
    return usage_error(
        "stdin is a terminal, and no log; give it one: `kubectl logs POD -n "
        "NAMESPACE | muster explain-log -`");
  }
  if (request->file == "-")
    return explain_stream(STDIN_FILENO, *request, rules);
  const UniqueFd file(::open(request->file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    std::cerr << "muster: cannot open " << request->file << ": "
              << std::strerror(errno) << '\n';
    return kUnreadable;
  }
  return explain_stream(file.get(), *request, rules);
}

}  // namespace muster
