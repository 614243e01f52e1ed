// SPDX-License-Identifier: Apache-2.0
// The sentences of the rules: "{who} reached its limit of {limit} || {who}
// reached its limit". Alternatives stand between " || "; the first one whose
// every {name} is known wins. {?name} prints nothing, but must be known.
// {was|were}: for one rank, and for several (kMany). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "diagnosis/book/rule_book.h"

namespace muster {

// The value that is known where a sentence is about several.
inline constexpr char kMany[] = "many";

// Nothing if no alternative can be filled. Values that are empty count as
// unknown.
std::optional<std::string> fill_template(std::string_view text,
                                         const Captures& values);

}  // namespace muster
