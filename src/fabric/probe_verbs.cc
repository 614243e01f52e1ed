// SPDX-License-Identifier: Apache-2.0
// The verbs probe. libibverbs is opened at run time in a forked child, which
// writes one line per result and may crash or hang without harm: the parent
// reads until a deadline, then kills and reaps it. A step that was begun and
// not ended is what it died of.
// Lines: "begin HCA", "fail HCA STEP ERRNO", "gid HCA PORT INDEX 0|1",
// "ok HCA".
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "fabric/collect.h"
#include "fabric/collect_parts.h"
#include "fabric/verbs_library.h"

namespace muster {

namespace {

#ifdef MUSTER_HAS_VERBS

void say(int fd, const std::string& line) {
  static_cast<void>(write_all(fd, line + "\n"));
}

// An address handle to itself tells whether a GID works in this namespace.
void try_gids(const VerbsLibrary& verbs, ibv_context* context, ibv_pd* pd,
              const FabricHca& hca, int out) {
  for (const FabricPort& port : hca.ports) {
    if (!port.gids) continue;
    for (const FabricGid& gid : *port.gids) {
      ibv_ah_attr attributes{};
      const auto number = static_cast<uint8_t>(port.number);
      attributes.port_num = number;
      attributes.is_global = 1;
      attributes.grh.sgid_index = static_cast<uint8_t>(gid.index);
      attributes.grh.hop_limit = 64;
      const bool made = verbs.query_gid(context, number, gid.index,
                                        &attributes.grh.dgid) == 0 &&
                        verbs.create_ah(pd, &attributes) != nullptr;
      say(out, "gid " + hca.name + " " + std::to_string(port.number) + " " +
                   std::to_string(gid.index) + (made ? " 1" : " 0"));
    }
  }
}

// The name of the first failing step; empty if all work. errno says why.
std::string try_steps(const VerbsLibrary& verbs, ibv_device* device,
                      const FabricHca& hca, int out) {
  ibv_context* context = verbs.open_device(device);
  if (context == nullptr) return "open";
  ibv_pd* pd = verbs.alloc_pd(context);
  if (pd == nullptr) return "pd";
  ibv_cq* cq = verbs.create_cq(context, 16, nullptr, nullptr, 0);
  if (cq == nullptr) return "cq";
  static char page[4096];
  if (verbs.reg_mr(pd, page, sizeof page,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) ==
      nullptr) {
    return "mr";
  }
  if (hca.driver == "efa") return "";  // no RC queue pairs there
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = cq;
  wanted.cap = {16, 16, 1, 1, 0};
  wanted.qp_type = IBV_QPT_RC;
  ibv_qp* qp = verbs.create_qp(pd, &wanted);
  if (qp == nullptr) return "qp";
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = 1;
  const int wrong = verbs.modify_qp(
      qp, &init,
      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (wrong != 0) {
    errno = wrong;
    return "init";
  }
  try_gids(verbs, context, pd, hca, out);
  return "";
}

[[noreturn]] void child(const PodFabric& pod, int out) {
  VerbsLibrary verbs{};
  if (!load_verbs(verbs)) ::_exit(0);
  int count = 0;
  ibv_device** devices = verbs.get_device_list(&count);
  for (int i = 0; devices != nullptr && i < count; ++i) {
    const std::string name = verbs.get_device_name(devices[i]);
    for (const FabricHca& hca : *pod.hcas) {
      if (hca.name != name || no(hca.device)) continue;
      say(out, "begin " + name);
      errno = 0;
      const std::string failed = try_steps(verbs, devices[i], hca, out);
      const int error = errno;
      say(out, failed.empty() ? "ok " + name
                              : "fail " + name + " " + failed + " " +
                                    std::to_string(error));
    }
  }
  ::_exit(0);
}

#else

[[noreturn]] void child(const PodFabric&, int) { ::_exit(0); }

#endif

FabricHca* find_hca(PodFabric& pod, std::string_view name) {
  for (FabricHca& hca : *pod.hcas) {
    if (hca.name == name) return &hca;
  }
  return nullptr;
}

void set_gid(FabricHca& hca, int64_t number, int64_t index, bool usable) {
  for (FabricPort& port : hca.ports) {
    if (port.number != number || !port.gids) continue;
    for (FabricGid& gid : *port.gids) {
      if (gid.index == index) gid.usable = usable;
    }
  }
}

void apply(PodFabric& pod, std::string_view line) {
  const auto words = split_words(line);
  FabricHca* hca = words.size() < 2 ? nullptr : find_hca(pod, words[1]);
  if (hca == nullptr) return;
  if (words[0] == "begin") {
    hca->error = "the probe died here";
  } else if (words[0] == "ok") {
    hca->error.clear();
    hca->usable = true;
  } else if (words[0] == "fail" && words.size() == 4) {
    hca->usable = false;
    hca->fails_at = words[2];
    const auto number = parse_integer(words[3]);
    const char* name =
        number ? ::strerrorname_np(static_cast<int>(*number)) : nullptr;
    hca->error = name == nullptr ? std::string(words[3]) : name;
  } else if (words[0] == "gid" && words.size() == 5) {
    set_gid(*hca, parse_integer(words[2]).value_or(-1),
            parse_integer(words[3]).value_or(-1), words[4] == "1");
  }
}

std::string read_until_deadline(int fd) {
  using Clock = std::chrono::steady_clock;
  const auto deadline =
      Clock::now() + std::chrono::milliseconds(kProbeDeadlineMs);
  std::string text;
  char chunk[4096];
  while (text.size() < (1 << 20)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - Clock::now());
    pollfd wait{fd, POLLIN, 0};
    if (left.count() <= 0) break;
    const int ready = ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n <= 0) break;
    text.append(chunk, static_cast<size_t>(n));
  }
  return text;
}

}  // namespace

void probe_verbs(PodFabric& pod) {
  if (!yes(pod.uverbs) || !pod.hcas || pod.hcas->empty()) return;
  auto pipe = make_pipe();
  if (!pipe) return;
  const pid_t pid = ::fork();
  if (pid < 0) return;
  if (pid == 0) child(pod, pipe->write.get());
  pipe->write.reset();
  const std::string text = read_until_deadline(pipe->read.get());
  ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  for (const auto line : split(text, '\n')) apply(pod, line);
}

}  // namespace muster
