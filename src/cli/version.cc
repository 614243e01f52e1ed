// SPDX-License-Identifier: Apache-2.0
#include "cli/version.h"

#include <libssh/libssh.h>

#include <cstdio>

#include "wire/frame.h"

namespace muster {

int version_main(const std::vector<std::string>& args) {
  const bool asks =
      args.size() == 2 && (args[0] == "-o" || args[0] == "--output");
  if (args.empty() || (asks && args[1] == "text")) {
    std::printf("muster %s\n", MUSTER_VERSION);
    return 0;
  }
  if (!asks || args[1] != "json") {
    std::fprintf(stderr,
                 "muster version: usage is muster version [-o text|json]\n");
    return 2;
  }
  std::printf(
      "{\"muster\":\"%s\",\"protocol\":%d,\"protocol_min\":%d,"
      "\"libssh\":\"%s\",\"compiler\":\"%s\"}\n",
      MUSTER_VERSION, int{wire::kProtocol}, int{wire::kProtocolMin},
      ssh_version(0), __VERSION__);
  return 0;
}

}  // namespace muster
