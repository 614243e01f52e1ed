// SPDX-License-Identifier: Apache-2.0
// Finds ranks that take themselves for the only one: "Hello from rank 0 of 1",
// or a bare "1" where the command above asked for the world's size. If several
// do, another MPI started them, each is a world of its own, and the job may
// well end with code 0. Owned by one reader of a log; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

bool is_lone_rank(std::string_view line);

// Counts them in lines without distinct tags. Runs of one process one after the
// other look the same, if each prints little else.
class LoneWorlds {
 public:
  void add(std::string_view line, int64_t number);
  // The most that followed each other closely; 0 if there were never two.
  [[nodiscard]] int count() const { return most_ > 1 ? most_ : 0; }

 private:
  static bool asks_for_sizes(std::string_view line);

  int64_t asked_ = 0;  // the line of a command whose answers are sizes
  int64_t last_ = 0;
  int now_ = 0;
  int most_ = 0;
};

}  // namespace muster
