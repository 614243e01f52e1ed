// SPDX-License-Identifier: Apache-2.0
// pasted_gpus(): the matrix of `nvidia-smi topo -m`, the list of `nvidia-smi
// -L`, the table of `nvidia-smi`.
#include "fabric/facts/facts_pasted.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "fabric/facts/pasted_text.h"

namespace muster {

namespace {

using Json = nlohmann::json;

bool is_distance(std::string_view word) {
  return word == "X" || word.starts_with("NV") || word == "PIX" ||
         word == "PXB" || word == "PHB" || word == "NODE" || word == "SYS";
}

// Rows of GPUs and columns of adapters; "NIC0: mlx5_0" of the legend.
Json gpus_of_topology(std::string_view text) {
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, std::string>> legend;
  Json out = Json::array();
  for (const auto line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.empty()) continue;
    if (words.size() == 2 && words[0].starts_with("NIC") &&
        words[0].ends_with(':')) {
      legend.emplace_back(words[0].substr(0, words[0].size() - 1), words[1]);
    } else if (columns.empty() && words[0] == "GPU0" &&
               (words.size() < 2 || !is_distance(words[1]))) {
      for (const auto word : words) {
        if (word == "CPU" || word == "NUMA") break;
        columns.emplace_back(word);
      }
    } else if (!columns.empty() && words[0].starts_with("GPU") &&
               parse_integer(words[0].substr(3))) {
      Json gpu = Json::object();
      for (size_t i = 0; i < columns.size() && i + 1 < words.size(); ++i) {
        const bool adapter = !columns[i].starts_with("GPU");
        if (adapter) gpu["nics"][columns[i]] = words[i + 1];
        if (words[i + 1].starts_with("NV")) gpu["nvlink"] = true;
      }
      out.push_back(std::move(gpu));
    }
  }
  for (Json& gpu : out) {
    for (const auto& [number, name] : legend) {
      if (!gpu.contains("nics") || !gpu["nics"].contains(number)) continue;
      gpu["nics"][name] = gpu["nics"][number];
      gpu["nics"].erase(number);
    }
  }
  return out;
}

// The slices of one card stand below it. Of two cards with one slice each
// nothing is said: the list has no PCI addresses that would tell them apart.
void end_of_card(Json& out, const std::string& card, const Json& slices) {
  if (card.empty()) return;
  if (slices.empty()) out.push_back(Json{{"name", card}});
  for (const Json& slice : slices) {
    Json gpu{{"name", card + " MIG " + slice.get<std::string>()}};
    if (slices.size() > 1) gpu["mig"] = true;
    out.push_back(std::move(gpu));
  }
}

Json gpus_of_list(std::string_view text) {
  Json out = Json::array();
  std::string card;
  Json slices = Json::array();
  for (const auto line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.size() > 1 && words[0] == "MIG") slices.push_back(words[1]);
    if (!line.starts_with("GPU ") || !has(line, "UUID")) continue;
    const size_t colon = line.find(':');
    const size_t end = line.find(" (UUID");
    if (colon == line.npos || end == line.npos || end < colon) continue;
    end_of_card(out, card, slices);
    card = trim(line.substr(colon + 1, end - colon - 1));
    slices.clear();
  }
  end_of_card(out, card, slices);
  return out;
}

// "|   0  NVIDIA H100 80GB HBM3   On  |   00000000:1B:00.0 Off |  0 |"
Json gpus_of_table(std::string_view text) {
  Json out = Json::array();
  for (const auto line : split(text, '\n')) {
    const auto cells = split(trim(line), '|');
    if (cells.size() < 4 || !cells[0].empty()) continue;
    auto name = split_words(cells[1]);
    const auto place = split_words(cells[2]);
    if (name.size() < 3 || !parse_integer(name[0]) || place.empty()) continue;
    const std::string pci = to_lower(place[0]);  // NVML's has 8 digits first
    if (pci.size() != 16 || pci[8] != ':' || pci[11] != ':') continue;
    name.erase(name.begin());
    if (name.back() == "On" || name.back() == "Off") name.pop_back();
    std::string words;
    for (const auto word : name) {
      words += (words.empty() ? "" : " ") + std::string(word);
    }
    if (words.ends_with("...")) words.resize(words.size() - 3);  // too long
    out.push_back(Json{{"name", words}, {"pci", pci.substr(4)}});
  }
  return out;
}

}  // namespace

Json pasted_gpus(std::string_view text) {
  Json out = gpus_of_topology(text);
  if (out.empty()) out = gpus_of_list(text);
  return out.empty() ? gpus_of_table(text) : out;
}

void take_driver(std::string_view text, Json& pod) {
  const std::pair<const char*, const char*> known[] = {
      {"Driver Version:", "gpu_driver"}, {"CUDA Version:", "cuda_version"}};
  for (const auto& [label, field] : known) {
    const std::string cell = between(text, label, "|");
    const auto rest = split_words(cell);
    const bool told = !rest.empty() && !rest[0].empty() && rest[0][0] >= '0' &&
                      rest[0][0] <= '9';
    if (told && !pod.contains(field)) pod[field] = rest[0];
  }
}

}  // namespace muster
