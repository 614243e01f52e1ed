// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/verdict_event.h"

#include <unistd.h>

#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fd.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "job/kubectl.h"

namespace muster {

namespace {

constexpr const char* kAccount =
    "/var/run/secrets/kubernetes.io/serviceaccount";
// The API server takes 1024 bytes of a message.
constexpr size_t kMaxMessage = 1000;

struct Kind {
  std::string_view word;
  const char* api_version;
  const char* kind;
};

constexpr std::array<Kind, 6> kKinds = {{
    {"pod", "v1", "Pod"},
    {"job", "batch/v1", "Job"},
    {"mpijob", "kubeflow.org/v2beta1", "MPIJob"},
    {"trainjob", "trainer.kubeflow.org/v1alpha1", "TrainJob"},
    {"jobset", "jobset.x-k8s.io/v1alpha2", "JobSet"},
    {"leaderworkerset", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"},
}};

bool is_plain(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= 253 &&
         text.find_first_not_of(
             std::string("abcdefghijklmnopqrstuvwxyz0123456789-") +
             std::string(more)) == std::string_view::npos;
}

// "worker_lost" -> "WorkerLost", the form of events' reasons.
std::string camel_case(std::string_view word) {
  std::string out;
  bool upper = true;
  for (const char c : word) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper
               ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
               : c;
    upper = false;
  }
  return out;
}

std::string value(const Environment& env, const char* name) {
  const std::string* found = find_env(env, name);
  return found != nullptr ? *found : std::string();
}

}  // namespace

Result<EventObject> parse_event_object(std::string_view text) {
  const auto parts = split(text, '/');
  EventObject out;
  for (const Kind& kind : kKinds) {
    if (to_lower(parts[0]) != kind.word) continue;
    out.api_version = kind.api_version;
    out.kind = kind.kind;
  }
  const bool whole = (parts.size() == 2 || parts.size() == 3) &&
                     is_plain(parts[1], ".") &&
                     (parts.size() == 2 || is_plain(parts[2], ""));
  if (out.kind.empty() || !whole) {
    return fail(Error{"usage",
                      "bad value of --event",
                      "'" + std::string(text) + "'",
                      {},
                      "off, auto, or what the event is about: mpijob/NAME, "
                      "trainjob/NAME, job/NAME, jobset/NAME, pod/NAME, with "
                      "/UID behind it where it is known."});
  }
  out.name = parts[1];
  if (parts.size() == 3) out.uid = parts[2];
  return out;
}

EventObject own_pod(const Environment& env, const std::string& hostname,
                    std::string_view mountinfo) {
  constexpr size_t kUid = 36;
  constexpr std::string_view kPods = "/pods/";
  EventObject out{"v1", "Pod", value(env, "POD_NAME"), {}};
  if (out.name.empty()) out.name = hostname;
  for (size_t at = mountinfo.find(kPods); at != std::string_view::npos;
       at = mountinfo.find(kPods, at + 1)) {
    const std::string_view rest = mountinfo.substr(at + kPods.size());
    const std::string_view uid = rest.substr(0, kUid);
    if (rest.size() > kUid && rest[kUid] == '/' && is_plain(uid, "") &&
        std::count(uid.begin(), uid.end(), '-') == 4) {
      out.uid = uid;
      break;
    }
  }
  return out;
}

std::string event_json(const EventObject& object, const std::string& name_space,
                       const Verdict& verdict, int64_t now_ns) {
  std::string now;
  append_timestamp(now, now_ns / 1'000'000'000 * 1'000'000'000);
  now.replace(now.find('.'), std::string::npos, "Z");
  nlohmann::ordered_json about = {{"apiVersion", object.api_version},
                                  {"kind", object.kind},
                                  {"namespace", name_space},
                                  {"name", object.name}};
  if (!object.uid.empty()) about["uid"] = object.uid;
  const std::string message = one_line(verdict.headline, kMaxMessage - 64) +
                              " (" + verdict.code + ", exit code " +
                              std::to_string(verdict.exit_code) +
                              (verdict.retryable ? ", worth a retry)" : ")");
  const nlohmann::ordered_json event = {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", {{"generateName", "muster-"}, {"namespace", name_space}}},
      {"involvedObject", std::move(about)},
      {"reason", camel_case(verdict.exit_class)},
      {"message", message},
      {"type", "Warning"},
      {"source", {{"component", "muster"}}},
      {"firstTimestamp", now},
      {"lastTimestamp", now},
      {"count", 1}};
  return event.dump(-1, ' ', false,
                    nlohmann::ordered_json::error_handler_t::replace);
}

Environment event_environment(Environment env, const std::string& name_space,
                              const std::string& root) {
  const std::string account = root + kAccount;
  std::string host = value(env, "KUBERNETES_SERVICE_HOST");
  std::string port = value(env, "KUBERNETES_SERVICE_PORT_HTTPS");
  if (port.empty()) port = value(env, "KUBERNETES_SERVICE_PORT");
  const std::string token = account + "/token";
  if (host.empty() || port.empty() || name_space.empty() ||
      ::access(token.c_str(), R_OK) != 0) {
    return {};
  }
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  set_env(env, "KUBEFLOW_TRAINER_SERVER_URL",
          "https://" + host + ":" + port + "/api/v1/namespaces/" + name_space +
              "/events");
  set_env(env, "KUBEFLOW_TRAINER_SERVER_CA_CERT", account + "/ca.crt");
  set_env(env, "KUBEFLOW_TRAINER_SERVER_TOKEN", token);
  return env;
}

VerdictEvent::VerdictEvent(Loop& loop, Reaper& reaper, std::string agent)
    : child_(loop, reaper, std::move(agent)), timer_(loop) {}

void VerdictEvent::post(const std::string& option, const Verdict& verdict,
                        const std::string& hostname,
                        std::function<void()> done) {
  done_ = std::move(done);
  if (option == "off" || !verdict.failed()) return finished({});
  const std::string name_space = own_namespace();
  Environment env = event_environment(current_environment(), name_space);
  if (env.empty()) {
    return finished(
        "this pod has no API server, or no service account's token");
  }
  EventObject object;
  if (option == "auto") {
    object =
        own_pod(env, hostname, read_file("/proc/self/mountinfo").value_or(""));
  } else if (auto named = parse_event_object(option)) {
    object = std::move(*named);
  } else {
    return finished(named.error().text());
  }
  timer_.start(kLimit, [this] {
    child_.stop();
    finished("the API server did not answer in time");
  });
  child_.start(event_json(object, name_space, verdict, realtime_ns()),
               std::move(env),
               [this](const std::string& problem) { finished(problem); });
}

void VerdictEvent::finished(const std::string& problem) {
  timer_.cancel();
  if (!problem.empty()) log::debug("no event was created: {}", problem);
  if (const auto done = std::exchange(done_, nullptr)) done();
}

}  // namespace muster
