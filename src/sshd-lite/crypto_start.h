// SPDX-License-Identifier: Apache-2.0
// The start of OpenSSL, once in a process, and how much of it. OpenSSL knows
// some 300 algorithms by name and makes tables of them when the first is asked
// for. Nothing here chooses an algorithm or a provider: OpenSSL reads the
// platform's configuration as usual (FIPS).
#pragma once

namespace muster {

// For a program that logs in once and ends: leaves out the tables of names from
// before OpenSSL 3, the texts of its errors, which no user sees, and tidying
// up at the end. Before anything else of OpenSSL.
void start_crypto_for_one_login();

// For pid 1 of a worker: makes the tables that every login needs, so that the
// connection processes that it forks have them already, in memory they share.
// No random number is drawn.
void start_crypto_for_many_logins();

}  // namespace muster
