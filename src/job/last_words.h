// SPDX-License-Identifier: Apache-2.0
// What a process says when an exception reaches nobody: a sentence, and the
// exit code of an internal error.
#pragma once

namespace muster {

// Once, first in main().
void end_in_a_sentence();

}  // namespace muster
