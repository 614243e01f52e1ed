// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/rank_mark.h"

#include "base/text.h"
#include "logs/mark_scan.h"

namespace muster::marks {

namespace {

// "rank 3", "global_rank: 3", "mpi_rank_3", "PE 3", "Task 3", and
// "/8" or " of 8" behind it.
std::optional<int> take_rank_words(std::string_view& text) {
  std::string_view rest = text;
  for (const std::string_view whose : {"global", "mpi", "world"}) {
    if (take_word(rest, whose) && !rest.empty()) rest.remove_prefix(1);
  }
  bool named = false;
  for (const std::string_view word : {"rank", "pe ", "task ", "proc "}) {
    if (named) break;
    named = take_word(rest, word);
  }
  if (!named) return std::nullopt;
  for (int i = 0; i < 2 && !rest.empty() && !digit(rest.front()); ++i) {
    if (std::string_view(" _:=-#").find(rest.front()) == std::string_view::npos)
      return std::nullopt;
    rest.remove_prefix(1);
  }
  take_blanks(rest);  // "rank    3", right-aligned
  const auto rank = take_number(rest);
  if (!rank) return std::nullopt;
  std::string_view of = rest;
  if ((take_word(of, "/") || take_word(of, " of ")) && take_number(of)) {
    rest = of;
  }
  text = rest;
  return rank;
}

// "ERROR:__main__:" and the like, not "what():".
bool ends_as_logger(std::string_view head) {
  return head.ends_with("]") || head.ends_with("-") || head.ends_with("|") ||
         head.ends_with("__:") || head.ends_with("root:") ||
         head.ends_with("ERROR:") || head.ends_with("CRITICAL:") ||
         head.ends_with("FATAL:");
}

// "[node-7:mpi_rank_3][error_sighandler] " of MVAPICH.
bool take_mvapich_mark(std::string_view& text, WriterMark& mark) {
  const size_t at = text.substr(0, kHead).find(":mpi_rank_");
  if (at == std::string_view::npos || !text.starts_with('[')) return false;
  std::string_view rest = text.substr(at + 10);
  const auto rank = take_number(rest);
  if (!rank || !rest.starts_with(']')) return false;
  mark.rank = *rank;
  mark.host = text.substr(1, at - 1);
  text = rest.substr(1);
  return true;
}

// "[26206,1],3]" and, of old, "0,1,3]", behind the first bracket of the name
// that Open MPI gives a process. Job 0 are its daemons, or what srun started;
// of those only ranks move messages (btl_tcp_endpoint.c).
std::optional<int> take_process_name(std::string_view& text) {
  std::string_view rest = text;
  const bool nested = take_word(rest, "[");
  if (!take_number(rest) || !take_word(rest, ",")) return std::nullopt;
  const auto job = take_number(rest);
  if (!job || !take_word(rest, nested ? "]," : ",")) return std::nullopt;
  const auto rank = take_number(rest);
  if (!rank || !take_word(rest, "]")) return std::nullopt;
  if (*job == 0 && !rest.starts_with('[')) return std::nullopt;
  text = rest;
  return rank;
}

// Open MPI's "[node-7][[26206,1],3][btl_tcp_endpoint.c:625:…] ", the host not
// by all, and "[node-7:4711] [[26206,1],3] ORTE_ERROR_LOG: "; it stays.
void read_process_mark(std::string_view text, WriterMark& mark) {
  if (!take_word(text, "[")) return;
  std::string_view name = text;
  const std::string_view host = take_name(name);
  if (!host.empty() && take_word(name, "][")) {
    text = name;
  } else if (!host.empty() && take_word(name, ":") && take_number(name, 9) &&
             take_word(name, "] [")) {
    text = name;
  }
  const auto rank = take_process_name(text);
  const bool apart =
      text.starts_with('[') || text.starts_with(' ') || text.starts_with("-[");
  if (!rank || !apart) return;
  mark.rank = *rank;
  mark.host = host;
}

// "[31]PETSC ERROR: "; it stays.
void read_petsc_mark(std::string_view text, WriterMark& mark) {
  if (!take_word(text, "[")) return;
  const auto rank = take_number(text);
  if (rank && text.starts_with("]PETSC ERROR")) mark.rank = *rank;
}

// "ERROR on proc 617: " of LAMMPS, "ERROR on rank 3: ", "FATAL from PE     9: "
// of FMS; it stays.
void read_error_on(std::string_view text, WriterMark& mark) {
  if (!take_word(text, "error on ") && !take_word(text, "fatal from ")) return;
  if (!take_word(text, "proc ") && !take_word(text, "rank ") &&
      !take_word(text, "pe ")) {
    return;
  }
  take_blanks(text);
  const auto rank = take_number(text);
  if (rank && text.starts_with(": ")) mark.rank = *rank;
}

// "*** FATAL ERROR (proc 332): in gasnetc_…" of GASNet, of old "(Node 0)"; it
// stays.
void read_gasnet_mark(std::string_view text, WriterMark& mark) {
  if (!take_word(text, "*** ")) return;
  const size_t at = text.substr(0, kHead).find('(');
  if (at == std::string_view::npos) return;
  text.remove_prefix(at + 1);
  if (!take_word(text, "proc ") && !take_word(text, "node ")) return;
  const auto rank = take_number(text);
  if (rank && text.starts_with("): ")) mark.rank = *rank;
}

// "[1787147912.586] node-7:rank0.solver: " of PSM3; it stays.
void read_psm_mark(std::string_view text, WriterMark& mark) {
  const size_t at = text.substr(0, kHead).find(":rank");
  if (at == std::string_view::npos) return;
  std::string_view rest = text.substr(at + 5);
  const auto rank = take_number(rest);
  if (!rank || !rest.starts_with('.')) return;
  size_t start = at;
  while (start > 0 && in_name(text[start - 1])) --start;
  if (start == at) return;
  mark.rank = *rank;
  mark.host = text.substr(start, at - start);
}

// "459:MPT ERROR: " and "459:\tProcess ID: 64112": HPE's MPT leaves no blank
// behind the label.
bool take_mpt_label(std::string_view& text, WriterMark& mark) {
  std::string_view rest = text;
  const auto rank = take_number(rest);
  if (!rank || !take_word(rest, ":")) return false;
  const std::string_view words = trim(rest);
  if (!words.starts_with("MPT") && !words.starts_with("Process ID: ")) {
    return false;
  }
  mark.rank = *rank;
  text = words;
  return true;
}

}  // namespace

bool take_rank_mark(std::string_view& text, WriterMark& mark) {
  std::string_view rest = text;
  const size_t kind = rest.empty() ? std::string_view::npos
                                   : std::string_view("[(<").find(rest.front());
  const bool bracket = kind != std::string_view::npos;
  if (bracket) rest.remove_prefix(1);
  auto rank = take_rank_words(rest);
  const bool bare = !rank && kind == 0;
  if (bare) rank = take_number(rest);
  if (!rank || rest.empty()) return false;
  if (bracket) {
    if (rest.front() != std::string_view("])>")[kind]) return false;
    rest.remove_prefix(1);
    const bool colon = rest.starts_with(':');
    if (colon) rest.remove_prefix(1);
    if (bare && (!colon || trim(rest).empty())) return false;
  } else {
    if (rest.front() != ':') return false;
    rest.remove_prefix(1);
    if (!rest.empty() && rest.front() != ' ') return false;
  }
  take_blanks(rest);
  mark.rank = *rank;
  text = rest;
  return true;
}

bool take_library_mark(std::string_view& text, WriterMark& mark) {
  if (take_mpt_label(text, mark)) return true;
  read_process_mark(text, mark);
  if (mark.rank < 0) read_petsc_mark(text, mark);
  if (mark.rank < 0) read_error_on(text, mark);
  if (mark.rank < 0) read_gasnet_mark(text, mark);
  if (mark.rank >= 0) return true;
  if (text.substr(0, kHead).find("rank") == std::string_view::npos) {
    return false;
  }
  take_mvapich_mark(text, mark);
  if (mark.rank < 0) read_psm_mark(text, mark);
  return mark.rank >= 0;
}

int rank_in_head(std::string_view line) {
  const std::string_view head = line.substr(0, kHead);
  if (head.find("ank") == std::string_view::npos &&
      head.find("ANK") == std::string_view::npos) {
    return -1;
  }
  for (const std::string_view word : {"rank", "Rank", "RANK"}) {
    const size_t at = head.find(word);
    if (at == std::string_view::npos || at == 0) continue;
    std::string_view rest = line.substr(at);
    const auto rank = take_rank_words(rest);
    if (!rank || rest.empty()) continue;
    const std::string_view before = trim(line.substr(0, at));
    if (before.empty()) continue;
    const char last = before.back();
    const bool opened = last == '[' || last == '(';
    const std::string_view head_part =
        opened ? trim(before.substr(0, before.size() - 1)) : before;
    const bool apart = ends_as_logger(head_part);
    const bool closed = rest.front() == ']' || rest.front() == ')';
    if (opened && closed && apart) return *rank;
    if (!opened && apart && (rest.front() == ':' || rest.starts_with(" -"))) {
      return *rank;
    }
    if (!opened && line.starts_with('[') && rest.front() == ']') return *rank;
  }
  return -1;
}

}  // namespace muster::marks
