// SPDX-License-Identifier: Apache-2.0
// TextKind: whether a text is a log at all. Source code, scripts, Markdown,
// manifests, diffs and git log's output name failures, too, without one. Looks
// at the first lines only. Does not doubt a short text, or a report that quotes
// a log. Not thread-safe.
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
  size_t short_commits_ = 0;
  size_t declarations_ = 0;
  size_t statements_ = 0;
  size_t commands_ = 0;  // of a shell
  size_t fields_ = 0;
  // The first line begins one of these.
  bool commit_first_ = false;
  bool diff_ = false;
  bool script_ = false;
  bool title_ = false;
  bool manifest_ = false;
  bool author_ = false;
};

}  // namespace muster
