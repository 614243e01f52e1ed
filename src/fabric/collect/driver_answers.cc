// SPDX-License-Identifier: Apache-2.0
// The text: "age MS", then the lines, each behind the name of its part, "end".
#include "fabric/collect/driver_answers.h"

#include "base/text.h"

namespace muster {

namespace {

constexpr std::string_view kEnd = "end";

void add_part(const char* name, const std::string& lines, std::string& out) {
  for (const auto line : split(lines, '\n')) {
    if (!line.empty())
      out += std::string(name) + " " + std::string(line) + "\n";
  }
}

}  // namespace

bool take_answers(const DriverAnswers& answers, PodFabric& pod) {
  if (answers.now.empty()) return false;
  take_gpu_answers(answers.nvml, answers.now, pod);
  take_gpu_answers(answers.cuda, {}, pod);
  take_cuda_aware(answers.mpi, pod);
  return true;
}

std::string to_text(const DriverAnswers& answers) {
  std::string out = "age " + std::to_string(answers.age_ms) + "\n";
  add_part("nvml", answers.nvml, out);
  add_part("cuda", answers.cuda, out);
  add_part("mpi", answers.mpi, out);
  add_part("now", answers.now, out);
  return out + std::string(kEnd) + "\n";
}

std::optional<DriverAnswers> driver_answers_from_text(std::string_view text) {
  DriverAnswers out;
  for (const auto line : split(text, '\n')) {
    if (line == kEnd) return out;
    const size_t space = line.find(' ');
    if (space == line.npos) continue;
    const auto part = line.substr(0, space);
    const std::string rest = std::string(line.substr(space + 1)) + "\n";
    if (part == "age") out.age_ms = parse_integer(trim(rest)).value_or(0);
    if (part == "nvml") out.nvml += rest;
    if (part == "cuda") out.cuda += rest;
    if (part == "mpi") out.mpi += rest;
    if (part == "now") out.now += rest;
  }
  return std::nullopt;
}

}  // namespace muster
