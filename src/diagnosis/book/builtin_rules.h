// SPDX-License-Identifier: Apache-2.0
// The files of rules/ as they were when muster was built; the .cc is written
// by embed_rules.py.
#pragma once

#include <string_view>
#include <vector>

namespace muster {

struct BuiltinRules {
  std::string_view name;
  std::string_view text;
  // For PatternIndex::add(): a line a pattern, FILE:LINE and sets of words,
  // each behind a \x1e; \x1f stands between words. Not of a pattern that
  // any line may match.
  std::string_view words;
};

std::vector<BuiltinRules> builtin_rules();

// rules/foreign.tsv, see foreign_words.h.
std::string_view builtin_foreign_words();
// rules/xids.tsv, see xid_book.h.
std::string_view builtin_xids();

}  // namespace muster
