// SPDX-License-Identifier: Apache-2.0
// Is a line advice, a warning of what is to come, or a setting? Such lines name
// failures that did not happen: "Hint: a larger --shm-size", "timeout: 600",
// "Namespace(on_error='abort')". Refuses to say so of lines that tell a code, a
// state or a reason ("reason: OOMKilled", "Killed: 9"). Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster {

bool is_advice(std::string_view line);
bool is_setting(std::string_view line);
// An error line without what is not its subject: where it stands in a source,
// directories of paths, settings, and advice behind it.
std::string without_asides(std::string_view line);

}  // namespace muster
