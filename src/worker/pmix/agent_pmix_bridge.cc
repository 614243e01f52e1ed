// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmix_bridge.h"

#include <atomic>
#include <utility>

namespace muster {

namespace {

// libpmix answers a client from a copy, made in its own time.
constexpr size_t kKept = 64;

// Unavoidable: libpmix' upcalls have no argument for a pointer of ours.
std::atomic<PmixBridge*> current_bridge{nullptr};

}  // namespace

PmixBridge* PmixBridge::current() { return current_bridge.load(); }

void PmixBridge::set_current(PmixBridge* bridge) {
  current_bridge.store(bridge);
}

void PmixBridge::post(std::function<void()> task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
    if (tasks_.size() > 1) return;  // the first task has woken the loop
  }
  loop_.post([weak = weak_from_this()] {
    if (const auto bridge = weak.lock()) bridge->drain();
  });
}

void PmixBridge::drain() {
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) task();
}

void PmixBridge::keep(std::shared_ptr<void> memory) {
  kept_.push_back(std::move(memory));
  if (kept_.size() > kKept) kept_.pop_front();
}

}  // namespace muster
