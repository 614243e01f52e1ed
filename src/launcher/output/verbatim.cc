// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/verbatim.h"

namespace muster {

void Verbatim::append(std::string& out, std::string_view bytes,
                      const Masker* masker) {
  if (masker == nullptr ||
      (held_.empty() && !masker->needs_look(bytes, mask_))) {
    out += bytes;
    return;
  }
  for (size_t end; (end = bytes.find('\n')) != std::string_view::npos;) {
    held_.append(bytes.substr(0, end));
    append_line(out, held_, masker);
    out += '\n';
    held_.clear();
    bytes.remove_prefix(end + 1);
  }
  held_ += bytes;
  if (held_.size() > kMostHeld || !masker->needs_look(held_, mask_)) {
    finish(out, masker);
  }
}

void Verbatim::finish(std::string& out, const Masker* masker) {
  if (!held_.empty()) append_line(out, held_, masker);
  held_.clear();
}

void Verbatim::append_line(std::string& out, std::string_view line,
                           const Masker* masker) {
  if (masker == nullptr || !masker->needs_look(line, mask_)) {
    out += line;
    return;
  }
  std::string hidden(line);
  masker->mask(hidden, mask_);
  out += hidden;
}

}  // namespace muster
