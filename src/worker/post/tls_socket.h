// SPDX-License-Identifier: Apache-2.0
// TlsSocket: one verified TLS connection over a connected socket, by the
// image's own libssl.so.3, opened at run time: a program that starts often
// must not pay for loading it. Blocks; the caller's deadline is an alarm().
// Refuses a peer whose certificate the given authority did not sign or that is
// for another name. For a short-lived process: nothing is unloaded.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

class TlsSocket {
 public:
  // `authority`: a PEM file; empty: those of the system. Error code "tls".
  static Result<TlsSocket> connect(int fd, const std::string& host,
                                   const std::string& authority);
  // All of it, or an error.
  Status write(std::string_view bytes);
  // The first line, without its end; at most 4 KiB, "" if none came.
  std::string read_line();

 private:
  explicit TlsSocket(void* ssl) : ssl_(ssl) {}
  void* ssl_;
};

}  // namespace muster
