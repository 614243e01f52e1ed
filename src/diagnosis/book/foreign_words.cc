// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/book/foreign_words.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "diagnosis/book/builtin_rules.h"

namespace muster {

namespace {

struct Translation {
  std::string foreign;  // ASCII in small letters
  std::string_view english;
};

uint32_t bytes(std::string_view text, size_t count) {
  uint32_t key = 0;
  for (size_t i = 0; i < count; ++i) {
    key = key << 8 | static_cast<uint8_t>(text[i]);
  }
  return key;
}

// Found by their first bytes: a tree of them all would take megabytes.
class Translations {
 public:
  explicit Translations(std::string_view table) {
    for (const std::string_view row : split(table, '\n')) {
      if (row.starts_with('#')) continue;
      const std::vector<std::string_view> fields = split(row, '\t');
      for (size_t i = 1; i < fields.size(); ++i) {
        std::string foreign = to_lower(fields[i]);
        first_.set(bytes(foreign, 2));
        by_head_[bytes(foreign, kHead)].push_back(
            {std::move(foreign), fields[0]});
      }
    }
    for (auto& [head, words] : by_head_) {
      std::stable_sort(words.begin(), words.end(),
                       [](const Translation& a, const Translation& b) {
                         return a.foreign.size() > b.foreign.size();
                       });
    }
  }

  [[nodiscard]] std::string in_english(std::string_view line) const {
    std::string text;
    std::string small;  // made only where some head fits
    size_t done = 0;
    for (size_t at = 0; at + kHead <= line.size(); ++at) {
      if (!starts(line, at)) continue;
      if (small.empty()) small = to_lower(line);
      const Translation* const one = find(small, at);
      if (one == nullptr) continue;
      text.append(line.substr(done, at - done)).append(one->english);
      done = at + one->foreign.size();
      at = done - 1;
    }
    if (done > 0) text.append(line.substr(done));
    return text;
  }

 private:
  static constexpr size_t kHead = 4;

  [[nodiscard]] bool starts(std::string_view line, size_t at) const {
    const auto small = [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    const char head[] = {small(line[at]), small(line[at + 1])};
    return first_.test(bytes({head, 2}, 2));
  }

  [[nodiscard]] const Translation* find(std::string_view line,
                                        size_t at) const {
    const auto words = by_head_.find(bytes(line.substr(at), kHead));
    if (words == by_head_.end()) return nullptr;
    for (const Translation& one : words->second) {
      if (line.substr(at).starts_with(one.foreign)) return &one;
    }
    return nullptr;
  }

  std::bitset<65536> first_;
  std::unordered_map<uint32_t, std::vector<Translation>> by_head_;
};

}  // namespace

std::string in_english(std::string_view line) {
  static const Translations translations{builtin_foreign_words()};
  return translations.in_english(line);
}

}  // namespace muster
