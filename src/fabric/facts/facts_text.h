// SPDX-License-Identifier: Apache-2.0
// Converts a facts file to JSON. Accepts comments, a comma behind the last
// entry and lines pasted between quotation marks. Reports any other text that
// is not JSON in one sentence with its line. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

struct FactsText {
  // Strict JSON with as many lines before each field as the file has.
  std::string text;
  std::vector<std::string> notes;  // fields that stand twice
};

// Without comments, commas behind the last entry and lines' ends in texts.
std::string strict_json(std::string_view text);

// Error code "facts_invalid"; `where` names the file.
tl::unexpected<Error> invalid_facts(const std::string& where, std::string why);

// At most 32 levels. `where` names the file in errors, code "facts_invalid".
Result<nlohmann::json> parse_facts_text(std::string_view text,
                                        const std::string& where,
                                        FactsText& out);

}  // namespace muster
