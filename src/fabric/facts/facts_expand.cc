// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/facts_expand.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace muster {

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxEntries = 4096;
constexpr int kMaxDepth = 32;

tl::unexpected<Error> invalid(std::string_view text, std::string why) {
  return fail({.code = "facts_invalid",
               .what = "\"" + std::string(text.substr(0, 80)) + "\"",
               .why = std::move(why),
               .where = {},
               .hint = "write ranges as name[0-7] or name[0,3-5]"});
}

// "1" with the zeros in front that "[01-16]" asks for.
std::string padded(int64_t number, size_t width) {
  std::string out = std::to_string(number);
  return out.size() < width ? std::string(width - out.size(), '0') + out : out;
}

struct Range {
  int64_t first = 0;
  int64_t last = 0;
  size_t width = 0;  // of numbers written with zeros in front
};

Result<std::vector<Range>> ranges_in(std::string_view text,
                                     std::string_view list) {
  std::vector<Range> out;
  size_t count = 0;
  for (const auto part : split(list, ',')) {
    const size_t dash = part.find('-');
    const auto begin = part.substr(0, dash);
    const auto first = parse_integer(begin);
    const auto last = dash == std::string_view::npos
                          ? first
                          : parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first) {
      return invalid(text, "the brackets hold no list of numbers");
    }
    if (static_cast<uint64_t>(*last - *first) >= kMaxEntries - count) {
      return invalid(text, "more than 4096 entries");
    }
    count += static_cast<size_t>(*last - *first) + 1;
    out.push_back({*first, *last, begin.starts_with('0') ? begin.size() : 0});
  }
  return out;
}

size_t count_of(const std::vector<Range>& ranges) {
  size_t count = 0;
  for (const Range& range : ranges) {
    count += static_cast<size_t>(range.last - range.first) + 1;
  }
  return count;
}

std::string number_at(const std::vector<Range>& ranges, size_t index) {
  for (const Range& range : ranges) {
    const auto size = static_cast<size_t>(range.last - range.first) + 1;
    if (index < size) {
      return padded(range.first + static_cast<int64_t>(index), range.width);
    }
    index -= size;
  }
  return "";
}

// The text with the i-th number in the place of every bracket that lists
// `count` of them; other brackets stay.
std::string picked(std::string_view text, size_t index, size_t count) {
  std::string out;
  while (!text.empty()) {
    const size_t open = text.find('[');
    const size_t close = text.find(']', open == text.npos ? 0 : open);
    if (open == text.npos || close == text.npos) break;
    const auto inside = text.substr(open + 1, close - open - 1);
    const auto ranges = ranges_in(text, inside);
    out += text.substr(0, open);
    out += ranges && count_of(*ranges) == count
               ? number_at(*ranges, index)
               : "[" + std::string(inside) + "]";
    text.remove_prefix(close + 1);
  }
  return out + std::string(text);
}

void pick(Json& json, size_t index, size_t count) {
  if (json.is_string()) {
    json = picked(json.get_ref<const std::string&>(), index, count);
  } else if (json.is_structured()) {
    for (Json& item : json) pick(item, index, count);
  }
}

Result<std::vector<std::string>> expand_within(FactsBudget& budget,
                                               std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']', open == text.npos ? 0 : open);
  if (open == text.npos || close == text.npos) {
    return std::vector<std::string>{std::string(text)};
  }
  const auto ranges = ranges_in(text, text.substr(open + 1, close - open - 1));
  if (!ranges) return fail(ranges.error());
  std::vector<std::string> out;
  const size_t count = count_of(*ranges);
  if (Status enough = budget.spend(count, text, text); !enough) {
    return fail(enough.error());
  }
  for (size_t i = 0; i < count; ++i) out.push_back(picked(text, i, count));
  return out;
}

Result<Json> expand_list(Json list, FactsBudget& budget) {
  Json out = Json::array();
  for (Json& item : list) {
    const bool named =
        item.is_object() && item.contains("name") && item["name"].is_string();
    if (!named) {
      out.push_back(std::move(item));
      continue;
    }
    const std::string name = item["name"].get<std::string>();
    const auto names = expand_within(budget, name);
    if (!names) return fail(names.error());
    if (out.size() + names->size() > kMaxEntries) {
      return invalid(names->front(), "more than 4096 entries in a list");
    }
    if (names->front() == name) {
      out.push_back(std::move(item));
      continue;
    }
    if (Status enough = budget.spend(names->size(), item, name); !enough) {
      return fail(enough.error());
    }
    for (size_t i = 0; i < names->size(); ++i) {
      Json copy = item;
      pick(copy, i, names->size());
      copy["name"] = (*names)[i];
      out.push_back(std::move(copy));
    }
  }
  return out;
}

// {"mlx5_[0-1]": "PIX"} of a GPU's distances: the same for each.
Status expand_keys(Json& object, FactsBudget& budget) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) {
    if (item.key().find('[') != std::string::npos) keys.push_back(item.key());
  }
  for (const std::string& key : keys) {
    const auto names = expand_within(budget, key);
    if (!names) return fail(names.error());
    const Json value = object[key];
    if (Status enough = budget.spend(names->size(), value, key); !enough) {
      return enough;
    }
    object.erase(key);
    for (const std::string& name : *names) {
      if (!object.contains(name)) object[name] = value;
    }
  }
  return {};
}

// A list of names alone, once the brackets of what it is in are gone.
Status expand_names(Json& list, FactsBudget& budget) {
  if (list.is_string()) list = Json::array({list});
  if (!list.is_array()) return {};
  Json out = Json::array();
  for (const Json& item : list) {
    if (!item.is_string()) {
      out.push_back(item);
      continue;
    }
    const auto names =
        expand_within(budget, item.get_ref<const std::string&>());
    if (!names) return fail(names.error());
    if (out.size() + names->size() > kMaxEntries) {
      return invalid(names->front(), "more than 4096 entries in a list");
    }
    for (const std::string& name : *names) out.push_back(name);
  }
  list = std::move(out);
  return {};
}

Status expand_at(Json& json, int depth, FactsBudget& budget) {
  if (!json.is_structured()) return {};
  if (depth > kMaxDepth) return invalid("facts", "nested too deeply");
  for (Json& item : json) {
    if (Status status = expand_at(item, depth + 1, budget); !status) {
      return status;
    }
  }
  if (json.is_object()) return expand_keys(json, budget);
  auto list = expand_list(std::move(json), budget);
  if (!list) return fail(list.error());
  json = std::move(*list);
  return {};
}

}  // namespace

Result<std::vector<std::string>> expand_brackets(std::string_view text) {
  FactsBudget budget;
  return expand_within(budget, text);
}

Status expand_facts(Json& json, FactsBudget& budget) {
  if (Status status = expand_at(json, 0, budget); !status) return status;
  for (Json& pod : json) {
    if (!pod.is_object() || !pod.contains("dead_hcas")) continue;
    if (Status status = expand_names(pod["dead_hcas"], budget); !status) {
      return status;
    }
  }
  return {};
}

}  // namespace muster
