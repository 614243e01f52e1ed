// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/gpu_forms.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/text.h"
#include "fabric/facts/facts_keys.h"

namespace muster {

namespace {

using Json = nlohmann::json;

constexpr int64_t kMostGpus = 64;

// "8x NVIDIA H100" and "NVIDIA H100 x8" -> 8 and the name; else 1.
std::pair<int64_t, std::string> counted(const std::string& text) {
  const auto number = [](std::string_view digits) {
    return parse_integer(trim(digits)).value_or(-1);
  };
  const size_t end = text.find_first_not_of("0123456789");
  const size_t x = text.find_first_not_of(' ', end);
  if (end != 0 && x != text.npos && text[x] == 'x') {
    return {number(text.substr(0, end)), std::string(trim(text.substr(x + 1)))};
  }
  const size_t last = text.rfind(" x");
  if (last != text.npos && number(text.substr(last + 2)) > 0) {
    return {number(text.substr(last + 2)), text.substr(0, last)};
  }
  return {1, text};
}

bool is_count(const Json& json) {
  return json.is_number_integer() && json.get<int64_t>() >= 0 &&
         json.get<int64_t>() <= kMostGpus;
}

// By PCI address, or by a number that says nothing.
void settle_gpu_keys(Json& gpus) {
  if (!all_objects(gpus)) return;
  gpus = by_key(std::move(gpus), "_key");
  for (Json& gpu : gpus) {
    const std::string key = gpu["_key"].get<std::string>();
    gpu.erase("_key");
    const char* field = key.find(':') != key.npos ? "pci" : "name";
    if (!parse_integer(key) && !gpu.contains(field)) gpu[field] = key;
  }
}

// 8, "8x NVIDIA H100", {"name": "NVIDIA H100", "count": 8}, and lists of them.
// A line for each; output of a tool that is not read is not one GPU.
Status split_gpus(Json& gpus) {
  Json out = Json::array();
  const std::string text = gpus.get<std::string>();
  const bool lines = trim(text).find('\n') != std::string::npos;
  for (const auto part : split(text, '\n')) {
    const auto line = trim(part);
    if (line.empty() && lines) continue;
    if (lines && line.find_first_of("|=:,") != line.npos) {
      return fail({.code = "facts_invalid",
                   .what = "gpus",
                   .why = "\"" + std::string(line.substr(0, 40)) +
                          "\" is not the name of a GPU",
                   .where = {},
                   .hint = "write \"8x NVIDIA H100\", or paste nvidia-smi, "
                           "nvidia-smi -L or nvidia-smi topo -m"});
    }
    out.push_back(std::string(lines ? line : part));
  }
  gpus = std::move(out);
  return {};
}

}  // namespace

Status settle_gpus(Json& pod, FactsBudget& budget) {
  if (!pod.contains("gpus")) return {};
  Json& gpus = pod["gpus"];
  settle_gpu_keys(gpus);
  if (is_count(gpus)) gpus = Json{{"count", gpus}};
  if (gpus.is_string()) {
    if (Status status = split_gpus(gpus); !status) return status;
  }
  if (gpus.is_object()) gpus = Json::array({gpus});
  if (!gpus.is_array()) return {};
  Json out = Json::array();
  for (Json& item : gpus) {
    int64_t count = 1;
    if (item.is_string()) {
      const auto read = counted(item.get<std::string>());
      if (is_count(read.first)) count = read.first;
      item = Json{{"name", read.second}};
    } else if (item.is_object() && is_count(item.value("count", Json()))) {
      count = item["count"].get<int64_t>();
      item.erase("count");
    }
    const auto copies = static_cast<size_t>(count);
    if (Status enough = budget.spend(copies, item, "gpus"); !enough) {
      return enough;
    }
    out.insert(out.end(), copies, item);
  }
  gpus = std::move(out);
  return {};
}

}  // namespace muster
