// SPDX-License-Identifier: Apache-2.0
// within(): makes a call that may wait for a file system which does not answer,
// on a thread of its own, and leaves it behind there after a limit. Refuses:
// calls that borrow anything. Without a thread to spare, it waits.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "base/loop.h"

namespace muster {

// What `call` returns; nothing, if it has not returned after `limit`.
template <class Call>
auto within(Milliseconds limit, Call call) -> std::optional<decltype(call())> {
  const auto task =
      std::make_shared<std::packaged_task<decltype(call())()>>(call);
  auto result = task->get_future();
  try {
    std::thread([task] { (*task)(); }).detach();
  } catch (const std::system_error&) {
    (*task)();
  }
  if (result.wait_for(limit) != std::future_status::ready) return std::nullopt;
  return result.get();
}

}  // namespace muster
