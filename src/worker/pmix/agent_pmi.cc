// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmi.h"

#include <sys/wait.h>

#include <set>

#include "job/cpu_list.h"
#include "worker/facts/facts_cpu.h"

namespace muster {

namespace {

// The ranks' number of the PMI_FD descriptor.
constexpr int kPmiFd = 3;
constexpr Milliseconds kArrivalsWait{1'000};

// Ranks must not get CPUs, or neighbours on them, to which the kernel does not
// bind them.
void keep_bindable(std::vector<std::string>& lists) {
  std::vector<std::vector<int>> wanted;
  for (const std::string& list : lists) {
    auto cpus = parse_cpu_list(list);
    if (!cpus) return;  // the map is refused
    wanted.push_back(std::move(*cpus));
  }
  const auto given = bindable_cpus(wanted);
  for (size_t i = 0; i < lists.size(); ++i) lists[i] = cpu_list_text(given[i]);
}

}  // namespace

AgentPmi::AgentPmi(Loop& loop, SendFrame send)
    : loop_(loop),
      send_(std::move(send)),
      modex_(send_),
      arrivals_told_(loop) {}

AgentPmi::~AgentPmi() = default;

bool AgentPmi::frame(const wire::Frame& frame, const std::string& run_dir) {
  switch (frame.type) {
    case wire::FrameType::kJobMap:
      start_job(frame, run_dir);
      return true;
    case wire::FrameType::kRanksEnded:
      ranks_ended(frame);
      return true;
    case wire::FrameType::kArrivalsRequest:
      find_arrivals(frame.id);
      return true;
    default:
      return modex_.frame(frame);
  }
}

void AgentPmi::ranks_ended(const wire::Frame& frame) {
  if (!job_ || !job_->pmix) return;
  const auto ended = wire::modex_from_json<wire::RanksEnded>(frame.payload);
  if (ended) job_->pmix->ranks_ended(*ended);
}

// libpmix answers for a rank once that has committed, and does not say how long
// that may take: the answer comes within the time for ranks that have.
void AgentPmi::find_arrivals(uint32_t id) {
  auto came = std::make_shared<std::set<int>>();
  if (job_) {
    for (const int rank : job_->world.own_ranks()) {
      if (job_->pmi1->came(rank)) came->insert(rank);
      if (!job_->pmix || !job_->pmix->running() || !ranks_[rank].by_pmix) {
        continue;
      }
      job_->pmix->serve_get(rank, [came, rank](const Result<std::string>& put) {
        if (put) came->insert(rank);
      });
    }
  }
  arrivals_told_.start(kArrivalsWait, [this, id, came] {
    wire::Arrivals arrivals;
    arrivals.ranks.assign(came->begin(), came->end());
    send_(wire::FrameType::kArrivals, 0, id, wire::to_json(arrivals));
  });
}

void AgentPmi::start_job(const wire::Frame& frame, const std::string& run_dir) {
  if (job_) return log("error", "ignored a second map of the job's ranks");
  auto map = wire::modex_from_json<wire::JobMap>(frame.payload);
  if (map) keep_bindable(map->cpus);
  auto world =
      map ? World::from(*map) : Result<World>(tl::unexpected(map.error()));
  if (!world) return log("error", world.error().text());
  job_ = std::make_unique<Job>();
  job_->world = std::move(*world);
  job_->pmi1 = std::make_unique<AgentPmi1>(loop_, job_->world, modex_,
                                           events(/*pmix=*/false));
  auto host = AgentPmixHost::open(
      loop_, job_->world, modex_, events(/*pmix=*/true), run_dir,
      [this](const Error& error) { log("warn", error.text()); });
  if (!host) {
    // Programs without MPI, and those of MPICH, run without it.
    return log("warn", host.error().text());
  }
  job_->pmix = std::move(*host);
  modex_.set_serve_get([this](int rank, ModexClient::Data answer) {
    job_->pmix->serve_get(rank, std::move(answer));
  });
  modex_.set_on_event(
      [this](std::string_view event) { job_->pmix->deliver(event); });
}

PmiEvents AgentPmi::events(bool pmix) {
  PmiEvents out;
  out.connected = [this, pmix](int rank) {
    ranks_[rank].connected = true;
    ranks_[rank].finalized = false;  // it may run one MPI program after another
    ranks_[rank].by_pmix = pmix;
    tell(rank, "connected");
  };
  out.finalized = [this](int rank) {
    ranks_[rank].finalized = true;
    tell(rank, "finalized");
  };
  out.aborted = [this](int rank, int code, const std::string& message) {
    ranks_[rank].aborted = true;
    ranks_[rank].abort_code = code;
    tell(rank, "aborted", code, message);
  };
  out.complain = [this](int rank, const std::string& text) {
    log("warn", "rank " + std::to_string(rank) + ": " + text);
  };
  return out;
}

UniqueFd AgentPmi::prepare(int rank, Environment& env,
                           std::vector<std::pair<int, int>>& fds) {
  if (!job_ || !job_->world.has(rank)) return {};
  if (job_->pmix) job_->pmix->prepare(rank, env);
  auto end = job_->pmi1->connect(rank);
  if (!end) {
    log("warn", end.error().text());
    return {};
  }
  set_env(env, "PMI_FD", std::to_string(kPmiFd));
  set_env(env, "PMI_RANK", std::to_string(rank));
  set_env(env, "PMI_SIZE", std::to_string(job_->world.size()));
  set_env(env, "PMI_SPAWNED", "0");
  // MPICH 5 ends if it finds the variables of PMI and of PMIx.
  if (find_env(env, "MPIR_CVAR_PMI_VERSION") == nullptr) {
    set_env(env, "MPIR_CVAR_PMI_VERSION", "1");
  }
  if (const std::string port = job_->pmi1->port(); !port.empty()) {
    set_env(env, "PMI_PORT", port);
    set_env(env, "PMI_ID", std::to_string(job_->pmi1->id_for(rank)));
  }
  fds.emplace_back(end->get(), kPmiFd);
  return std::move(*end);
}

void AgentPmi::ended(int rank, wire::Exited& exit) {
  if (!job_ || !job_->world.has(rank)) return;
  job_->pmi1->rank_ended(rank);
  if (job_->pmix) job_->pmix->rank_ended(rank);
  const RankInfo info = ranks_[rank];
  exit.mpi_attached = info.connected;
  exit.mpi_finalized = info.finalized;
  exit.by_pmix = info.by_pmix;
  exit.aborted = info.aborted;
  if (!info.aborted) return;
  // The rank's code counts, however the stop then ended it.
  const int code = info.abort_code & 0xff;
  exit.wait_status = W_EXITCODE(code == 0 ? 1 : code, 0);
}

void AgentPmi::tell(int rank, const char* state, int code,
                    const std::string& message) {
  modex_.tell({rank, state, code, message});
}

void AgentPmi::log(const std::string& level, const std::string& text) {
  send_(wire::FrameType::kLog, 0, 0, wire::to_json(wire::LogLine{level, text}));
}

}  // namespace muster
