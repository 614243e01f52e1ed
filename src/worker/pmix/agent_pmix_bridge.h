// SPDX-License-Identifier: Apache-2.0
// PmixBridge: the only place where libpmix' thread and our loop meet. An upcall
// copies its arguments, posts a task and returns; the task runs on the loop. It
// never blocks libpmix' thread, and our code does not run on it. Upcalls carry
// no pointer of ours, so the one bridge of the process is global.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "pmi/modex_client.h"
#include "pmi/world.h"
#include "worker/pmix/agent_pmi1.h"
#include "worker/pmix/agent_pmix_library.h"

namespace muster {

class PmixBridge : public std::enable_shared_from_this<PmixBridge> {
 public:
  PmixBridge(Loop& loop, const World& world, ModexClient& modex,
             PmiEvents events, PmixLibrary library)
      : loop_(loop),
        world_(world),
        modex_(modex),
        events_(std::move(events)),
        library_(std::move(library)) {}

  // Null before the host has started and after it has ended. Any thread.
  static PmixBridge* current();
  static void set_current(PmixBridge* bridge);

  // Any thread. Tasks run in order, on the loop; never after the end.
  void post(std::function<void()> task);
  // Runs what was posted so far. Loop thread.
  void drain();

  [[nodiscard]] const World& world() const { return world_; }  // any thread
  [[nodiscard]] const PmixLibrary& library() const { return library_; }
  // The rest: loop thread.
  ModexClient& modex() { return modex_; }
  const PmiEvents& events() { return events_; }
  // How many groups of this name and these members were built before.
  uint32_t count_group(const std::string& who) { return groups_[who]++; }
  bool first_group() { return std::exchange(no_group_yet_, false); }
  // Keeps `memory` for as long as libpmix may still read it after a callback.
  void keep(std::shared_ptr<void> memory);

 private:
  Loop& loop_;
  const World& world_;
  ModexClient& modex_;
  PmiEvents events_;
  PmixLibrary library_;
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;  // under mutex_
  std::deque<std::shared_ptr<void>> kept_;
  std::map<std::string, uint32_t> groups_;
  bool no_group_yet_ = true;
};

}  // namespace muster
