// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmix_programs.h"

#include <filesystem>
#include <system_error>

#include "worker/rank/rank_directory.h"

namespace muster {

namespace {

wire::JobMapProgram program_of(const World& world, int app) {
  const auto index = static_cast<size_t>(app);
  return index < world.programs().size() ? world.programs()[index]
                                         : wire::JobMapProgram();
}

}  // namespace

ProgramLists program_lists(const World& world) {
  if (world.programs().empty()) return {std::to_string(world.size()), "0", 1};
  ProgramLists out;
  out.count = static_cast<int>(world.programs().size());
  int first = 0;
  for (const wire::JobMapProgram& program : world.programs()) {
    const std::string blank = out.sizes.empty() ? "" : " ";
    out.sizes += blank + std::to_string(program.ranks);
    out.first_ranks += blank + std::to_string(first);
    first += program.ranks;
  }
  return out;
}

int first_rank_of_program(const World& world, int app) {
  int first = 0;
  for (int i = 0; i < app; ++i) first += program_of(world, i).ranks;
  return first;
}

std::string program_command(const World& world, int app) {
  return program_of(world, app).command;
}

std::string program_directory(const World& world, int app) {
  std::string where =
      rank_directory(program_of(world, app).cwd, world.cwd_if_there());
  std::error_code removed;  // then it is unknown
  if (where.empty()) where = std::filesystem::current_path(removed).string();
  return where;
}

}  // namespace muster
