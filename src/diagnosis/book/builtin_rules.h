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
};

std::vector<BuiltinRules> builtin_rules();

// rules/foreign.tsv, see foreign_words.h.
std::string_view builtin_foreign_words();
// rules/xids.tsv, see xid_book.h.
std::string_view builtin_xids();

}  // namespace muster
