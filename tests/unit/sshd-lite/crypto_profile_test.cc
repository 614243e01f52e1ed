// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/crypto_profile.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "base/fd.h"
#include "catch.h"

using namespace muster;

TEST_CASE("the FIPS profile names nothing that FIPS does not approve") {
  const CryptoProfile profile = crypto_profile(true);
  const std::string all = std::string(profile.key_exchanges) + "," +
                          profile.ciphers + "," + profile.macs;
  CHECK(all.find("25519") == std::string::npos);
  CHECK(all.find("chacha") == std::string::npos);
}

TEST_CASE("no profile offers what is weak or dear") {
  const CryptoProfile profile = crypto_profile(GENERATE(true, false));
  const std::string all = std::string(profile.key_exchanges) + "," +
                          profile.ciphers + "," + profile.macs;
  for (const char* word : {"diffie-hellman", "sha1", "cbc", "md5", "none"}) {
    CHECK(all.find(word) == std::string::npos);
  }
}

TEST_CASE("the kernel's switch is believed") {
  char path[] = "/tmp/muster-test-fips-XXXXXX";
  REQUIRE(::mkdtemp(path) != nullptr);
  const std::string root = path;
  const std::string directory = root + "/proc/sys/crypto";
  std::filesystem::create_directories(directory);
  CHECK_FALSE(platform_is_fips(root));
  REQUIRE(write_file_atomically(directory + "/fips_enabled", "0\n"));
  CHECK_FALSE(platform_is_fips(root));
  REQUIRE(write_file_atomically(directory + "/fips_enabled", "1\n"));
  CHECK(platform_is_fips(root));
  std::filesystem::remove_all(root);
}

TEST_CASE("this libssh is new enough, and says which it is") {
  const auto version = check_libssh();
  REQUIRE(version);
  CHECK(version->starts_with("0."));
}
