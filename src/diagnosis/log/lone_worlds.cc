// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/lone_worlds.h"

#include <re2/re2.h>

#include <algorithm>

namespace muster {

namespace {
// Each may print a little more than its place: its host, its result.
constexpr int64_t kNear = 3;
// Lines behind a command that prints the world's size.
constexpr int64_t kAnswers = 64;
}  // namespace

bool is_lone_rank(std::string_view line) {
  // The table of nccl-tests, which begins with its rank 0 and only that prints.
  static const RE2 table(R"(\bRank +0 +(Group +\d+ +)?Pid +\d+ +on +\S)");
  if (line.find("Pid ") != line.npos &&
      RE2::PartialMatch({line.data(), line.size()}, table)) {
    return true;
  }
  // Few lines have a 1 behind a 0; the pattern is for those.
  const size_t zero = line.find('0');
  if (zero == line.npos || line.find('1', zero) == line.npos) return false;
  static const RE2 pattern(
      R"re((?i)\b(rank|process|processor|proc|task|i am|i'm|pe|hello)\b[^\d]{0,24}\b0 ?(,? (out )?of (a total of )?|/ ?)1\b([^\d.%]|$))re"
      R"re(|(?i)\brank\b\W{1,4}0\b\W.{0,24}\b(world[_ ]?)?size\b\W{1,4}1\b([^\d.%]|$))re");
  return RE2::PartialMatch({line.data(), line.size()}, pattern);
}

// "mpirun -np 4 python -c '… print(MPI.COMM_WORLD.size)'".
bool LoneWorlds::asks_for_sizes(std::string_view line) {
  if (line.find("ize") == line.npos) return false;
  static const RE2 pattern(
      R"re(\b(mpirun|mpiexec(\.hydra)?|orterun|prterun|srun|muster launch)\b.* )re"
      R"re(--?(n|np|N) *=?([2-9]|[1-9]\d+) .*(Get_size\(|COMM_WORLD\.size|world_size\(|Comm_size\(|mpi_size\())re");
  return RE2::PartialMatch({line.data(), line.size()}, pattern);
}

void LoneWorlds::add(std::string_view line, int64_t number) {
  if (asks_for_sizes(line)) {
    asked_ = number;
    return;
  }
  const bool answer = asked_ > 0 && number - asked_ <= kAnswers && line == "1";
  if (!answer && !is_lone_rank(line)) return;
  now_ = now_ > 0 && number - last_ <= kNear ? now_ + 1 : 1;
  last_ = number;
  most_ = std::max(most_, now_);
}

}  // namespace muster
