// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/terminal_lines.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <utility>

namespace muster {

namespace {

// More lines than this within one folding window are not compared.
constexpr size_t kMaxFolded = 256;

// Not the time of day: a line must not wait for a clock that was set back.
int64_t now_ns() {
  return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
}

}  // namespace

TerminalLines::TerminalLines(Loop& loop, Options options,
                             std::function<void(std::string)> write)
    : options_(options), write_(std::move(write)), timer_(loop) {
  if (options_.fold.count() == 0) return;
  folder_ = std::make_unique<LineFolder>(
      std::chrono::nanoseconds(options_.fold).count(),
      [this](const std::set<int>& ranks, const std::string& text) {
        folded_ += ranks.size() == 1 ? tags_[*ranks.begin()]
                                     : "[" + rank_set_text(ranks) + "] ";
        folded_ += text;
        folded_ += '\n';
      });
}

void TerminalLines::name_rank(int rank, const std::string& tag) {
  if (folder_) tags_[rank] = tag;
}

bool TerminalLines::fold(int rank, std::string_view line, bool alone) {
  if (!folder_) return false;
  const int64_t now = now_ns();
  const int64_t window = std::chrono::nanoseconds(options_.fold).count();
  if (now - window_ > window) {
    window_ = now;
    lines_in_window_ = 0;
  }
  const bool taken = alone && rank >= 0 && ++lines_in_window_ <= kMaxFolded;
  if (taken) {
    folder_->add(rank, line, now);
  } else if (!alone) {
    folder_->flush(rank);
  } else {
    folder_->flush();
  }
  write_folded();
  return taken;
}

void TerminalLines::write_folded() {
  const int64_t now = now_ns();
  const int64_t next = folder_->expire(now);
  std::string text = around(std::exchange(folded_, {}));
  if (!text.empty()) write_(std::move(text));
  if (next < 0 || timer_.pending()) return;
  timer_.start(Milliseconds{(next - now) / 1'000'000 + 1},
               [this] { write_folded(); });
}

bool TerminalLines::bar(StatusLine::Owner owner, const std::string& tag,
                        std::string_view line, bool over) {
  if (!options_.status_line) return false;
  if (over) {
    bars_.remove(owner);
    return false;
  }
  bars_.set(owner, tag, line);
  return true;
}

std::string TerminalLines::around(std::string text) {
  if (!options_.status_line) return text;
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return bars_.around(text, known && size.ws_col > 0 ? size.ws_col : 80);
}

void TerminalLines::finish() {
  if (folder_) {
    folder_->flush();
    write_folded();
  }
  if (options_.status_line) write_(bars_.erase());
}

}  // namespace muster
