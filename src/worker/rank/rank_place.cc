// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/rank_place.h"

#include <initializer_list>

#include "base/text.h"

namespace muster {

namespace {

int first_number(const Environment& env,
                 std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::string* text = find_env(env, name);
    if (text == nullptr) continue;
    const auto value = parse_integer(*text);
    if (value && *value >= 0 && *value < (1 << 30)) {
      return static_cast<int>(*value);
    }
  }
  return -1;
}

}  // namespace

RankPlace rank_place(const Environment& env) {
  RankPlace place;
  place.rank = first_number(env, {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                  "PMI_RANK", "MV2_COMM_WORLD_RANK"});
  place.size = first_number(
      env, {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"});
  place.local_rank =
      first_number(env, {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                         "MV2_COMM_WORLD_LOCAL_RANK"});
  place.local_size =
      first_number(env, {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                         "MV2_COMM_WORLD_LOCAL_SIZE"});
  return place;
}

Environment rank_variables(const RankPlace& place) {
  Environment out;
  const auto add = [&out](std::initializer_list<const char*> names, int value) {
    if (value < 0) return;
    for (const char* name : names) {
      out.emplace_back(name, std::to_string(value));
    }
  };
  add({"MUSTER_RANK", "RANK", "OMPI_COMM_WORLD_RANK"}, place.rank);
  add({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"}, place.size);
  add({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"},
      place.local_rank);
  add({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"},
      place.local_size);
  return out;
}

void add_missing(Environment& env, const Environment& more) {
  for (const auto& [name, value] : more) {
    if (name.starts_with("MUSTER_") || find_env(env, name) == nullptr) {
      set_env(env, name, value);
    }
  }
}

}  // namespace muster
