// SPDX-License-Identifier: Apache-2.0
// The meaning of the Xids of NVIDIA's driver, for those in its events and those
// in the kernel's log. The table is rules/xids.tsv. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace muster {

enum class XidFault { kProgram, kHardware, kDriver, kEither };

struct XidMeaning {
  int number = 0;
  XidFault fault = XidFault::kEither;
  bool ends = false;       // the work on the GPU ends by it
  bool leave_out = false;  // the node, until an operator has seen to the GPU
  std::string_view text;   // "the GPU has fallen off the bus"
};

// nullptr: not in the table.
const XidMeaning* find_xid(int number);
// A fault of the hardware or the driver, which no other program cures.
bool is_of_machine(const XidMeaning& xid);
// "hardware, the node is to be left out"; "the program".
std::string whose_fault(const XidMeaning& xid);
// "Xid 79: the GPU has fallen off the bus (fault: hardware, …)"; "Xid 999"
// where the table has none.
std::string xid_text(int number);

}  // namespace muster
