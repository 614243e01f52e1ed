// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/status.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "diagnosis/book/xid_book.h"

namespace muster {

namespace {

using Json = nlohmann::json;

// Older ones belong to killed launchers.
constexpr int64_t kFreshMs = 15'000;

template <class T>
T take(const Json& json, const char* name, T otherwise) {
  const auto found = json.find(name);
  if (found == json.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>) {
    return found->is_string() ? found->template get<T>() : otherwise;
  } else if constexpr (std::is_same_v<T, bool>) {
    return found->is_boolean() ? found->template get<T>() : otherwise;
  } else if constexpr (std::is_same_v<T, double>) {
    return found->is_number() ? found->template get<T>() : otherwise;
  } else {
    return found->is_number_integer() ? found->template get<T>() : otherwise;
  }
}

std::map<std::string, int> by_state(const JobStatus& status) {
  std::map<std::string, int> out;
  for (const RankStatus& rank : status.ranks) ++out[rank.state];
  if (status.forgotten_ranks > 0) {
    out["exited"] += static_cast<int>(status.forgotten_ranks);
  }
  return out;
}

// A command may hold a script, whose lines would look like ours.
std::string shown_command(const std::string& command) {
  constexpr size_t kMost = 300;
  return one_line(command, kMost) + (command.size() > kMost ? "…" : "");
}

std::string label(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

std::string pad(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

struct PodCounterName {
  const char* type;
  const char* json;
  const char* metric;
  const char* help;
  int64_t wire::PodCounters::*value;
  double divisor = 1;
};

constexpr PodCounterName kPodCounters[] = {
    {"counter", "cpu_us", "worker_cpu_seconds_total", "CPU time of the pod.",
     &wire::PodCounters::cpu_us, 1e6},
    {"counter", "cpu_throttled", "worker_cpu_throttled_periods_total",
     "Periods in which the CPU limit held the pod back.",
     &wire::PodCounters::cpu_throttled},
    {"counter", "cpu_stall_us", "worker_cpu_stall_seconds_total",
     "Time in which all of the pod's tasks waited for a CPU (PSI).",
     &wire::PodCounters::cpu_stall_us, 1e6},
    {"counter", "io_stall_us", "worker_io_stall_seconds_total",
     "Time in which all of the pod's tasks waited for storage (PSI).",
     &wire::PodCounters::io_stall_us, 1e6},
    {"counter", "memory_stall_us", "worker_memory_stall_seconds_total",
     "Time in which all of the pod's tasks waited for memory (PSI).",
     &wire::PodCounters::memory_stall_us, 1e6},
    {"counter", "network_received", "worker_network_receive_bytes_total",
     "Bytes that the pod's network interfaces received.",
     &wire::PodCounters::network_received},
    {"counter", "network_sent", "worker_network_transmit_bytes_total",
     "Bytes that the pod's network interfaces sent.",
     &wire::PodCounters::network_sent},
    {"counter", "rdma_received", "worker_rdma_receive_bytes_total",
     "Bytes that the RDMA ports received.", &wire::PodCounters::rdma_received},
    {"counter", "rdma_sent", "worker_rdma_transmit_bytes_total",
     "Bytes that the RDMA ports sent.", &wire::PodCounters::rdma_sent},
    {"counter", "rdma_errors", "worker_rdma_errors_total",
     "Errors, drops and retransmissions that the RDMA ports counted.",
     &wire::PodCounters::rdma_errors},
    {"counter", "gpu_busy_us", "worker_gpu_busy_seconds_total",
     "Time in which the pod's GPUs computed, added up, since ranks run.",
     &wire::PodCounters::gpu_busy_us, 1e6},
    {"counter", "gpu_slowed_us", "worker_gpu_slowdown_seconds_total",
     "Time in which heat or power held the clocks of GPUs down, added up.",
     &wire::PodCounters::gpu_slowed_us, 1e6},
    {"gauge", "gpus", "worker_gpus", "GPUs of the pod.",
     &wire::PodCounters::gpus},
    {"gauge", "gpu_percent", "worker_gpu_utilization_ratio",
     "Share of the last second in which the GPUs computed, their mean.",
     &wire::PodCounters::gpu_percent, 100},
    {"gauge", "gpu_memory_used", "worker_gpu_memory_used_bytes",
     "Memory of the pod's GPUs that is taken.",
     &wire::PodCounters::gpu_memory_used},
    {"gauge", "gpu_memory_total", "worker_gpu_memory_bytes",
     "Memory of the pod's GPUs.", &wire::PodCounters::gpu_memory_total},
};

// Numbers of a person's size: 1.2345678 CPUs are 1.235.
double rounded(double value) {
  return value < 0
             ? -1
             : static_cast<double>(static_cast<int64_t>(value * 1000 + 0.5)) /
                   1000;
}

constexpr std::pair<const char*, double PodRates::*> kRates[] = {
    {"cpus_used", &PodRates::cpu},
    {"network_received_per_second", &PodRates::network_received},
    {"network_sent_per_second", &PodRates::network_sent},
    {"rdma_received_per_second", &PodRates::rdma_received},
    {"rdma_sent_per_second", &PodRates::rdma_sent},
};

Json rates_json(const PodRates& rates) {
  Json out;
  for (const auto& [name, value] : kRates) out[name] = rounded(rates.*value);
  return out;
}

PodRates rates_from(const Json& json) {
  PodRates out;
  for (const auto& [name, value] : kRates) {
    out.*value = take<double>(json, name, -1);
  }
  return out;
}

constexpr std::pair<const char*, double RankStatus::*> kRankNumbers[] = {
    {"cpus_used", &RankStatus::cpu},
    {"cpus_used_mean", &RankStatus::cpu_mean},
    {"gpu_percent", &RankStatus::gpu_percent},
    {"gpu_percent_mean", &RankStatus::gpu_mean},
    {"lines_per_second", &RankStatus::lines_per_second},
};

constexpr std::pair<const char*, int64_t RankStatus::*> kRankCounts[] = {
    {"cpus_used_mean_ms", &RankStatus::cpu_mean_ms},
    {"memory_bytes", &RankStatus::memory_bytes},
    {"gpu_memory_used", &RankStatus::gpu_memory_used},
    {"gpu_memory_total", &RankStatus::gpu_memory_total},
    {"lines", &RankStatus::lines},
    {"progress_before_ms", &RankStatus::progress_before_ms},
};

constexpr std::pair<const char*, std::string RankStatus::*> kRankTexts[] = {
    {"host", &RankStatus::host},
    {"state", &RankStatus::state},
    {"exit", &RankStatus::exit},
    {"doing", &RankStatus::doing},
    {"last_line", &RankStatus::last_line},
    {"progress", &RankStatus::progress},
    {"progress_before", &RankStatus::progress_before},
    {"loss", &RankStatus::loss},
    {"straggler", &RankStatus::straggler},
};

Json rank_json(const RankStatus& rank) {
  Json out = {{"rank", rank.rank},
              {"pid", rank.pid},
              {"failed", rank.failed},
              {"stopped", rank.stopped},
              {"gpus", rank.gpus}};
  for (const auto& [name, text] : kRankTexts) out[name] = rank.*text;
  for (const auto& [name, count] : kRankCounts) out[name] = rank.*count;
  for (const auto& [name, value] : kRankNumbers) {
    out[name] = rounded(rank.*value);
  }
  return out;
}

RankStatus rank_from(const Json& json) {
  RankStatus out;
  out.rank = take<int>(json, "rank", -1);
  out.pid = take<int>(json, "pid", 0);
  out.failed = take<bool>(json, "failed", false);
  out.stopped = take<bool>(json, "stopped", false);
  for (const auto& [name, text] : kRankTexts) {
    out.*text = take<std::string>(json, name, "");
  }
  for (const auto& [name, count] : kRankCounts) {
    out.*count = take<int64_t>(json, name, out.*count);
  }
  for (const auto& [name, value] : kRankNumbers) {
    out.*value = take<double>(json, name, -1);
  }
  const auto gpus = json.find("gpus");
  if (gpus != json.end() && gpus->is_array()) {
    for (const Json& gpu : *gpus) {
      if (gpu.is_string()) out.gpus.push_back(gpu.get<std::string>());
    }
  }
  return out;
}

class Exposition {
 public:
  void metric(const std::string& name, const char* type, const char* help) {
    name_ = "muster_" + name;
    out_ += "# HELP " + name_ + " " + help + "\n# TYPE " + name_ + " " + type +
            "\n";
  }
  void value(const std::string& labels, double value) {
    std::string number = std::to_string(value);
    number.erase(number.find_last_not_of('0') + 1);
    if (number.ends_with('.')) number.pop_back();
    out_ += name_ + (labels.empty() ? "" : "{" + labels + "}") + " " + number +
            "\n";
  }
  std::string text() && { return std::move(out_); }

 private:
  std::string name_;
  std::string out_;
};

// One line per worker that knows the value.
void counter_metric(const JobStatus& status, Exposition& out,
                    const PodCounterName& name) {
  out.metric(name.metric, name.type, name.help);
  for (const WorkerStatus& w : status.workers) {
    const int64_t value = w.used.*name.value;
    if (value < 0) continue;
    out.value("worker=" + label(w.host),
              static_cast<double>(value) / name.divisor);
  }
}

void worker_metrics(const JobStatus& status, Exposition& out) {
  out.metric("worker_ready", "gauge", "1 while the worker's agent answers.");
  for (const WorkerStatus& w : status.workers) {
    out.value("worker=" + label(w.host), w.state == "ready" ? 1 : 0);
  }
  out.metric("worker_connect_attempts_total", "counter",
             "Connections tried to the worker.");
  for (const WorkerStatus& w : status.workers) {
    out.value("worker=" + label(w.host), w.attempts);
  }
  out.metric("worker_restarts_total", "counter",
             "Times the worker was ready, went away and was dialled again.");
  for (const WorkerStatus& w : status.workers) {
    out.value("worker=" + label(w.host), w.restarts);
  }
  out.metric("worker_memory_bytes", "gauge", "Memory used by the pod.");
  for (const WorkerStatus& w : status.workers) {
    if (w.memory_bytes < 0) continue;
    out.value("worker=" + label(w.host), static_cast<double>(w.memory_bytes));
  }
  out.metric("worker_memory_limit_bytes", "gauge", "The pod's memory limit.");
  for (const WorkerStatus& w : status.workers) {
    if (w.memory_limit < 0) continue;
    out.value("worker=" + label(w.host), static_cast<double>(w.memory_limit));
  }
  out.metric("worker_heartbeat_age_seconds", "gauge",
             "Time since the worker's agent was heard.");
  for (const WorkerStatus& w : status.workers) {
    if (w.heartbeat_age_ms < 0) continue;
    out.value("worker=" + label(w.host),
              static_cast<double>(w.heartbeat_age_ms) / 1000);
  }
  for (const PodCounterName& name : kPodCounters) {
    counter_metric(status, out, name);
  }
  out.metric("worker_gpu_xid_total", "counter",
             "Xids that NVIDIA's driver reported for the pod's GPUs.");
  for (const WorkerStatus& w : status.workers) {
    for (const wire::GpuXid& xid : w.used.xids) {
      out.value(
          "worker=" + label(w.host) + ",gpu=" +
              label(xid.uuid.empty() ? std::to_string(xid.gpu) : xid.uuid) +
              ",xid=" + label(std::to_string(xid.xid)),
          static_cast<double>(xid.count));
    }
  }
}

}  // namespace

int64_t status_interval_ms(int64_t job_ms) {
  return std::clamp<int64_t>(job_ms / 4, 250, 2'000);
}

std::string to_json(const JobStatus& status) {
  Json out = {{"status", 1},
              {"launch_id", status.launch_id},
              {"phase", status.phase},
              {"bootstrap", status.bootstrap},
              {"command", status.command},
              {"started_ns", status.started_ns},
              {"phase_started_ns", status.phase_started_ns},
              {"written_ns", status.written_ns},
              {"written_at_ms", status.written_at_ms},
              {"job_ms", status.job_ms},
              {"phase_ms", status.phase_ms},
              {"lines", status.lines},
              {"dropped_lines", status.dropped_lines},
              {"lost_output_bytes", status.lost_output_bytes},
              {"stalled_ms", status.stalled_ms},
              {"forgotten_ranks", status.forgotten_ranks},
              {"workers", Json::array()},
              {"ranks", Json::array()}};
  for (const WorkerStatus& w : status.workers) {
    out["workers"].push_back({{"host", w.host},
                              {"state", w.state},
                              {"step", w.step},
                              {"problem", w.problem},
                              {"memory_bytes", w.memory_bytes},
                              {"memory_limit", w.memory_limit},
                              {"heartbeat_age_ms", w.heartbeat_age_ms},
                              {"attempts", w.attempts},
                              {"restarts", w.restarts}});
    for (const PodCounterName& name : kPodCounters) {
      out["workers"].back()[name.json] = w.used.*name.value;
    }
    out["workers"].back().update(rates_json(w.rates));
    Json& gpus = out["workers"].back()["gpu_list"] = Json::array();
    for (const wire::GpuNow& gpu : w.used.gpu_list) {
      gpus.push_back({{"id", gpu.id},
                      {"percent", gpu.percent},
                      {"memory_used", gpu.memory_used},
                      {"memory_total", gpu.memory_total}});
    }
    Json& xids = out["workers"].back()["xids"] = Json::array();
    for (const wire::GpuXid& xid : w.used.xids) {
      xids.push_back({{"xid", xid.xid},
                      {"gpu", xid.gpu},
                      {"pci", xid.pci},
                      {"uuid", xid.uuid},
                      {"mig", xid.mig},
                      {"count", xid.count},
                      {"first_ms", xid.first_ms},
                      {"last_ms", xid.last_ms}});
    }
  }
  for (const RankStatus& r : status.ranks) {
    out["ranks"].push_back(rank_json(r));
  }
  if (status.ended) {
    out["ended"] = {{"exit_code", status.ended->exit_code},
                    {"code", status.ended->code},
                    {"text", status.ended->text}};
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<JobStatus> job_status_from_json(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || take<int>(json, "status", 0) != 1) {
    return fail(Error{"protocol",
                      "cannot read the job's status",
                      "this version of muster did not write it",
                      {},
                      {}});
  }
  JobStatus out;
  out.launch_id = take<std::string>(json, "launch_id", "");
  out.phase = take<std::string>(json, "phase", "");
  out.bootstrap = take<std::string>(json, "bootstrap", "");
  out.command = take<std::string>(json, "command", "");
  out.started_ns = take<int64_t>(json, "started_ns", 0);
  out.phase_started_ns = take<int64_t>(json, "phase_started_ns", 0);
  out.written_ns = take<int64_t>(json, "written_ns", 0);
  out.written_at_ms = take<int64_t>(json, "written_at_ms", -1);
  out.job_ms = take<int64_t>(json, "job_ms", 0);
  out.phase_ms = take<int64_t>(json, "phase_ms", 0);
  out.lines = take<uint64_t>(json, "lines", 0);
  out.dropped_lines = take<uint64_t>(json, "dropped_lines", 0);
  out.lost_output_bytes = take<uint64_t>(json, "lost_output_bytes", 0);
  out.stalled_ms = take<int64_t>(json, "stalled_ms", 0);
  out.forgotten_ranks = take<int64_t>(json, "forgotten_ranks", 0);
  const auto entries = [](const Json& in, const char* name, auto add) {
    const auto list = in.find(name);
    if (list == in.end() || !list->is_array()) return;
    for (const Json& entry : *list) {
      if (entry.is_object()) add(entry);
    }
  };
  entries(json, "workers", [&](const Json& w) {
    out.workers.push_back({take<std::string>(w, "host", ""),
                           take<std::string>(w, "state", ""),
                           take<std::string>(w, "step", ""),
                           take<std::string>(w, "problem", ""),
                           take<int64_t>(w, "memory_bytes", -1),
                           take<int64_t>(w, "memory_limit", -1),
                           take<int64_t>(w, "heartbeat_age_ms", -1),
                           take<int>(w, "attempts", 0),
                           take<int>(w, "restarts", 0),
                           {},
                           rates_from(w)});
    for (const PodCounterName& name : kPodCounters) {
      out.workers.back().used.*name.value = take<int64_t>(w, name.json, -1);
    }
    entries(w, "gpu_list", [&out](const Json& gpu) {
      out.workers.back().used.gpu_list.push_back(
          {take<std::string>(gpu, "id", ""), take<int64_t>(gpu, "percent", -1),
           take<int64_t>(gpu, "memory_used", -1),
           take<int64_t>(gpu, "memory_total", -1)});
    });
    entries(w, "xids", [&out](const Json& x) {
      wire::GpuXid xid;
      xid.xid = take<int>(x, "xid", 0);
      xid.gpu = take<int>(x, "gpu", -1);
      xid.pci = take<std::string>(x, "pci", "");
      xid.uuid = take<std::string>(x, "uuid", "");
      xid.mig = take<bool>(x, "mig", false);
      xid.count = take<int64_t>(x, "count", 0);
      xid.first_ms = take<int64_t>(x, "first_ms", 0);
      xid.last_ms = take<int64_t>(x, "last_ms", 0);
      out.workers.back().used.xids.push_back(std::move(xid));
    });
  });
  entries(json, "ranks",
          [&out](const Json& r) { out.ranks.push_back(rank_from(r)); });
  const auto ended = json.find("ended");
  if (ended != json.end() && ended->is_object()) {
    out.ended = JobEnd{take<int>(*ended, "exit_code", 0),
                       take<std::string>(*ended, "code", ""),
                       take<std::string>(*ended, "text", "")};
  }
  return out;
}

std::optional<JobStatus> aged(JobStatus status, int64_t steady_now_ms) {
  const int64_t age = steady_now_ms - status.written_at_ms;
  if (status.written_at_ms < 0 || age < 0 || age >= kFreshMs) return {};
  status.job_ms += age;
  status.phase_ms += age;
  return status;
}

std::string xid_status(const wire::GpuXid& xid) {
  return "GPU " + std::to_string(xid.gpu) + ": " + xid_text(xid.xid) +
         (xid.count > 1 ? ", " + std::to_string(xid.count) + " times" : "") +
         ", the last " + human_duration_ms(xid.last_ms) + " ago";
}

std::string status_text(const JobStatus& status) {
  std::string out = "job     " + shown_command(status.command) + "  (launch " +
                    status.launch_id + ")\n" + "phase   " + status.phase +
                    " since " + human_duration_ms(status.phase_ms) +
                    ", job since " + human_duration_ms(status.job_ms) + "\n";
  if (status.ended) {
    out += "ended   with exit code " + std::to_string(status.ended->exit_code) +
           ": " + status.ended->text + "\n";
  }
  size_t ready = 0;
  for (const WorkerStatus& w : status.workers) ready += w.state == "ready";
  out += "workers " + std::to_string(ready) + " of " +
         std::to_string(status.workers.size()) + " ready\n";
  for (const WorkerStatus& w : status.workers) {
    if (w.state == "ready") continue;
    out += "        " + w.host + ": " + w.state +
           (w.step.empty() ? "" : " at step " + w.step) +
           (w.problem.empty() ? "" : ": " + w.problem) + "\n";
  }
  for (const WorkerStatus& w : status.workers) {
    for (const wire::GpuXid& xid : w.used.xids) {
      out += "        " + w.host + ": " + xid_status(xid) + "\n";
    }
  }
  if (!status.ranks.empty()) {
    out += "ranks  ";
    for (const auto& [state, count] : by_state(status)) {
      out += " " + std::to_string(count) + " " + state;
    }
    out += "\n";
  }
  for (const RankStatus& rank : status.ranks) {
    if (rank.doing.empty()) continue;
    out += "        rank " + std::to_string(rank.rank) + " on " + rank.host +
           ": " + rank.doing + "\n";
  }
  out += "output  " + std::to_string(status.lines) + " lines";
  if (status.dropped_lines > 0) {
    out += ", " + std::to_string(status.dropped_lines) + " dropped";
  }
  if (status.stalled_ms > 3000) {
    out += ", not read for " + human_duration_ms(status.stalled_ms);
  }
  return out + "\n";
}

std::string ps_text(const JobStatus& status) {
  size_t host = 4;
  for (const RankStatus& r : status.ranks) host = std::max(host, r.host.size());
  std::string out = "RANK   " + pad("HOST", host) + "  PID      STATE\n";
  for (const RankStatus& r : status.ranks) {
    out += pad(std::to_string(r.rank), 7) + pad(r.host, host) + "  " +
           pad(std::to_string(r.pid), 9) + (r.exit.empty() ? r.state : r.exit) +
           (r.doing.empty() ? "" : ", " + r.doing) + "\n";
  }
  return out;
}

std::string metrics_text(const JobStatus& status) {
  Exposition out;
  out.metric("info", "gauge", "What runs, as labels.");
  out.value("version=" + label(MUSTER_VERSION) +
                ",launch_id=" + label(status.launch_id) +
                ",bootstrap=" + label(status.bootstrap),
            1);
  out.metric("phase", "gauge", "1 for the phase that the launch is in.");
  for (const char* phase : {"discover", "mesh", "connect", "inspect", "agree",
                            "prove", "run", "drain"}) {
    out.value(std::string("phase=") + label(phase), status.phase == phase);
  }
  out.metric("phase_seconds", "gauge", "Time in the current phase.");
  out.value("", static_cast<double>(status.phase_ms) / 1000);
  out.metric("job_seconds", "gauge", "Time since the launcher started.");
  out.value("", static_cast<double>(status.job_ms) / 1000);
  out.metric("ranks", "gauge", "Ranks by state.");
  std::map<std::string, int> states = by_state(status);
  for (const char* state :
       {"starting", "running", "exited", "not started", "lost"}) {
    out.value(std::string("state=") + label(state), states[state]);
  }
  out.metric("output_lines_total", "counter", "Lines of all ranks.");
  out.value("", static_cast<double>(status.lines));
  out.metric("output_dropped_lines_total", "counter",
             "Lines dropped for a reader too slow (--log-overflow drop).");
  out.value("", static_cast<double>(status.dropped_lines));
  out.metric("output_lost_bytes_total", "counter",
             "Bytes that could not be written.");
  out.value("", static_cast<double>(status.lost_output_bytes));
  out.metric("output_stalled_seconds", "gauge",
             "How long nothing has read stdout.");
  out.value("", static_cast<double>(status.stalled_ms) / 1000);
  worker_metrics(status, out);
  return std::move(out).text();
}

}  // namespace muster
