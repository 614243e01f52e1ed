// SPDX-License-Identifier: Apache-2.0
// The Xids that may explain a rank's failure: those of a GPU that it may use,
// seconds before its end. Pure.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/evidence.h"

namespace muster {

// Worst first: those that end the work on a GPU, and faults of the machine,
// before the rest. Empty: the rank did not fail by itself, or there were none
// near its end.
std::vector<const XidEvidence*> xids_of(const Evidence& evidence,
                                        const RankEvidence& rank);
// "Xid 79: the GPU has fallen off the bus (fault: …) on GPU 3, GPU-5e…, of w-0,
// 1.2 s before rank 5 ended".
std::string xid_sentence(const Evidence& evidence, const NodeEvidence& node,
                         const XidEvidence& xid, const RankEvidence* rank);

}  // namespace muster
