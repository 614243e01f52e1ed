// SPDX-License-Identifier: Apache-2.0
#include "job/output_files.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace muster {

namespace {

// A word that may follow a colon. The path has no job number that "nojobid"
// could remove, and muster writes lines as they come ("raw").
bool is_qualifier(std::string_view word) {
  const std::string lower = to_lower(word);
  return lower == "nocopy" || lower == "nojobid" || lower == "raw";
}

// "/o:nocopy,nojobid" -> "/o". A colon may as well be part of the name.
std::string_view take_qualifiers(std::string_view name, OutputFiles& out) {
  const size_t colon = name.rfind(':');
  if (colon == std::string_view::npos) return name;
  const auto words = split(name.substr(colon + 1), ',');
  if (!std::all_of(words.begin(), words.end(), is_qualifier)) return name;
  out.only = std::any_of(words.begin(), words.end(),
                         [](auto word) { return to_lower(word) == "nocopy"; });
  return name.substr(0, colon);
}

// The value of --output: "tag,dir=/o:nocopy". Open MPI takes any unique
// beginning of a directive.
OutputFiles of_directives(std::string_view text) {
  OutputFiles out;
  for (const std::string_view directive : split(text, ',')) {
    const size_t equals = directive.find('=');
    const std::string key = to_lower(directive.substr(0, equals));
    const bool files = equals != std::string_view::npos && !key.empty() &&
                       (std::string_view("directory").starts_with(key) ||
                        std::string_view("filename").starts_with(key));
    if (files) {
      out.directory = take_qualifiers(directive.substr(equals + 1), out);
    } else {
      out.more = true;
    }
  }
  return out;
}

}  // namespace

OutputFiles output_files(const MpirunLine& line, const LineOption& option) {
  const bool open_mpi = (line.launchers & kOpenMpiLauncher) != 0;
  if (option.values.empty() || !open_mpi) return {};
  if (option.name == "output") return of_directives(option.values[0]);
  OutputFiles out;
  if (option.name == "output-filename" || option.name == "output-directory") {
    out.directory = take_qualifiers(option.values[0], out);
  }
  return out;
}

OutputFiles output_files(const MpirunLine& line) {
  OutputFiles out;
  for (const LineOption& option : line.options) {
    OutputFiles one = output_files(line, option);
    if (!one.directory.empty()) out = std::move(one);
  }
  return out;
}

}  // namespace muster
