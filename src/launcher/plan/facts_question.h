// SPDX-License-Identifier: Apache-2.0
// The question that goes to every agent with its hello: the facts of its pod,
// with the programs whose libraries count and the variables by which they are
// found. Pure, except for the working directory.
#pragma once

#include "launcher/connect/discovery.h"
#include "launcher/options/options.h"
#include "wire/facts_request.h"

namespace muster {

wire::FactsRequest facts_request(const LaunchOptions& options,
                                 const Discovery& discovery);

}  // namespace muster
