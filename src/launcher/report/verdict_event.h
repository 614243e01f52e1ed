// SPDX-License-Identifier: Apache-2.0
// VerdictEvent: the verdict's sentence as an Event of Kubernetes, which
// outlives the launcher's pod (docs/exit-codes.md). Only if --event is given, a
// service account's token is mounted, and the job failed. A child sends it
// (post_child.h), and the launcher waits 2 s at most. If the account may not
// create events, a message at the level debug says so. Loop thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/reaper.h"
#include "base/result.h"
#include "base/spawn.h"
#include "diagnosis/verdict.h"
#include "launcher/report/post_child.h"

namespace muster {

// The object of an Event.
struct EventObject {
  std::string api_version;
  std::string kind;  // "MPIJob"
  std::string name;
  std::string uid;  // may be empty: kubectl describe asks for it, events do not
};

// "mpijob/pi", "mpijob/pi/UID". Error code "usage".
Result<EventObject> parse_event_object(std::string_view text);

// This pod: its name is POD_NAME, else its host name; its UID comes from the
// paths that the kubelet mounts.
EventObject own_pod(const Environment& env, const std::string& hostname,
                    std::string_view mountinfo);

// The body of a POST to .../namespaces/NAMESPACE/events. Pure.
std::string event_json(const EventObject& object, const std::string& name_space,
                       const Verdict& verdict, int64_t now_ns);

// `env` with the variables that `muster-agent post-status` needs to reach the
// API server of this pod; empty: no server, or no token.
Environment event_environment(Environment env, const std::string& name_space,
                              const std::string& root = {});

class VerdictEvent {
 public:
  VerdictEvent(Loop& loop, Reaper& reaper, std::string agent);

  // `option`: of --event. `done` follows at once or within kLimit.
  void post(const std::string& option, const Verdict& verdict,
            const std::string& hostname, std::function<void()> done);

  static constexpr Milliseconds kLimit{2'000};

 private:
  void finished(const std::string& problem);

  PostChild child_;
  Timer timer_;
  std::function<void()> done_;
};

}  // namespace muster
