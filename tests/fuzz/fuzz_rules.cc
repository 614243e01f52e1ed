// SPDX-License-Identifier: Apache-2.0
// Any bytes as a rule file: a book, or one sentence with a place.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "diagnosis/book/rule_book.h"
#include "diagnosis/book/text_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  if (size > 4096) return 0;  // RE2 may take its time for large sets
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto book = RuleBook::parse({{"F", text}});
  if (!book) {
    if (book.error().code != "rules") std::abort();
    return 0;
  }
  static_cast<void>(book->read("rank 3 ran out of memory"));
  for (const Rule& rule : book->rules()) {
    if (book->find(rule.code) == nullptr) std::abort();
    static_cast<void>(fill_template(rule.headline, {{"who", "Rank 1"}}));
  }
  return 0;
}
