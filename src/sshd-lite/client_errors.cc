// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/client_errors.h"

#include "base/printable.h"
#include "base/text.h"

namespace muster::ssh_error {

Error no_banner(Milliseconds waited) {
  return Error{"ssh_banner",
               "no SSH banner",
               "the TCP connection opened, but the peer said nothing for " +
                   human_duration_ms(waited.count()),
               {},
               "a mesh sidecar or proxy that takes connections for the pod is "
               "the usual cause: exclude the SSH port from it (for Istio "
               "traffic.sidecar.istio.io/excludeInboundPorts)"};
}

Error foreign(std::string_view first_bytes) {
  return Error{"ssh_foreign",
               "the other side does not speak SSH",
               "it said \"" + printable(first_bytes, 60) + "\"",
               {},
               "another program or a proxy answers on this port: check the "
               "worker's port (--port) and any sidecar"};
}

Error closed_early() {
  return Error{"ssh_closed",
               "connection closed before an SSH banner came",
               "the other side accepted and hung up",
               {},
               "the worker is starting or overloaded, or a proxy has no "
               "backend for this port yet"};
}

Error wrong_host_key(const std::string& expected, const std::string& found,
                     const std::string& banner) {
  return Error{"ssh_hostkey",
               "this is not a worker of this job",
               "its host key is " + found + " (" + printable(banner, 40) +
                   "), the job's key is " + expected,
               {},
               "another sshd answers at this address: the node's own "
               "(hostNetwork), a pod of another job, or a stale DNS entry"};
}

Error key_exchange(const std::string& why) {
  return Error{"ssh_kex",
               "SSH key exchange failed",
               printable(why, 200),
               {},
               "the two sides may share no algorithm (FIPS mode on one of "
               "them), or something cut the connection"};
}

Error handshake_timeout(Milliseconds waited, const std::string& stage) {
  return Error{
      "ssh_kex",
      "SSH handshake took too long",
      "stuck at " + stage + " after " + human_duration_ms(waited.count()),
      {},
      "the worker's pod may be out of CPU (check its cpu limit)"};
}

Error not_authorized(const std::string& fingerprint, const std::string& why) {
  return Error{"ssh_auth",
               "the worker refused the job key",
               fingerprint + " is not in its authorized_keys" +
                   (why.empty() ? "" : " (" + printable(why, 120) + ")"),
               {},
               "launcher and worker must mount the same Secret; one of them "
               "may still have the Secret of an earlier job"};
}

Error command_refused(const std::string& command, const std::string& why) {
  if (command.find("muster-agent") == std::string::npos) {  // by muster ssh
    return Error{"ssh_exec",
                 why.empty()
                     ? "the server refused the command without saying why"
                     : printable(why, 400),
                 {},
                 {},
                 {}};
  }
  return Error{"ssh_exec",
               "the worker would not start the agent",
               why.empty() ? "the server refused without saying why"
                           : printable(why, 400),
               {},
               why.empty() ? "the server may be an OpenSSH sshd without "
                             "muster-agent in its image"
                           : ""};
}

Error lost(const std::string& why) {
  return Error{"ssh_lost",
               "the SSH session broke off",
               why.empty() ? "the other side closed it without an exit status"
                           : printable(why, 200),
               {},
               {}};
}

}  // namespace muster::ssh_error
