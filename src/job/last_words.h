// SPDX-License-Identifier: Apache-2.0
// Ends a process on an uncaught exception: prints a sentence, and exits with
// the code of an internal error.
#pragma once

namespace muster {

// Once, first in main().
void end_in_a_sentence();

}  // namespace muster
