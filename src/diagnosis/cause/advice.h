// SPDX-License-Identifier: Apache-2.0
// Whether a line is advice, a warning about the future, or a setting. Such
// lines name failures that did not happen: "Hint: a larger --shm-size",
// "timeout: 600", "Namespace(on_error='abort')". Lines with a code, a state or
// a reason do not count ("reason: OOMKilled", "Killed: 9"). Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster {

bool is_advice(std::string_view line);
bool is_setting(std::string_view line);
// An error line without the parts that are not its subject: its place in a
// source, directories of paths, settings, and advice behind it.
std::string without_asides(std::string_view line);

}  // namespace muster
