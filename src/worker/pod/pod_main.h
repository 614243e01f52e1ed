// SPDX-License-Identifier: Apache-2.0
// The two command lines that make a process pid 1 of a worker pod: our own and
// OpenSSH's. Both end up in the same PodWorker.
#pragma once

#include <string>
#include <vector>

namespace muster {

// `muster worker [options]`; `args` without the command name. Returns the exit
// code of the pod; see pod_worker.h.
int worker_main(const std::vector<std::string>& args);

// The same as `sshd -De -f FILE …`, for pods whose command is OpenSSH's.
int sshd_main(const std::vector<std::string>& args);

}  // namespace muster
