// SPDX-License-Identifier: Apache-2.0
#include "logs/status_line.h"

#include "base/printable.h"

namespace muster {

namespace {

constexpr std::string_view kErase = "\r\x1b[K";

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80;
}

// At most `width` characters, each taken for one column.
std::string_view cut(std::string_view text, size_t width) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!continues(text[at]) && ++columns > width) return text.substr(0, at);
  }
  return text;
}

}  // namespace

void StatusLine::set(Owner owner, std::string_view tag,
                     std::string_view state) {
  bars_[owner] = without_escapes(tag) + without_escapes(state);
}

void StatusLine::remove(Owner owner) { bars_.erase(owner); }

std::string StatusLine::line(size_t width) const {
  if (bars_.empty() || width < 2) return {};
  const size_t others = bars_.size() - 1;
  const std::string more =
      others > 0 ? " (+" + std::to_string(others) + ")" : "";
  // The last column stays free: some terminals wrap when it is written.
  const size_t room = width - 1;
  if (more.size() >= room) return {};
  return std::string(cut(bars_.begin()->second, room - more.size())) + more;
}

std::string StatusLine::around(std::string_view bytes, size_t width) {
  std::string next = line(width);
  if (bytes.empty() && next == shown_) return {};
  std::string out;
  if (!shown_.empty()) out += kErase;
  out += bytes;
  out += next;
  shown_ = std::move(next);
  return out;
}

std::string StatusLine::erase() {
  bars_.clear();
  return around({}, 0);
}

}  // namespace muster
