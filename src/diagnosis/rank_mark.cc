// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/rank_mark.h"

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

// "[node-7][[26206,1],3][btl_tcp_endpoint.c:625:…] " of Open MPI; it stays.
void read_btl_mark(std::string_view text, WriterMark& mark) {
  if (!text.starts_with('[')) return;
  text.remove_prefix(1);
  const std::string_view host = take_name(text);
  if (host.empty() || !text.starts_with("][[")) return;
  text.remove_prefix(3);
  const size_t comma = text.find(',');
  if (comma > 10) return;
  text.remove_prefix(comma + 1);
  if (!take_number(text) || !take_word(text, "],")) return;
  const auto rank = take_number(text);
  if (!rank || !text.starts_with(']')) return;
  mark.rank = *rank;
  mark.host = host;
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
  read_btl_mark(text, mark);
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
