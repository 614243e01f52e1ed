// SPDX-License-Identifier: Apache-2.0
// The log under several threads; to be run with the thread sanitizer, too.
#include "base/log.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"

namespace muster {
namespace {

constexpr int kThreads = 4;
constexpr int kLines = 2'000;

TEST_CASE("lines of several threads come whole, whatever is set meanwhile") {
  std::vector<std::string> lines;  // the log calls one at a time
  const auto keep = [&lines](std::string line) {
    lines.push_back(std::move(line));
  };
  log::configure({});
  log::redirect(keep);
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i, &running] {
      for (int line = 0; line < kLines; ++line) {
        log::info("thread {} says {}", i, line);
        log::debug("and {}", line);
      }
      --running;
    });
  }
  for (int turn = 0; running > 0; ++turn) {
    log::configure({log::Level::kInfo, turn % 2 == 1, "launcher", "host"});
    log::redirect(keep);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  log::redirect({});
  log::configure({});
  REQUIRE(lines.size() == size_t{kThreads} * kLines);
  for (const std::string& line : lines) {
    if (line.starts_with("muster: thread ")) continue;
    if (!line.starts_with("{\"timestamp\":") || !line.ends_with("\"}\n")) {
      FAIL_CHECK(line);
    }
  }
}

TEST_CASE("a sink is not called once it is replaced, and may log itself") {
  std::atomic<bool> stop{false};
  std::thread other([&stop] {
    while (!stop) log::info("again");
  });
  log::redirect([](const std::string&) {});
  for (int turn = 0; turn < 500; ++turn) {
    auto gone = std::make_shared<std::atomic<bool>>(false);
    auto late = std::make_shared<std::atomic<int>>(0);
    log::redirect([gone, late](const std::string& line) {
      if (*gone) ++*late;
      if (line == "muster: again\n") log::info("it says: again");
    });
    std::this_thread::yield();
    log::redirect([](const std::string&) {});
    *gone = true;
    std::this_thread::yield();
    CHECK(*late == 0);
  }
  stop = true;
  other.join();
  log::redirect({});
}

}  // namespace
}  // namespace muster
