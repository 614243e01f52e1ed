// SPDX-License-Identifier: Apache-2.0
// Groups, from which Open MPI 5 builds the communicators of MPI Sessions: a
// fence among the members, from which each node learns the same context id and
// the contributions of the others. libpmix calls once all members of this node
// have arrived. libpmix' thread, except for answers; see agent_pmix_upcalls.h.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "worker/pmix/agent_pmix_bridge.h"
#include "worker/pmix/agent_pmix_upcalls.h"
#include "worker/pmix/agent_pmix_values.h"

namespace muster {

namespace {

// FNV-1a: every node must come to the same number.
uint64_t hash(std::string_view text) {
  uint64_t out = 0xcbf29ce484222325;
  for (const char c : text) {
    out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return out;
}

// No colon and no other character with a meaning in participants.h.
std::string kind_of(const char* operation, const char* group) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = operation;
  for (uint64_t rest = hash(group == nullptr ? "" : group); rest != 0;
       rest >>= 4) {
    out.push_back(kDigits[rest & 15]);
  }
  return out;
}

struct GroupCall {
  std::string who;
  bool construct = false;
  bool wants_id = false;
  std::string data;  // contributions of this node's members
  pmix_info_cbfunc_t callback = nullptr;
  void* callback_data = nullptr;
};

struct GroupAnswer {
  PmixInfos infos;
  pmix_value_t* blob = nullptr;  // its bytes may become libpmix' own
};

void release_answer(void* object) {
  const std::unique_ptr<GroupAnswer> answer(static_cast<GroupAnswer*>(object));
  if (answer->blob != nullptr) std::free(answer->blob->data.bo.bytes);
}

void add_blob(const std::string& all, GroupAnswer& answer) {
  auto* bytes = static_cast<char*>(std::malloc(all.size()));
  if (bytes == nullptr) return;
  std::memcpy(bytes, all.data(), all.size());
  answer.blob =
      &answer.infos.add_bytes(PMIX_GROUP_ENDPT_DATA, bytes, all.size());
}

// Clients of PMIx 5 expect more in the answer than a server of PMIx 4 sends,
// and nothing tells us which client it is: the warning comes before it matters.
void tell_once(PmixBridge& bridge, int rank) {
  if (PMIX_VERSION_MAJOR >= 5 || !bridge.first_group()) return;
  bridge.events().complain(
      rank,
      "it builds a PMIx group, as MPI Sessions do; this muster serves PMIx 4, "
      "with which Open MPI 5 fails there: use --bootstrap mpirun for it");
}

// The same on every node: all members build the groups of one name and set of
// members in the same order.
uint64_t context_id(PmixBridge& bridge, const std::string& who) {
  const uint32_t times = bridge.count_group(who);
  return hash(who + "#" + std::to_string(times)) >> 1;
}

void answer(PmixBridge& bridge, const GroupCall& call,
            const Result<std::string>& all) {
  if (!all || !call.construct) {
    return call.callback(all ? PMIX_SUCCESS : PMIX_ERR_TIMEOUT, nullptr, 0,
                         call.callback_data, nullptr, nullptr);
  }
  auto out = std::make_unique<GroupAnswer>();
  if (call.wants_id) {
    out->infos.add_size(PMIX_GROUP_CONTEXT_ID, context_id(bridge, call.who));
  }
  if (!all->empty()) add_blob(*all, *out);
  GroupAnswer* given = out.release();
  call.callback(PMIX_SUCCESS, given->infos.data(), given->infos.size(),
                call.callback_data, release_answer, given);
}

}  // namespace

pmix_status_t pmix_group(pmix_group_operation_t operation, char* group,
                         const pmix_proc_t procs[], size_t nprocs,
                         const pmix_info_t directives[], size_t ndirs,
                         pmix_info_cbfunc_t callback, void* data) {
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  GroupCall call;
  call.construct = operation == PMIX_GROUP_CONSTRUCT;
  call.callback = callback;
  call.callback_data = data;
  const std::string kind = kind_of(call.construct ? "group" : "ungroup", group);
  call.who = pmix_participants(*bridge, kind.c_str(), procs, nprocs);
  if (call.who.empty()) return PMIX_ERR_NOT_SUPPORTED;
  for (size_t i = 0; i < ndirs; ++i) {
    const pmix_value_t& value = directives[i].value;
    const std::string_view key(directives[i].key);
    if (key == PMIX_GROUP_ASSIGN_CONTEXT_ID) {
      call.wants_id = value.type != PMIX_BOOL || value.data.flag;
    } else if (key == PMIX_GROUP_ENDPT_DATA && value.type == PMIX_BYTE_OBJECT) {
      call.data.assign(value.data.bo.bytes, value.data.bo.size);
    }
  }
  const int rank = static_cast<int>(procs[0].rank);
  bridge->post([bridge, rank, call = std::move(call)] {
    tell_once(*bridge, rank);
    bridge->modex().fence(call.who, call.data,
                          [bridge, call](const Result<std::string>& all) {
                            answer(*bridge, call, all);
                          });
  });
  return PMIX_SUCCESS;
}

}  // namespace muster
