// SPDX-License-Identifier: Apache-2.0
// The proof by which a peer shows the job key before the server spends a
// process on it. The server's version line ends with a nonce; a peer that knows
// the key answers, in front of its own version line, with the HMAC-SHA256 of
// that nonce under a secret made from the key's text. A proof only buys a place
// while strangers fill the queue: the login stays the same. A listener learns
// nothing for the next proof. Refuses nothing. Pure, except new_nonce(), which
// asks the kernel.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

// A whole proof, CR LF included: one length, so that no code has to parse. A
// longer one could outgrow the shortest version line and its key exchange
// packet, and the server would wait for bytes that never come.
inline constexpr size_t kProofSize = 160;

std::string new_nonce();  // 32 hexadecimal digits; "" if the kernel has none

// "muster_0.9.0 door=…"; without the second word if there is no nonce.
std::string server_software(const std::string& nonce);
// The line as the server sends it.
std::string server_version_line(const std::string& nonce);
// The nonce that a client finds in it, if the server is muster.
std::optional<std::string> nonce_of(std::string_view version_line);

// From the private key's text; ignores line ends and text around the armour.
// "": no such text.
std::string door_secret(std::string_view key_text);

std::string proof_line(const std::string& secret, std::string_view nonce);
[[nodiscard]] bool looks_like_proof(std::string_view bytes);
[[nodiscard]] bool is_proof(std::string_view line, const std::string& secret,
                            std::string_view nonce);

}  // namespace muster
