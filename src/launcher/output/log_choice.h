// SPDX-License-Identifier: Apache-2.0
// The form of ranks' lines and of muster's own messages, chosen by the user's
// options and by stdout's kind.
#pragma once

#include "base/result.h"
#include "job/mpirun_line.h"
#include "launcher/options/options.h"
#include "launcher/output/rank_output.h"

namespace muster {

// "auto": a terminal gets tagged text; a drop-in mpirun prints as mpirun does,
// tagged if stdout is the container's own log; else JSON records.
OutputOptions choose_output(const LaunchOptions& options);

// The labels that an mpirun line asks for, as this version of its MPI has them.
MpiTags tags_of(const MpirunLine& line, const std::string& version);

// --log-rotate "1G,8", "off"; "": the default. Error code "usage".
Result<LogRotation> parse_rotation(const std::string& text);

// Hides the secrets of this launch. Error code "usage": a pattern is wrong.
Result<Masker> make_masker(const LaunchOptions& options,
                           const Environment& env);

// Level and form of muster's own messages.
void configure_log(const LaunchOptions& options, const std::string& host);

}  // namespace muster
