// SPDX-License-Identifier: Apache-2.0
// Hand-written scanners: they run on every line of every log that is read.
#include "diagnosis/log/writer_mark.h"

#include <algorithm>

#include <cctype>

#include "base/text.h"
#include "diagnosis/log/rank_mark.h"
#include "logs/mark_scan.h"

namespace muster {

namespace {

using marks::digit;
using marks::take_blanks;
using marks::take_name;
using marks::take_number;
using marks::take_word;

bool ends_in_number(std::string_view name) {
  return !name.empty() && digit(name.back());
}

// A pod of a job: x-worker-3, x-master-0, x-launcher-abcde, x-node-0-3-abcde.
bool is_pod(std::string_view name) {
  if (name.find_last_of("-_") == std::string_view::npos) return false;
  if (name.starts_with("slurmstepd-")) return false;  // a daemon and its node
  const auto number_behind = [name](std::string_view part) {
    const size_t at = name.find(part);
    return at != std::string_view::npos && at + part.size() < name.size() &&
           digit(name[at + part.size()]);
  };
  return number_behind("worker-") || number_behind("-master-") ||
         number_behind("-node-") || number_behind("worker_") ||
         name.find("-launcher-") != std::string_view::npos;
}

// "dec0314.hsn.de.hpc.ucar.edu", which is a host where a rank's number follows.
bool is_in_domain(std::string_view name) {
  const std::string_view host = name.substr(0, name.find('.'));
  return std::count(name.begin(), name.end(), '.') >= 2 && !digit(name[0]) &&
         ends_in_number(host) && !digit(name.back());
}

// A node by its name: node-7, nid001234, compute-3, x1000c0s0b0n0.
bool is_node(std::string_view name) {
  const size_t dot = name.find('.');
  const std::string_view host = name.substr(0, dot);
  if (!ends_in_number(host)) return false;
  if (dot + 1 < name.size() && dot != std::string_view::npos &&
      digit(name[dot + 1])) {
    return false;  // "node1.4711hfi_userinit: "
  }
  if (host.size() > 8 && host.front() == 'x' && digit(host[1])) {
    return host.find('c') != std::string_view::npos &&
           host.find('s') != std::string_view::npos &&
           host.find('b') != std::string_view::npos;
  }
  for (const std::string_view kind : {"node", "nid", "compute", "cn", "host"}) {
    if (!host.starts_with(kind)) continue;
    std::string_view number = host.substr(kind.size());
    if (number.starts_with('-') || number.starts_with('_')) {
      number.remove_prefix(1);
    }
    return number.find_first_not_of("0123456789-") == std::string_view::npos;
  }
  return false;
}

// "worker-3 exited with code 1" is a sentence, "worker-3 trainer …" is not.
bool is_verb(std::string_view word) {
  return word.ends_with("ed") || word == "is" || word == "was" ||
         word == "has" || word == "exit" || word == "died" || word == "lost";
}

// "pod/x-worker-3 trainer …", "pod/x-worker-3/trainer: …": whatever the name.
bool take_pod_mark(std::string_view& text, WriterMark& mark) {
  std::string_view rest = text;
  if (!take_word(rest, "pod/")) return false;
  const std::string_view name = take_name(rest);
  if (name.empty() || rest.empty()) return false;
  if (rest.front() != ':') {
    if (rest.front() != '/' && rest.front() != ' ') return false;
    rest.remove_prefix(1);
    // "pod/x condition met", "pod/x 2/2 Running": sentences about a pod.
    const std::string_view container = take_name(rest);
    if (container.empty() || container == "condition" || is_verb(container) ||
        digit(container.front()) || rest.empty()) {
      return false;
    }
  }
  if (rest.starts_with(':')) rest.remove_prefix(1);
  if (!rest.starts_with(' ')) return false;
  take_blanks(rest);
  mark.host = name;
  text = rest;
  return true;
}

// "x-worker-3  | " of docker compose, "x-worker-3 trainer " of stern,
// "[x-worker-3 trainer] " of kubetail, "(x-worker-3) ", "x1000c0s0b0n0 3: " of
// PALS, "node-7: ".
bool take_host_mark(std::string_view& text, WriterMark& mark) {
  std::string_view rest = text;
  const bool bracket = rest.starts_with('[') || rest.starts_with('(');
  const std::string_view close = rest.starts_with('(') ? ") " : "] ";
  if (bracket) rest.remove_prefix(1);
  const std::string_view name = take_name(rest);
  const bool known = is_pod(name) || is_node(name);
  if (name.size() < 3 || rest.empty() || (!known && !is_in_domain(name))) {
    return false;
  }
  if (bracket) {
    const size_t end = rest.find(close);
    if (!is_pod(name) || end == std::string_view::npos || end > 64 ||
        (end > 0 && rest.front() != ' ')) {
      return false;
    }
    rest.remove_prefix(end + 2);
  } else if (known && rest.starts_with(": ")) {
    rest.remove_prefix(2);
    // "node-2: task 3: Exited", "node-4: rank 5 died": a launcher's sentence.
    if (rest.starts_with("task") || rest.starts_with("rank")) return false;
  } else {
    if (rest.front() != ' ') return false;
    take_blanks(rest);
    std::string_view label = rest;
    if (const auto rank = take_number(label); rank && take_word(label, ": ")) {
      mark.rank = *rank;
      rest = label;
    } else if (!known) {
      return false;
    } else if (rest.starts_with("| ")) {
      rest.remove_prefix(2);
    } else {
      const std::string_view container = take_name(rest);
      if (!is_pod(name) || container.empty() || is_verb(container) ||
          !rest.starts_with(' ') ||
          std::isdigit(static_cast<unsigned char>(container.front())) != 0) {
        return false;
      }
      rest.remove_prefix(1);
    }
  }
  mark.host = name;
  text = rest;
  return true;
}

// "Nov 21 08:00:00 " or "2026-11-21T08:00:00+0000 ".
bool take_syslog_time(std::string_view& text) {
  std::string_view rest = text;
  if (rest.starts_with('<')) {  // "<3>": priority
    const size_t end = rest.find('>');
    if (end == std::string_view::npos || end > 4) return false;
    rest.remove_prefix(end + 1);
  }
  const auto fits = [&rest](std::string_view shape) {
    if (rest.size() <= shape.size()) return false;
    for (size_t i = 0; i < shape.size(); ++i) {
      const auto c = static_cast<unsigned char>(rest[i]);
      const bool good = shape[i] == 'd'   ? std::isdigit(c) != 0 || c == ' '
                        : shape[i] == 'a' ? std::isalpha(c) != 0
                                          : rest[i] == shape[i];
      if (!good) return false;
    }
    rest.remove_prefix(shape.size());
    return true;
  };
  if (fits("aaa dd dd:dd:dd ")) {
    text = rest;
    return true;
  }
  if (!fits("dddd-dd-ddTdd:dd:dd")) return false;
  const size_t blank = rest.find(' ');
  if (blank == std::string_view::npos || blank > 16) return false;
  text = rest.substr(blank + 1);
  return true;
}

// "node-7 train[4711]: ", and "node-7 kernel: ", which stays: what a kernel
// wrote is only known by that word.
bool take_syslog_mark(std::string_view& text, WriterMark& mark, bool timed) {
  std::string_view rest = text;
  const std::string_view host = take_name(rest);
  if (host.empty() || !rest.starts_with(' ')) return false;
  rest.remove_prefix(1);
  const std::string_view from_tag = rest;
  const std::string_view tag = take_name(rest);
  if (tag.empty() || rest.empty()) return false;
  bool pid = false;
  if (rest.starts_with('[')) {
    rest.remove_prefix(1);
    if (!take_number(rest) || !rest.starts_with(']')) return false;
    rest.remove_prefix(1);
    pid = true;
  }
  if (!rest.starts_with(": ")) return false;
  const bool kernel = tag == "kernel";
  if (!kernel && !(timed && pid)) return false;
  mark.host = host;
  text = kernel ? from_tag : rest.substr(2);
  return true;
}

}  // namespace

WriterMark read_writer_mark(std::string_view line) {
  WriterMark mark;
  const bool timed = take_syslog_time(line);
  if (!take_syslog_mark(line, mark, timed) && !take_pod_mark(line, mark)) {
    take_host_mark(line, mark);
  }
  marks::take_library_mark(line, mark);
  if (mark.rank < 0) marks::take_rank_mark(line, mark);
  if (mark.rank < 0) mark.rank = marks::rank_in_head(line);
  mark.rest = line;
  return mark;
}

std::string_view behind_logger_head(std::string_view line) {
  size_t end = 0;
  const std::string_view head = line.substr(0, marks::kHead);
  for (const std::string_view word :
       {"ERROR", "CRITICAL", "FATAL", "Error", "error"}) {
    const size_t at = head.find(word);
    if (at == std::string_view::npos) continue;
    end = at + word.size();
    break;
  }
  const bool glog = line.size() > 6 &&
                    (line.front() == 'E' || line.front() == 'F') &&
                    digit(line[1]) && digit(line[4]);
  if (end == 0 && !glog) return {};
  std::string_view rest = line.substr(end);
  if (glog) {
    const size_t close = head.find("] ");
    return close == std::string_view::npos ? std::string_view()
                                           : trim(line.substr(close + 2));
  }
  // "]", " - ", ":__main__:", "[x.py:3] ", "2026-… x.py:12 ", "[rank 3] ".
  for (int i = 0; i < 6 && !rest.empty(); ++i) {
    take_blanks(rest);
    if (rest.empty()) break;  // "--> FOAM FATAL ERROR: "
    WriterMark mark;
    if (marks::take_rank_mark(rest, mark)) continue;
    if (std::string_view("]:-|").find(rest.front()) != std::string_view::npos) {
      rest.remove_prefix(1);
    } else if (rest.starts_with('[') && rest.find("] ") < 80) {
      rest.remove_prefix(rest.find("] ") + 2);
    } else if (rest.starts_with("__main__:") || rest.starts_with("root:")) {
      rest.remove_prefix(rest.find(':') + 1);
    } else if (digit(rest.front()) && rest.find(' ') < 24) {
      rest.remove_prefix(rest.find(' ') + 1);
    } else if (rest.substr(0, rest.find(' ')).find(".py:") !=
               std::string_view::npos) {
      const size_t blank = rest.find(' ');
      if (blank == std::string_view::npos) return {};
      rest.remove_prefix(blank + 1);
    } else {
      break;
    }
  }
  return trim(rest);
}

}  // namespace muster
