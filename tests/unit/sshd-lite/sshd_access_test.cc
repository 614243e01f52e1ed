// SPDX-License-Identifier: Apache-2.0
// No line of an sshd_config that keeps somebody out is dropped.
#include "sshd-lite/sshd_access.h"

#include "catch.h"
#include "sshd-lite/sshd_args.h"

namespace muster {
namespace {

const SshdAccount kUser{"mpiuser", {"mpiuser", "hpc"}, false};
const SshdAccount kRoot{"root", {"root"}, true};
const SshdAccount kNobody{"", {}, false};

std::vector<std::string> unmet(const std::string& text,
                               const SshdAccount& account = kUser) {
  const auto config = parse_sshd_config(
      text, "f", [](const std::string&) { return std::vector<ConfigFile>{}; });
  REQUIRE(config);
  return unmet_limits(config->limits, account);
}

struct Row {
  const char* text;
  const SshdAccount* account;
  size_t unmet;
};

TEST_CASE("a line that keeps somebody out is obeyed, or stops the start") {
  const Row row = GENERATE(values<Row>({
      {"AllowUsers mpiuser", &kUser, 0},
      {"AllowUsers alice bob", &kUser, 1},
      {"AllowUsers mpi*", &kUser, 0},
      {"AllowUsers alice\nAllowUsers mpiuser", &kUser, 0},
      {"AllowUsers mpiuser@10.0.0.0/8", &kUser, 1},
      {"AllowUsers *", &kNobody, 1},
      {"DenyUsers alice", &kUser, 0},
      {"DenyUsers mpi?ser", &kUser, 1},
      {"DenyUsers alice@10.*", &kUser, 1},
      {"AllowGroups hpc", &kUser, 0},
      {"AllowGroups admins", &kUser, 1},
      {"DenyGroups hpc", &kUser, 1},
      {"DenyGroups admins", &kUser, 0},
      {"PermitRootLogin no", &kUser, 0},
      {"PermitRootLogin no", &kRoot, 1},
      {"permitrootlogin=no", &kRoot, 1},
      {"PermitRootLogin forced-commands-only", &kRoot, 1},
      {"PermitRootLogin yes", &kRoot, 0},
      {"PermitRootLogin prohibit-password", &kRoot, 0},
      {"PermitRootLogin without-password", &kRoot, 0},
      {"PermitRootLogin yes\nPermitRootLogin no", &kRoot, 0},
      {"PermitRootLogin no\nPermitRootLogin yes", &kRoot, 1},
      {"PubkeyAuthentication yes", &kUser, 0},
      {"PubkeyAuthentication no", &kUser, 1},
      {"AuthenticationMethods publickey", &kUser, 0},
      {"AuthenticationMethods any", &kUser, 0},
      {"AuthenticationMethods password publickey", &kUser, 0},
      {"AuthenticationMethods publickey,password", &kUser, 1},
      {"AuthenticationMethods password", &kUser, 1},
      {"ForceCommand none", &kUser, 0},
      {"ForceCommand /bin/only-this", &kUser, 1},
      {"ChrootDirectory /jail", &kUser, 1},
      {"ChrootDirectory none", &kUser, 0},
      {"AuthorizedKeysFile none", &kUser, 1},
      {"AuthorizedKeysFile .ssh/a\nAuthorizedKeysFile none", &kUser, 0},
      {"AuthorizedKeysCommand /bin/keys", &kUser, 1},
      {"AuthorizedKeysCommand none", &kUser, 0},
      {"RevokedKeys /etc/ssh/revoked", &kUser, 1},
      {"RevokedKeys none", &kUser, 0},
      {"MaxSessions 0", &kUser, 1},
      {"MaxSessions 10", &kUser, 0},
      {"PubkeyAuthOptions verify-required", &kUser, 1},
      {"RefuseConnection yes", &kUser, 1},
      {"Match User alice\nForceCommand /bin/x", &kUser, 1},
      {"Match Address 10.0.0.0/8\nPermitRootLogin no", &kRoot, 1},
      {"Match User git\nX11Forwarding no", &kUser, 0},
      {"Match User git\nAuthorizedKeysFile /git", &kUser, 1},
      {"Match all\nPort 7", &kUser, 0},
      {"SomethingNew yes", &kUser, 1},
      {"IgnoreUnknown x", &kUser, 1},
  }));
  INFO(row.text);
  const auto sentences = unmet(row.text, *row.account);
  CHECK(sentences.size() == row.unmet);
  for (const auto& one : sentences) CHECK(one.starts_with("f:"));
}

TEST_CASE("configurations as distributions and operators ship them start") {
  // Debian 12, with what its package writes.
  const char* const debian =
      "Include /etc/ssh/sshd_config.d/*.conf\n"
      "KbdInteractiveAuthentication no\nUsePAM yes\nX11Forwarding yes\n"
      "PrintMotd no\nAcceptEnv LANG LC_*\n"
      "Subsystem sftp /usr/lib/openssh/sftp-server\n";
  // RHEL 9: the file, 50-redhat.conf and its crypto policy.
  const char* const rhel =
      "SyslogFacility AUTHPRIV\nChallengeResponseAuthentication no\n"
      "GSSAPIAuthentication yes\nGSSAPICleanupCredentials no\nUsePAM yes\n"
      "X11Forwarding yes\nPrintMotd no\n"
      "Ciphers aes256-gcm@openssh.com\nMACs hmac-sha2-256\n"
      "GSSAPIKexAlgorithms gss-nistp256-sha256-\nKexAlgorithms "
      "curve25519-sha256\n"
      "HostKeyAlgorithms ecdsa-sha2-nistp256\nPubkeyAcceptedAlgorithms "
      "ssh-ed25519\n"
      "CASignatureAlgorithms ssh-ed25519\nRequiredRSASize 2048\n"
      "AuthorizedKeysFile .ssh/authorized_keys\nSubsystem sftp internal-sftp\n";
  const char* const mpi_operator =
      "PidFile /home/mpiuser/sshd.pid\nHostKey /home/mpiuser/.ssh/id_rsa\n"
      "StrictModes no\nPort 2222\nLoginGraceTime 0\nUsePAM no\n"
      "PermitRootLogin yes\nClientAliveInterval 30\nMaxStartups 10:30:100\n";
  for (const char* text : {debian, rhel, mpi_operator}) {
    CHECK(unmet(text, kUser).empty());
    CHECK(unmet(text, kRoot).empty());
    CHECK(unmet(text, kNobody).empty());
  }
}

TEST_CASE("keywords are known once, in small letters") {
  for (const char* word : {"port", "hostkey", "include", "match", "strictmodes",
                           "allowusers", "permitrootlogin", "usepam",
                           "subsystem", "ciphers", "persourcepenalties"}) {
    INFO(word);
    CHECK(keyword_kind(word) != KeywordKind::kUnknown);
  }
  CHECK(keyword_kind("allowusers") == KeywordKind::kRestricts);
  CHECK(keyword_kind("usepam") == KeywordKind::kHarmless);
  CHECK(keyword_kind("nosuchword") == KeywordKind::kUnknown);
}

}  // namespace
}  // namespace muster
