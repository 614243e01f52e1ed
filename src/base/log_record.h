// SPDX-License-Identifier: Apache-2.0
// A record of muster's own log (base/log.h) with a value for programs.
#pragma once

#include <string_view>

#include "base/log.h"

namespace muster::log {

// As write(), with `field` ("name":value, in JSON) behind the message, whatever
// the level from which on messages are written: programs wait for the record.
// Where the log is text nothing is written. Thread-safe.
void write_record(Level level, std::string_view message,
                  std::string_view field);

}  // namespace muster::log
