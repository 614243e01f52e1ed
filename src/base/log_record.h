// SPDX-License-Identifier: Apache-2.0
// A record of muster's own log (base/log.h) with a value for programs.
#pragma once

#include <string_view>

#include "base/log.h"

namespace muster::log {

// As write(), with `field` ("name":value, in JSON) behind the message, at any
// level: programs wait for the record. Writes nothing if the log is text.
// Thread-safe.
void write_record(Level level, std::string_view message,
                  std::string_view field);

}  // namespace muster::log
