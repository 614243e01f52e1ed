// SPDX-License-Identifier: Apache-2.0
#include "worker/agent_pmix_host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "worker/agent_pmix_bridge.h"
#include "worker/agent_pmix_job_data.h"
#include "worker/agent_pmix_library.h"
#include "worker/agent_pmix_upcalls.h"
#include "worker/agent_pmix_values.h"

namespace muster {

namespace {

// Libraries newer than our headers copy a longer struct than we know.
union Module {
  pmix_server_module_t known;
  char padding[1024];
};

// For server and ranks alike: "hash" alone serves every client and is the
// cheapest up to some 4,000 ranks; munge, which Debian's library would offer,
// is not in pods.
constexpr std::pair<const char*, const char*> kSettings[] = {
    {"PMIX_MCA_gds", "hash"}, {"PMIX_MCA_psec", "native"}};

// Open MPI 4 takes itself for a singleton unless its own launcher (or one that
// it knows by name) is seen; without "orte" in the list it believes PMIx. The
// other two: whoever started it has bound it as it should be.
constexpr std::pair<const char*, const char*> kOpenMpi4[] = {
    {"OMPI_MCA_schizo", "^orte"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    {"OMPI_MCA_orte_externally_bound", "1"}};

// Nodes that share one machine: Open MPI 4 takes ranks of one host name for
// neighbours, and its shared memory then crashes. They talk over loopback.
constexpr std::pair<const char*, const char*> kEmulated[] = {
    {"OMPI_MCA_btl", "self,tcp"},
    {"OMPI_MCA_pml", "ob1"},
    {"OMPI_MCA_btl_tcp_if_include", "lo"}};

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
  for (const auto& [name, value] : kSettings) environment.set(name, value);
  // We use nothing of the topology: no GPUs, no cpuid on each core, and no PCI
  // bus, whose configuration a virtual machine reads at 30 us a word.
  environment.set("HWLOC_COMPONENTS", "-linuxio,linux,stop");
  PmixInfos infos;
  infos.add_text(PMIX_SERVER_TMPDIR, directory);
  infos.add_text(PMIX_SYSTEM_TMPDIR, directory);
  infos.add_text(PMIX_SERVER_NSPACE, world.nspace() + "-agents");
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
  pmix_status_t status = library.register_nspace(
      pmix_proc(world.nspace(), 0).nspace,
      static_cast<int>(world.own_ranks().size()), (*job)->infos.data(),
      (*job)->infos.size(), nullptr, nullptr);
  if (!pmix_ok(status)) return failed(library, "register_nspace", status);
  for (const int rank : world.own_ranks()) {
    const pmix_proc_t proc =
        pmix_proc(world.nspace(), static_cast<uint32_t>(rank));
    status = library.register_client(&proc, ::getuid(), ::getgid(), nullptr,
                                     nullptr, nullptr);
    if (!pmix_ok(status)) return failed(library, "register_client", status);
  }
  return {};
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
  std::shared_ptr<PmixBridge> bridge;
  bool initialized = false;
};

AgentPmixHost::AgentPmixHost(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

AgentPmixHost::~AgentPmixHost() {
  // It joins libpmix' thread; should that hang, the process has to end anyway.
  constexpr unsigned kFinalizeSeconds = 3;
  if (impl_->initialized) {
    ::alarm(kFinalizeSeconds);
    impl_->bridge->library().server_finalize();
    ::alarm(0);
  }
  PmixBridge::set_current(nullptr);
}

bool AgentPmixHost::is_built_in() { return true; }

Result<std::unique_ptr<AgentPmixHost>> AgentPmixHost::start(
    Loop& loop, const World& world, ModexClient& modex, PmiEvents events,
    const std::string& run_dir) {
  auto library = open_pmix_library();
  if (!library) return tl::unexpected(library.error());
  const std::string directory = run_dir + "/pmix";
  if (::mkdir(directory.c_str(), 0700) != 0) {
    return fail_errno("no_pmix", "cannot make a directory for PMIx", directory);
  }
  auto impl = std::make_unique<Impl>();
  impl->bridge = std::make_shared<PmixBridge>(
      loop, world, modex, std::move(events), std::move(*library));
  const PmixLibrary& opened = impl->bridge->library();
  PmixBridge::set_current(impl->bridge.get());
  std::unique_ptr<AgentPmixHost> host(new AgentPmixHost(std::move(impl)));
  if (auto ready = init_server(opened, world, directory); !ready) {
    return tl::unexpected(ready.error());
  }
  host->impl_->initialized = true;
  if (auto ready = register_job(opened, world, directory); !ready) {
    return tl::unexpected(ready.error());
  }
  return host;
}

Status AgentPmixHost::prepare(int rank, Environment& env) {
  const PmixBridge& bridge = *impl_->bridge;
  const pmix_proc_t proc =
      pmix_proc(bridge.world().nspace(), static_cast<uint32_t>(rank));
  char** added = nullptr;
  const pmix_status_t status = bridge.library().setup_fork(&proc, &added);
  if (!pmix_ok(status)) return failed(bridge.library(), "setup_fork", status);
  for (char** entry = added; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string::npos) {
      set_env(env, text.substr(0, equals), text.substr(equals + 1));
    }
    std::free(*entry);
  }
  std::free(added);
  for (const auto& [name, value] : kSettings) set_env(env, name, value);
  for (const auto& [name, value] : kOpenMpi4) set_env(env, name, value);
  if (!bridge.world().emulated()) return {};
  for (const auto& [name, value] : kEmulated) {
    if (find_env(env, name) == nullptr) set_env(env, name, value);
  }
  return {};
}

void AgentPmixHost::rank_ended(int) { impl_->bridge->drain(); }

void AgentPmixHost::serve_get(int rank, ModexClient::Data answer) {
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
