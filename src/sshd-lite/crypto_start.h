// SPDX-License-Identifier: Apache-2.0
// Starts OpenSSL, once in a process, with the parts that it needs. OpenSSL
// knows some 300 algorithms by name and makes tables of them on first use. Does
// not choose an algorithm or a provider: OpenSSL reads the platform's
// configuration as usual (FIPS).
#pragma once

namespace muster {

// For a program that logs in once and ends: leaves out the tables of names from
// before OpenSSL 3, the texts of its errors, which no user sees, and the
// clean-up at the end. Call it before any other OpenSSL function.
void start_crypto_for_one_login();

// For pid 1 of a worker: makes the tables that every login needs, so that the
// connection processes that it forks share them. Draws no random number.
void start_crypto_for_many_logins();

}  // namespace muster
