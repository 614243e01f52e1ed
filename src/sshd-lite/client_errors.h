// SPDX-License-Identifier: Apache-2.0
// The sentences of a client that could not get its session: what happened and
// what outside of muster usually causes it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/result.h"

namespace muster::ssh_error {

Error no_banner(Milliseconds waited);
Error foreign(std::string_view first_bytes);
Error closed_early();
Error wrong_host_key(const std::string& expected, const std::string& found,
                     const std::string& banner);
Error key_exchange(const std::string& why);
Error handshake_timeout(Milliseconds waited, const std::string& stage);
Error not_authorized(const std::string& fingerprint, const std::string& why);
// `why`: the server's own words; empty: it gave none.
Error command_refused(const std::string& command, const std::string& why);
Error lost(const std::string& why);

}  // namespace muster::ssh_error
