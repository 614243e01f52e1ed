// SPDX-License-Identifier: Apache-2.0
// Rewrites PEM keys on NIST curves, as operators and `muster keygen` write them
// (SEC1 and PKCS#8), in OpenSSH's format. libssh reads that one by itself; for
// PEM it asks OpenSSL 3, which loads every decoder it has: about 1 ms of CPU of
// a whole login, by itself more (bench/README.md). Only moves bytes: no
// arithmetic, no cryptography. Refuses nothing: for a key that it does not know
// in every detail it returns nullopt, and libssh reads the key. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

std::optional<std::string> openssh_form(std::string_view pem);

}  // namespace muster
