// SPDX-License-Identifier: Apache-2.0
// TextKind: whether a text is a log at all. Source code, Markdown and git log's
// output name failures, too, without one. Looks at the first lines only. Does
// not doubt a short text, or a report that quotes a log. Not thread-safe.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster {

class TextKind {
 public:
  void add(std::string_view line);
  // "source code"; empty: a log, as far as known.
  [[nodiscard]] std::string_view instead() const;

 private:
  size_t lines_ = 0;  // that are not blank
  size_t code_ = 0;
  size_t headings_ = 0;
  size_t prose_ = 0;  // with what else a page has: lists, tables
  size_t commits_ = 0;
  bool commit_first_ = false;
  bool author_ = false;
};

}  // namespace muster
