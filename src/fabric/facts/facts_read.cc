// SPDX-License-Identifier: Apache-2.0
// JSON to facts, forgiving in form and strict in kind: every mistake names
// the place ("pods[0].hcas[2].rate_gbps"). Pure.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/decimal.h"
#include "base/text.h"
#include "fabric/facts/facts_common.h"
#include "fabric/facts/facts_expand.h"
#include "fabric/facts/facts_fields.h"
#include "fabric/facts/facts_forms.h"
#include "fabric/facts/facts_json.h"
#include "fabric/facts/facts_lines.h"
#include "fabric/facts/facts_names.h"
#include "fabric/facts/facts_notes.h"
#include "fabric/facts/facts_text.h"
#include "fabric/facts/nccl_version.h"

namespace muster {

namespace {

// Not ordered_json: its objects are copied whenever they grow.
using Json = nlohmann::json;
using facts_fields::visit;

constexpr size_t kMaxText = 16 << 20;

struct Report {
  std::string mistake;  // the first one
  std::vector<std::string> notes;
  std::set<std::string> told;  // unknown fields, whichever entry has them
};

// "pods[0].hcas[12]" -> "pods[].hcas[]"
std::string without_numbers(std::string path) {
  std::erase_if(path, [](char c) { return c >= '0' && c <= '9'; });
  return path;
}

// "400 Gb/sec (4X NDR)" -> 400.
std::optional<double> leading_number(std::string_view text) {
  const auto number = leading_decimal(trim(text));
  if (!number) return std::nullopt;
  return number->value;
}

class FactsIn {
 public:
  FactsIn(const Json& json, std::string path, Report& report)
      : json_(json), path_(std::move(path)), report_(report) {
    if (!json.is_object()) reject("", "an object");
  }

  void field(const char* name, double& value) {
    const Json* found = find(name);
    if (found == nullptr) return;
    if (found->is_number()) {
      value = found->get<double>();
    } else if (const auto number = text_number(*found)) {
      value = *number;
    } else {
      reject(name, "a number");
    }
  }
  void field(const char* name, int64_t& value) {
    double number = static_cast<double>(value);
    field(name, number);
    if (!(std::abs(number) < 9e15)) return reject(name, "a smaller number");
    value = static_cast<int64_t>(number);
  }
  void field(const char* name, int& value) {
    int64_t number = value;
    field(name, number);
    if (std::abs(number) > 2'000'000'000) {
      return reject(name, "a smaller number");
    }
    value = static_cast<int>(number);
  }
  void field(const char* name, std::string& value) {
    const Json* found = find(name);
    if (found == nullptr) return;
    if (!scalar(*found)) return reject(name, "a text");
    value = text_of(*found);
  }
  void field(const char* name, Known& value) {
    const Json* found = find(name);
    if (found == nullptr) return;
    const std::string word = scalar(*found) ? to_lower(text_of(*found)) : "";
    const auto is = [&](std::initializer_list<const char*> words) {
      return std::find(words.begin(), words.end(), word) != words.end();
    };
    if (is({"true", "yes", "1", "on", "enabled", "loaded", "present"})) {
      value = true;
    } else if (is({"false", "no", "0", "off", "disabled", "not loaded",
                   "absent", "missing"})) {
      value = false;
    } else if (word != "unknown" && word != "?") {
      reject(name, "true or false");
    }
  }
  void field(const char* name, std::vector<std::string>& values) {
    const Json* found = find(name);
    if (found == nullptr) return;
    if (scalar(*found)) {
      values.push_back(text_of(*found));
      return;
    }
    if (!found->is_array()) return reject(name, "a list of texts");
    for (const Json& item : *found) {
      if (!scalar(item)) return reject(name, "a list of texts");
      values.push_back(text_of(item));
    }
  }
  void field(const char* name,
             std::optional<std::vector<std::string>>& values) {
    if (find(name) == nullptr) return;
    field(name, values.emplace());
  }
  void field(const char* name, std::map<std::string, std::string>& values) {
    const Json* found = find(name);
    if (found == nullptr) return;
    if (!found->is_object()) return reject(name, "an object of texts");
    for (const auto& [key, item] : found->items()) {
      if (!scalar(item)) return reject(name + ("." + key), "a text");
      values[key] = text_of(item);
    }
  }
  template <class Item>
  void field(const char* name, std::optional<std::vector<Item>>& items) {
    const Json* found = find(name);
    if (found == nullptr) return;
    if (!found->is_array()) return reject(name, list_like(name));
    read_list(name, *found, items.emplace());
  }
  // Without a list of its own, an adapter has one port whose fields stand
  // beside the adapter's.
  void ports(const char* name, std::vector<FabricPort>& ports) {
    const Json* found = find(name);
    if (found == nullptr) {
      visit(*this, ports.emplace_back());
    } else if (found->is_array()) {
      read_list(name, *found, ports);
    } else {
      reject(name, "a list of ports");
    }
  }
  void bytes(const char* name, int64_t& value) {
    const Json* found = find(name);
    if (found == nullptr) return;
    const std::string word = scalar(*found) ? to_lower(text_of(*found)) : "";
    const auto number = leading_number(word);
    if (word == "unlimited" || word == "-1") {
      value = -1;
    } else if (!number || *number < 0 || *number > 9e15) {
      reject(name, "a number of bytes or \"unlimited\"");
    } else {
      value = static_cast<int64_t>(*number * unit_of(word));
    }
  }
  template <class Value>
  void object(const char* name, Value& value) {
    const Json* found = find(name);
    if (found == nullptr) return;
    FactsIn inner(*found, path_ + "." + name, report_);
    visit(inner, value);
    inner.note_unknown();
  }
  // Every field that nobody asked for, with the name that was likely meant.
  void note_unknown() {
    if (!json_.is_object()) return;
    for (const auto& [key, value] : json_.items()) {
      if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) {
        continue;
      }
      if (key == "comment" || key == "source" || key == "format" ||
          key.starts_with("_") || report_.notes.size() >= 20) {
        continue;
      }
      if (!report_.told.insert(without_numbers(path_) + "." + key).second) {
        continue;  // of the entry before too
      }
      report_.notes.push_back(path_ + "." + key + " is not a known field" +
                              hint(key));
    }
  }

 private:
  [[nodiscard]] std::string hint(const std::string& key) const {
    const std::string instead = instead_of_tool(key);
    if (!instead.empty()) return "; write " + instead;
    const std::string meant = nearest(key, asked_).value_or("");
    return meant.empty() ? "" : "; did you mean " + meant + "?";
  }
  static std::string_view list_like(std::string_view name) {
    if (name == "hcas") {
      return "a list, for example [\"mlx5_[0-7] InfiniBand ACTIVE 400\"]";
    }
    if (name == "netdevs") return "a list, for example [\"eth0 10.0.0.4/24\"]";
    return "a list";
  }
  static bool scalar(const Json& json) {
    return json.is_string() || json.is_number() || json.is_boolean();
  }
  static std::string text_of(const Json& json) {
    return json.is_string() ? json.get<std::string>() : json.dump();
  }
  static std::optional<double> text_number(const Json& json) {
    if (!json.is_string()) return std::nullopt;
    return leading_number(json.get_ref<const std::string&>());
  }
  // "64M", "64 MiB", "8192 kB": as in df, ulimit and manifests.
  static double unit_of(std::string_view word) {
    const size_t at = word.find_first_not_of("0123456789. ");
    if (at == word.npos) return 1;
    const size_t power = std::string_view("bkmgt").find(word[at]);
    return power == std::string_view::npos
               ? 1
               : std::pow(1024.0, static_cast<double>(power));
  }
  const Json* find(const char* name) {
    asked_.emplace_back(name);
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  void reject(const std::string& name, std::string_view expected) {
    if (!report_.mistake.empty()) return;
    report_.mistake = path_ + (name.empty() ? "" : "." + name) + " should be " +
                      std::string(expected);
  }
  template <class Item>
  void read_list(const char* name, const Json& list, std::vector<Item>& out) {
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string path =
          path_ + "." + name + "[" + std::to_string(i) + "]";
      Item item;
      if (list[i].is_string()) {
        read_word(list[i].get_ref<const std::string&>(), path, item);
      } else {
        FactsIn inner(list[i], path, report_);
        visit(inner, item);
        inner.note_unknown();
      }
      out.push_back(std::move(item));
    }
    number_gids(out);
  }
  // A list item may be one text where that says enough.
  void read_word(const std::string& word, const std::string& path,
                 FabricGid& gid) {
    auto parsed = parse_gid_line(word);
    if (parsed) {
      gid = *parsed;
    } else if (report_.mistake.empty()) {
      report_.mistake = path + " should be a GID: " + parsed.error().why;
    }
  }
  template <class Item>
  requires requires(Item item) { item.name; }
  void read_word(const std::string& word, const std::string&, Item& item) {
    item.name = word;
    if constexpr (std::same_as<Item, FabricHca>) item.ports.emplace_back();
  }
  void read_word(const std::string& word, const std::string& path,
                 FabricPort&) {
    if (report_.mistake.empty()) {
      report_.mistake =
          path + " should be an object, not \"" + word.substr(0, 40) + "\"";
    }
  }
  static void number_gids(std::vector<FabricGid>& gids) {
    for (size_t i = 0; i < gids.size(); ++i) {
      FabricGid& gid = gids[i];
      if (gid.index < 0) gid.index = static_cast<int>(i);
      // As the kernel writes it: "IB/RoCE v1", "RoCE v2".
      if (gid.type.find("v1") != gid.type.npos) gid.type = "v1";
      if (gid.type.find("v2") != gid.type.npos) gid.type = "v2";
    }
  }
  template <class Other>
  static void number_gids(std::vector<Other>&) {}

  const Json& json_;
  std::string path_;
  Report& report_;
  std::vector<std::string> asked_;
};

// A mistake in a text that stands for an object, with the line of that text.
tl::unexpected<Error> misread(std::string_view text, const std::string& where,
                              const Error& error) {
  const size_t line = line_of_quoted(text, error.why);
  return invalid_facts(line == 0 ? where : where + ":" + std::to_string(line),
                       error.text());
}

// Pods by other words, by a number, or by name alone.
void name_pods(Json& json) {
  if (!json.is_object()) return;
  for (const char* other :
       {"pod", "hosts", "nodes", "workers", "machines", "servers"}) {
    if (json.contains("pods") || !json.contains(other)) continue;
    // A number or names in a pod with a name of its own are something else.
    const bool words = json[other].is_string() || json[other].is_number();
    if (!json[other].is_structured() && (!words || json.contains("name"))) {
      continue;
    }
    json["pods"] = std::move(json[other]);
    json.erase(other);
  }
  if (!json.contains("pods")) return;
  Json& pods = json["pods"];
  if (pods.is_number_integer() && pods.get<int64_t>() > 0) {
    const int64_t last = pods.get<int64_t>() - 1;
    pods = "pod-[0-" + std::to_string(last) + "]";
  }
  if (pods.is_string()) pods = Json::array({Json{{"name", pods}}});
}

// Reads the fields beside `pods` as fields of every pod.
Status share_beside(Json& json, Json& pods, FactsBudget& budget,
                    std::vector<std::string>& notes) {
  json.erase("pods");
  Json beside = Json::array();
  beside.push_back(std::move(json));
  if (Status status = settle_forms(beside, budget, notes); !status)
    return status;
  return take_common_fields(beside[0], pods, notes);
}

}  // namespace

Result<FactsFile> read_facts(std::string_view given, const std::string& where) {
  if (given.size() > kMaxText) return invalid_facts(where, "more than 16 MiB");
  if (trim(given).empty())
    return invalid_facts(where, "there is nothing in it");
  FactsText read;
  auto parsed = parse_facts_text(given, where, read);
  if (!parsed) return fail(parsed.error());
  const std::string_view text = read.text;
  Json json = std::move(*parsed);
  name_pods(json);
  const bool wrapped = json.is_object() && json.contains("pods");
  Json pods = std::move(wrapped ? json["pods"] : json);
  Report report;
  report.notes = std::move(read.notes);
  FactsBudget budget;
  if (Status status = settle_forms(pods, budget, report.notes); !status) {
    return misread(text, where, status.error());
  }
  if (Status status =
          wrapped ? share_beside(json, pods, budget, report.notes) : Status{};
      !status) {
    return misread(text, where, status.error());
  }
  if (pods.is_object()) {
    Json one = std::move(pods);
    pods = Json::array();
    pods.push_back(std::move(one));
  }
  if (!pods.is_array() || pods.empty()) {
    return invalid_facts(where, "no pods in it");
  }
  if (Status status = expand_facts(pods, budget); !status) {
    return misread(text, where, status.error());
  }
  FactsFile out;
  std::set<std::string> names;
  for (size_t i = 0; i < pods.size(); ++i) {
    FactsIn reader(pods[i], "pods[" + std::to_string(i) + "]", report);
    visit(reader, out.pods.emplace_back());
    reader.note_unknown();
    if (!report.mistake.empty()) {
      const std::string field =
          report.mistake.substr(0, report.mistake.find(' '));
      return invalid_facts(
          where + ":" + std::to_string(line_of_field(text, field)),
          report.mistake);
    }
    PodFabric& pod = out.pods.back();
    if (pod.name.empty()) pod.name = "pod-" + std::to_string(i);
    // "ml.p5.48xlarge", SageMaker's form.
    if (pod.shape.starts_with("ml.")) pod.shape.erase(0, 3);
    if (!pod.nccl_version.empty() && !parse_nccl_version(pod.nccl_version)) {
      report.notes.push_back("pods[" + std::to_string(i) + "].nccl_version: " +
                             "\"" + pod.nccl_version.substr(0, 40) +
                             "\" is not a version; taken as unknown");
    }
    note_values(pod, "pods[" + std::to_string(i) + "]", report.notes);
    if (!names.insert(pod.name).second) {
      report.notes.push_back("two pods are called " + pod.name);
    }
  }
  out.notes = told_once(report.notes);
  return out;
}

}  // namespace muster
