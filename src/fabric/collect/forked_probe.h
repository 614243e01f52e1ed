// SPDX-License-Identifier: Apache-2.0
// Asks libraries that may crash or hang, in a forked child that writes lines.
// The caller then kills and reaps the child. Every line that was complete by
// then counts. Reports how the child ended: it finished, it died, or its time
// ran out. Blocks the caller.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "base/fd.h"

namespace muster {

// Gives up on a child that neither wrote nor used a processor for `silence_ms`,
// or after `total_ms`: a slow machine gets its time, a library that waits for
// ever does not.
struct ProbePatience {
  int silence_ms = 3000;
  int total_ms = 20'000;
};

// For several probes that together must end by `end`; does not wait once it has
// passed.
ProbePatience patience_until(std::chrono::steady_clock::time_point end);

struct ForkedResult {
  enum class End { kFinished, kDied, kGivenUp };
  std::string text;  // complete lines
  End end = End::kDied;
  int signal = 0;     // that it died of; 0: it exited by itself
  int waited_ms = 0;  // until the caller gave up
};

// A running child, beside which the caller may ask other questions. `child`
// writes to its descriptor and returns. Ends with its owner.
class ForkedProbe {
 public:
  explicit ForkedProbe(const std::function<void(int)>& child);
  ForkedProbe(ForkedProbe&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), read_(std::move(other.read_)) {}
  ForkedProbe& operator=(ForkedProbe&&) = delete;
  ~ForkedProbe();

  // Waits, from now on with this patience; call it once. Without a child the
  // result is "died", with no text.
  ForkedResult finish(const ProbePatience& patience);

 private:
  pid_t pid_ = -1;
  UniqueFd read_;
};

// The same at once.
ForkedResult probe_in_child(const ProbePatience& patience,
                            const std::function<void(int)>& child);
// The same with one deadline, whatever the child does; only the text.
std::string forked_probe(int deadline_ms,
                         const std::function<void(int)>& child);
// One line; for the child.
void probe_says(int fd, const std::string& line);
// How a child that began and did not finish ended: "died here (signal 11)",
// "did not answer within 3 s".
std::string probe_failure_text(const ForkedResult& result);

}  // namespace muster
