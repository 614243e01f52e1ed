// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmix_host.h"

#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "worker/pmix/agent_pmix_bridge.h"
#include "worker/pmix/agent_pmix_door.h"
#include "worker/pmix/agent_pmix_env.h"
#include "worker/pmix/agent_pmix_events.h"
#include "worker/pmix/agent_pmix_job_data.h"
#include "worker/pmix/agent_pmix_library.h"
#include "worker/pmix/agent_pmix_upcalls.h"
#include "worker/pmix/agent_pmix_values.h"

namespace muster {

namespace {

constexpr int kKeptFree = 1 << 20;

// Libraries newer than our headers copy a longer struct than ours.
union Module {
  pmix_server_module_t known;
  char padding[1024];
};

// Sets variables while it lives: ranks must not inherit them from us.
class ScopedEnvironment {
 public:
  void set(const char* name, const char* value) {
    const char* old = ::getenv(name);
    saved_.emplace_back(name, old == nullptr ? "" : old);
    was_set_.push_back(old != nullptr);
    ::setenv(name, value, 1);
  }
  ScopedEnvironment() = default;
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;
  ~ScopedEnvironment() {
    for (size_t i = 0; i < saved_.size(); ++i) {
      if (was_set_[i]) {
        ::setenv(saved_[i].first, saved_[i].second.c_str(), 1);
      } else {
        ::unsetenv(saved_[i].first);
      }
    }
  }

 private:
  std::vector<std::pair<const char*, std::string>> saved_;
  std::vector<bool> was_set_;
};

Module make_module() {
  Module module{};
  module.known.client_connected2 = pmix_connected;
  module.known.client_finalized = pmix_finalized;
  module.known.abort = pmix_abort;
  module.known.fence_nb = pmix_fence;
  module.known.direct_modex = pmix_direct_modex;
  module.known.publish = pmix_publish;
  module.known.lookup = pmix_lookup;
  module.known.unpublish = pmix_unpublish;
  module.known.spawn = pmix_spawn;
  module.known.connect = pmix_connect;
  module.known.disconnect = pmix_disconnect;
  module.known.register_events = pmix_register_events;
  module.known.deregister_events = pmix_deregister_events;
  module.known.notify_event = pmix_notify_event;
  module.known.query = pmix_query;
  module.known.group = pmix_group;
  module.known.job_control = pmix_job_control;
  return module;
}

tl::unexpected<Error> failed(const PmixLibrary& library, const char* step,
                             pmix_status_t status) {
  return fail(Error{"no_pmix",
                    "no PMIx server for the ranks of this pod",
                    std::string(step) + ": " + library.error(status),
                    {},
                    "Open MPI needs it: use --bootstrap mpirun."});
}

Status init_server(const PmixLibrary& library, const World& world,
                   const std::string& directory) {
  ScopedEnvironment environment;
  for (const auto& [name, value] : kPmixSettings) environment.set(name, value);
  // libpmix wants a topology that no rank uses, and the machine's takes 40
  // files of each CPU. Without plugins: they bring X11 and libxml2 with ICU.
  environment.set("HWLOC_SYNTHETIC", "core:1 pu:1");
  environment.set("HWLOC_PLUGINS_PATH", "/dev/null");
  PmixInfos infos;
  infos.add_text(PMIX_SERVER_TMPDIR, directory);
  infos.add_text(PMIX_SYSTEM_TMPDIR, directory);
  infos.add_text(PMIX_SERVER_NSPACE, pmix_server_nspace(world));
  infos.add_rank(PMIX_SERVER_RANK, world.own_node());
  infos.add_text(PMIX_HOSTNAME, world.host(world.own_node()));
  Module module = make_module();
  const pmix_status_t status =
      library.server_init(&module.known, infos.data(), infos.size());
  if (!pmix_ok(status)) return failed(library, "PMIx_server_init", status);
  library.register_event_handler(nullptr, 0, nullptr, 0, pmix_event, nullptr,
                                 nullptr);
  return {};
}

Status register_job(const PmixLibrary& library, const World& world,
                    const std::string& directory) {
  auto job = pmix_job_data(library, world, directory);
  if (!job) return tl::unexpected(job.error());
  pmix_status_t status = PMIX_SUCCESS;
  for (PmixInfos* infos : {&(*job)->job, &(*job)->own}) {
    status =
        library.register_nspace(pmix_proc(world.nspace(), 0).nspace,
                                static_cast<int>(world.own_ranks().size()),
                                infos->data(), infos->size(), nullptr, nullptr);
    if (!pmix_ok(status)) return failed(library, "register_nspace", status);
  }
  for (const int rank : world.own_ranks()) {
    const pmix_proc_t proc =
        pmix_proc(world.nspace(), static_cast<uint32_t>(rank));
    status = library.register_client(&proc, ::getuid(), ::getgid(), nullptr,
                                     nullptr, nullptr);
    if (!pmix_ok(status)) return failed(library, "register_client", status);
  }
  return {};
}

// The variables that libpmix itself would set for a rank.
Result<Environment> library_env(const PmixLibrary& library,
                                const World& world) {
  const pmix_proc_t proc = pmix_proc(
      world.nspace(), static_cast<uint32_t>(world.own_ranks().front()));
  char** added = nullptr;
  const pmix_status_t status = library.setup_fork(&proc, &added);
  if (!pmix_ok(status)) return failed(library, "setup_fork", status);
  Environment out;
  for (char** entry = added; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string::npos) {
      set_env(out, text.substr(0, equals), text.substr(equals + 1));
    }
    std::free(*entry);
  }
  std::free(added);
  return out;
}

// A get that libpmix answers on its own thread, once.
struct GetRequest {
  std::weak_ptr<PmixBridge> bridge;
  ModexClient::Data answer;
};

void got(pmix_status_t status, char* data, size_t size, void* object) {
  const std::unique_ptr<GetRequest> request(static_cast<GetRequest*>(object));
  const auto bridge = request->bridge.lock();
  if (!bridge) return;
  Result<std::string> result =
      std::string(data == nullptr ? "" : data, data == nullptr ? 0 : size);
  if (!pmix_ok(status)) {
    result = fail(Error{"modex",
                        "a rank's data cannot be read",
                        bridge->library().error(status),
                        {},
                        {}});
  }
  bridge->post([answer = request->answer, result = std::move(result)] {
    answer(result);
  });
}

}  // namespace

struct AgentPmixHost::Impl {
  Loop* loop = nullptr;
  const World* world = nullptr;
  ModexClient* modex = nullptr;
  PmiEvents events;
  std::function<void(const Error&)> failed;
  std::string directory;
  bool crowded = false;
  std::unique_ptr<PmixDoor> door;
  std::shared_ptr<PmixBridge> bridge;  // null: not started
  std::set<int> inside;  // ranks between their PMIx_Init and _Finalize
  bool tried = false;
  int inside_port = 0;  // libpmix' own; 0: it does not run
};

AgentPmixHost::AgentPmixHost(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

AgentPmixHost::~AgentPmixHost() {
  // It joins libpmix' thread, which may hang: agent_main() bounds the end.
  // libpmix was seen to crash in it over state of ranks that had died inside.
  if (impl_->inside_port > 0 && impl_->inside.empty()) {
    impl_->bridge->library().server_finalize();
  }
  PmixBridge::set_current(nullptr);
}

Result<std::unique_ptr<AgentPmixHost>> AgentPmixHost::open(
    Loop& loop, const World& world, ModexClient& modex, PmiEvents events,
    const std::string& run_dir, std::function<void(const Error&)> failed) {
  auto impl = std::make_unique<Impl>();
  impl->loop = &loop;
  impl->world = &world;
  impl->modex = &modex;
  impl->events = std::move(events);
  impl->events.connected = [inside = &impl->inside,
                            tell = impl->events.connected](int rank) {
    inside->insert(rank);
    tell(rank);
  };
  impl->events.finalized = [inside = &impl->inside,
                            tell = impl->events.finalized](int rank) {
    inside->erase(rank);
    tell(rank);
  };
  impl->failed = std::move(failed);
  impl->directory = run_dir + "/pmix";
  impl->crowded = oversubscribed(world);
  if (::mkdir(impl->directory.c_str(), 0700) != 0) {
    return fail_errno("no_pmix", "cannot make a directory for PMIx",
                      impl->directory);
  }
  std::unique_ptr<AgentPmixHost> host(new AgentPmixHost(std::move(impl)));
  auto door = PmixDoor::open(loop, [self = host.get()] {
    self->ensure_started();
    return self->impl_->inside_port;
  });
  if (!door) return tl::unexpected(door.error());
  host->impl_->door = std::move(*door);
  return host;
}

Status AgentPmixHost::start() {
  Impl& impl = *impl_;
  // libpmix' thread would get a heap of its own, which glibc grows only by each
  // request: a system call for every few stored values. Nor should it shrink
  // and grow again with each fence.
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_TRIM_THRESHOLD, kKeptFree);
  auto library = open_pmix_library();
  if (!library) return tl::unexpected(library.error());
  impl.bridge = std::make_shared<PmixBridge>(
      *impl.loop, *impl.world, *impl.modex, impl.events, std::move(*library));
  const PmixLibrary& opened = impl.bridge->library();
  PmixBridge::set_current(impl.bridge.get());
  if (auto ready = init_server(opened, *impl.world, impl.directory); !ready) {
    return ready;
  }
  if (auto ready = register_job(opened, *impl.world, impl.directory); !ready) {
    return ready;
  }
  auto own = library_env(opened, *impl.world);
  if (!own) return tl::unexpected(own.error());
  impl.inside_port = pmix_port(*own);
  if (impl.inside_port > 0) return {};
  return failed(opened, "no port in what setup_fork says", PMIX_ERROR);
}

bool AgentPmixHost::ensure_started() {
  if (!std::exchange(impl_->tried, true)) {
    if (auto started = start(); !started) impl_->failed(started.error());
  }
  return impl_->inside_port > 0;
}

void AgentPmixHost::prepare(int rank, Environment& env) {
  for (auto& [name, value] :
       pmix_rank_env(*impl_->world, rank, impl_->door->port(), impl_->directory,
                     impl_->crowded)) {
    set_env(env, name, std::move(value));
  }
  if (!impl_->world->emulated()) return;
  for (const auto& [name, value] : kPmixEmulated) {
    if (find_env(env, name) == nullptr) set_env(env, name, value);
  }
}

void AgentPmixHost::rank_ended(int) {
  if (impl_->bridge) impl_->bridge->drain();
}

void AgentPmixHost::deliver(std::string_view event) {
  if (!ensure_started()) return;
  if (deliver_pmix_event(impl_->bridge->library(), event)) return;
  impl_->failed(Error{"modex",
                      "an event of another node's rank was dropped",
                      "libpmix cannot read it",
                      {},
                      {}});
}

bool AgentPmixHost::running() const { return impl_->inside_port > 0; }

void AgentPmixHost::ranks_ended(const wire::RanksEnded& ended) {
  if (!running()) return;
  for (const wire::RankEnd& end : ended.ranks) {
    tell_pmix_ended(impl_->bridge->library(), *impl_->world, end);
  }
}

void AgentPmixHost::serve_get(int rank, ModexClient::Data answer) {
  if (!ensure_started()) {
    return answer(fail(Error{
        "modex", "a rank's data cannot be read", "no PMIx server", {}, {}}));
  }
  const pmix_proc_t proc =
      pmix_proc(impl_->bridge->world().nspace(), static_cast<uint32_t>(rank));
  auto request = std::make_unique<GetRequest>(
      GetRequest{impl_->bridge, std::move(answer)});
  const pmix_status_t status =
      impl_->bridge->library().dmodex_request(&proc, got, request.get());
  if (status == PMIX_SUCCESS) {
    request.release();  // got() takes it over
    return;
  }
  request->answer(fail(Error{"modex",
                             "a rank's data cannot be read",
                             impl_->bridge->library().error(status),
                             {},
                             {}}));
}

}  // namespace muster
