// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/peer_names.h"

#include <netdb.h>
#include <sys/socket.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace muster {

namespace {

// Held by the thread and by whoever waits for it, until both are done.
struct Search {
  explicit Search(std::vector<std::string> all) : names(std::move(all)) {}

  const std::vector<std::string> names;
  std::mutex mutex;
  std::condition_variable changed;
  size_t asked = 0;  // names[asked] is being asked
  std::vector<std::string> unresolved;
  bool given_up = false;
};

bool resolves(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &list) != 0) return false;
  ::freeaddrinfo(list);
  return true;
}

void ask_all(const std::shared_ptr<Search>& search) {
  for (const std::string& name : search->names) {
    const bool found = resolves(name);
    const std::lock_guard lock(search->mutex);
    if (search->given_up) return;
    if (!found) search->unresolved.push_back(name);
    ++search->asked;
  }
  search->changed.notify_one();
}

}  // namespace

std::vector<std::string> unresolved_names(
    std::vector<std::string> names, std::chrono::steady_clock::time_point end) {
  const auto search = std::make_shared<Search>(std::move(names));
  try {
    std::thread(ask_all, search).detach();
  } catch (const std::system_error&) {
    return {};
  }
  std::unique_lock lock(search->mutex);
  const bool all = search->changed.wait_until(
      lock, end, [&] { return search->asked == search->names.size(); });
  search->given_up = true;
  if (!all) search->unresolved.push_back(search->names[search->asked]);
  return std::move(search->unresolved);
}

}  // namespace muster
