// SPDX-License-Identifier: Apache-2.0
// `muster ssh`: runs one command on one worker, with ssh's command line. Under
// a launcher ($MUSTER_LAUNCHER_SOCKET) it becomes `muster-agent ssh`, which
// goes through the launcher's own channel; alone it connects by itself with the
// job's key and accepts only a server that has that key too. Exits with the
// command's code, 128+N if signal N killed it, 255 with a sentence if the
// connection failed. SIGINT, SIGTERM and SIGHUP go to the command; a second one
// ends this client. Refuses: passwords, prompts, ssh_config except its Port,
// shells.
#pragma once

#include <string>
#include <vector>

namespace muster {

// `args` without argv[0].
int ssh_main(const std::vector<std::string>& args);

}  // namespace muster
