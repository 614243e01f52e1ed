// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/door_proof.h"

#include "catch.h"

using namespace muster;

TEST_CASE("a version line tells its nonce, and foreign ones have none") {
  const std::string nonce = new_nonce();
  REQUIRE(nonce.size() == 32);
  CHECK(new_nonce() != nonce);
  const std::string line = server_version_line(nonce);
  CHECK(line.size() < 255);
  CHECK(nonce_of(line) == nonce);
  CHECK_FALSE(nonce_of(server_version_line("")));
  for (const char* other :
       {"", "SSH-2.0-OpenSSH_9.2 door=00000000000000000000000000000000\r\n",
        "SSH-2.0-muster_1 door=\r\n",
        "SSH-2.0-muster_1 door=0000000000000000000000000000000G\r\n",
        "SSH-2.0-muster_1 door=000000000000000000000000000000000\r\n"}) {
    CHECK_FALSE(nonce_of(other));
  }
}

TEST_CASE("the secret is that of the key's text, however it is wrapped") {
  const std::string key = "-----BEGIN X-----\nabc\ndef\n-----END X-----\n";
  const std::string secret = door_secret(key);
  CHECK(secret.size() == 64);
  CHECK(door_secret("note\n-----BEGIN X-----\r\nabcdef\r\n-----END X-----") ==
        secret);
  CHECK(door_secret("-----BEGIN X-----\nabcdeg\n-----END X-----") != secret);
  CHECK(door_secret("").empty());
  CHECK(door_secret("-----BEGIN X-----\nabc").empty());
}

TEST_CASE("a proof holds for its secret and its nonce only") {
  const std::string proof = proof_line("secret", "nonce");
  CHECK(proof.size() == kProofSize);
  CHECK(proof.ends_with("\r\n"));
  CHECK(looks_like_proof(proof));
  CHECK(looks_like_proof(proof + "SSH-2.0-x\r\n"));
  CHECK_FALSE(looks_like_proof(proof.substr(1)));
  CHECK(is_proof(proof, "secret", "nonce"));
  CHECK_FALSE(is_proof(proof, "secret", "nonc"));
  CHECK_FALSE(is_proof(proof, "secre", "nonce"));
  CHECK_FALSE(is_proof(proof_line("", "nonce"), "", "nonce"));
  CHECK_FALSE(is_proof(proof_line("secret", ""), "secret", ""));
  std::string damaged = proof;
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  CHECK_FALSE(is_proof(damaged, "secret", "nonce"));
}
