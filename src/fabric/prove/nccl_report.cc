// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/nccl_report.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "fabric/prove/judge_parts.h"
#include "fabric/prove/nccl_rate.h"
#include "job/json_fields.h"

namespace muster {

namespace {

// Gradients in 32 bits, and the network between nodes that such jobs are run
// on when they scale well.
struct ModelClass {
  const char* name;
  double gigabytes;
  double needed_gbps;
};
constexpr std::array<ModelClass, 5> kModels = {{{"ResNet-50", 0.1, 10},
                                                {"BERT-Base", 0.44, 25},
                                                {"BERT-Large", 1.3, 50},
                                                {"7B parameters", 28, 100},
                                                {"70B parameters", 280, 200}}};

const NcclStep* step_of(const std::vector<NcclStep>& steps, int nodes) {
  const auto found =
      std::find_if(steps.begin(), steps.end(),
                   [nodes](auto& step) { return step.nodes == nodes; });
  return found == steps.end() ? nullptr : &*found;
}

std::string rate(const NcclStep* step) {
  const double value = step == nullptr ? -1 : step->bus_gigabytes();
  return value < 0 ? "-" : decimal(value) + " GB/s";
}

std::string step_line(const NcclFigures& figures, const NcclStep& step,
                      const NcclStep* two) {
  std::string out = "  " + std::to_string(step.nodes) +
                    (step.nodes == 1 ? " node, " : " nodes, ") +
                    std::to_string(step.ranks) + " ranks: " + rate(&step);
  if (!figures.alone.empty()) {
    out += ", NCCL alone " + rate(step_of(figures.alone, step.nodes));
  }
  if (two != nullptr && step.nodes > 2) {
    const double part = 100 * step.bus_gigabytes() / two->bus_gigabytes();
    out +=
        ", " + std::to_string(static_cast<int>(part + 0.5)) + " % of two nodes";
  }
  return out + "\n";
}

std::string model_lines(const NcclStep& widest) {
  const double bus = widest.bus_gigabytes();
  std::string out;
  for (const ModelClass& model : kModels) {
    const double factor = 2.0 * (widest.ranks - 1) / widest.ranks;
    const bool enough = bus * 8 >= model.needed_gbps;
    out += std::string("  ") + model.name + ": " +
           (enough ? "enough" : "too slow") + " (needs " +
           decimal(model.needed_gbps) + " Gb/s; its " +
           decimal(model.gigabytes) + " GB of gradients take " +
           decimal(model.gigabytes * factor / bus) + " s)\n";
  }
  return out;
}

template <class Json>
void visit_step(Json& json, const NcclStep& step) {
  json.field("nodes", step.nodes);
  json.field("ranks", step.ranks);
  json.field("seconds", step.seconds);
  json.field("bus_gigabytes_per_second", step.bus_gigabytes());
}

}  // namespace

std::optional<NcclStep> nccl_step_in(std::string_view line) {
  const auto words = split_words(line);
  if (words.size() != 4 || words[0] != "step") return std::nullopt;
  const auto nodes = parse_int(words[1]);
  const auto ranks = parse_int(words[2]);
  const auto nanoseconds = parse_integer(words[3]);
  if (!nodes || !ranks || !nanoseconds || *nodes < 1 || *ranks < 1 ||
      *nanoseconds < 0) {
    return std::nullopt;
  }
  return NcclStep{*nodes, *ranks, static_cast<double>(*nanoseconds) * 1e-9};
}

double NcclStep::bus_gigabytes() const {
  if (ranks < 2 || seconds <= 0) return -1;
  return static_cast<double>(kNcclBytes) * 1e-9 * 2 * (ranks - 1) / ranks /
         seconds;
}

std::string nccl_figures_text(const NcclFigures& figures) {
  std::string out =
      "NCCL " + figures.version +
      (figures.library.empty() ? "" : " (" + figures.library + ")") +
      ", all-reduce of " + std::to_string(kNcclBytes >> 20) +
      " MiB, bus bandwidth as nccl-tests counts it\n";
  if (figures.settings.empty()) {
    out += "muster sets nothing for NCCL here: these are its defaults\n";
  } else {
    out += "with " + join(figures.settings, ", ") + " as the job has them\n";
  }
  const NcclStep* two = step_of(figures.set, 2);
  for (const NcclStep& step : figures.set) {
    out += step_line(figures, step, two);
  }
  if (figures.set.empty()) return out;
  const NcclStep& widest = figures.set.back();
  if (widest.bus_gigabytes() < 0) {
    return out +
           "One rank has nobody to talk to: NCCL works on its GPU, a "
           "rate needs two.\n";
  }
  if (widest.nodes < 2) {
    return out + "All ranks are on one node: this is not the network.\n";
  }
  return out + "for\n" + model_lines(widest);
}

std::string nccl_figures_json(const NcclFigures& figures) {
  JsonWriter out;
  out.field("version", figures.version);
  out.field("library", figures.library);
  out.field("bytes", static_cast<uint64_t>(kNcclBytes));
  out.field("settings", figures.settings);
  const auto visit = [](auto& json, auto& step) { visit_step(json, step); };
  out.objects("alone", figures.alone, visit);
  out.objects("set", figures.set, visit);
  return out.text() + "\n";
}

}  // namespace muster
