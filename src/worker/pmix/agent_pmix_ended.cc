// SPDX-License-Identifier: Apache-2.0
// Passes a rank's end, as the event PMIX_EVENT_PROC_TERMINATED, to ranks that
// have registered for that code by name. Not to handlers of everything, and not
// as PMIX_ERR_PROC_ABORTED and the like: Open MPI always registers for those,
// and calls MPI_Abort on each of them, in every rank, over the first cause in
// the log. A job whose rank failed ends anyway. Loop thread.
#include <memory>

#include "job/exit_codes.h"
#include "worker/pmix/agent_pmix_events.h"
#include "worker/pmix/agent_pmix_values.h"

namespace muster {

namespace {

// Lives until libpmix has passed the event on.
struct Ended {
  pmix_proc_t rank{};
  PmixInfos infos;
};

void passed_on(pmix_status_t, void* object) {
  const std::unique_ptr<Ended> ended(static_cast<Ended*>(object));
}

}  // namespace

void tell_pmix_ended(const PmixLibrary& library, const World& world,
                     const wire::RankEnd& end) {
  if (!world.has(end.rank)) return;
  auto ended = std::make_unique<Ended>();
  ended->rank = pmix_proc(world.nspace(), static_cast<uint32_t>(end.rank));
  ended->infos.add_proc(PMIX_EVENT_AFFECTED_PROC, ended->rank);
  ended->infos.add_int(PMIX_EXIT_CODE, exit_code_for(end.wait_status));
  ended->infos.add_bool(PMIX_EVENT_NON_DEFAULT, true);
  Ended* given = ended.release();
  const pmix_status_t status = library.notify_event(
      PMIX_EVENT_PROC_TERMINATED, &given->rank, PMIX_RANGE_SESSION,
      given->infos.data(), given->infos.size(), passed_on, given);
  if (status != PMIX_SUCCESS) passed_on(status, given);
}

}  // namespace muster
