// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/crypto_start.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

namespace muster {

namespace {

// A query for one algorithm of a kind makes the table of its kind. It does not
// matter which one, nor whether it exists: a platform in FIPS mode may have
// none of that name. Ciphers come first: for each of them OpenSSL 3.0 goes
// through all names that it has until then.
void make_cipher_table() {
  ::EVP_CIPHER_free(::EVP_CIPHER_fetch(nullptr, "AES-128-GCM", nullptr));
  ::ERR_clear_error();
}

}  // namespace

void start_crypto_for_one_login() {
  ::OPENSSL_init_crypto(
      OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS |
          OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS | OPENSSL_INIT_NO_ATEXIT,
      nullptr);
  make_cipher_table();
}

void start_crypto_for_many_logins() {
  make_cipher_table();
  ::EVP_MD_free(::EVP_MD_fetch(nullptr, "SHA256", nullptr));
  ::EVP_KDF_free(::EVP_KDF_fetch(nullptr, "SSHKDF", nullptr));
  ::EVP_RAND_free(::EVP_RAND_fetch(nullptr, "CTR-DRBG", nullptr));
  ::EVP_KEYMGMT_free(::EVP_KEYMGMT_fetch(nullptr, "EC", nullptr));
  ::EVP_KEYEXCH_free(::EVP_KEYEXCH_fetch(nullptr, "X25519", nullptr));
  ::EVP_SIGNATURE_free(::EVP_SIGNATURE_fetch(nullptr, "ECDSA", nullptr));
  ::ERR_clear_error();
}

}  // namespace muster
