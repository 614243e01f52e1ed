// SPDX-License-Identifier: Apache-2.0
// The sentences of the rules: "{who} reached its limit of {limit} || {who}
// reached its limit". Alternatives stand between " || "; the first one whose
// every {name} is known wins. {?name} prints nothing, but must be known. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "diagnosis/book/rule_book.h"

namespace muster {

// Nothing if no alternative can be filled. Values that are empty count as
// unknown.
std::optional<std::string> fill_template(std::string_view text,
                                         const Captures& values);

}  // namespace muster
