// SPDX-License-Identifier: Apache-2.0
// Events that one rank sends to others (PMIx_Notify_event). libpmix passes them
// to the ranks of its own node. This file packs an event as libpmix does and
// sends it through the launcher to all other nodes; their libpmix knows which
// of its clients have registered for such events and which of them the range
// includes. agent_pmix_ended.cc reports the end of a rank. Refuses: events
// above 256 KiB. libpmix' thread, except for deliver.
#include <cstdlib>
#include <memory>

#include "worker/pmix/agent_pmix_bridge.h"
#include "worker/pmix/agent_pmix_events.h"
#include "worker/pmix/agent_pmix_upcalls.h"
#include "worker/pmix/agent_pmix_values.h"

namespace muster {

namespace {

// libpmix' own buffer, freed as it allocates: with malloc.
class Packed {
 public:
  explicit Packed(const PmixLibrary& library) : library_(library) {}
  ~Packed() { std::free(buffer_.base_ptr); }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  bool load(std::string_view bytes) {
    buffer_.base_ptr = static_cast<char*>(std::malloc(bytes.size()));
    if (buffer_.base_ptr == nullptr) return false;
    bytes.copy(buffer_.base_ptr, bytes.size());
    buffer_.unpack_ptr = buffer_.base_ptr;
    buffer_.pack_ptr = buffer_.base_ptr + bytes.size();
    buffer_.bytes_allocated = buffer_.bytes_used = bytes.size();
    return true;
  }
  template <class Value>
  bool pack(const Value* values, size_t count, pmix_data_type_t type) {
    return library_.data_pack(nullptr, &buffer_, const_cast<Value*>(values),
                              static_cast<int32_t>(count),
                              type) == PMIX_SUCCESS;
  }
  template <class Value>
  bool unpack(Value* values, size_t count, pmix_data_type_t type) {
    auto found = static_cast<int32_t>(count);
    return library_.data_unpack(nullptr, &buffer_, values, &found, type) ==
               PMIX_SUCCESS &&
           found == static_cast<int32_t>(count);
  }
  [[nodiscard]] std::string text() const {
    return {buffer_.base_ptr, buffer_.bytes_used};
  }

 private:
  const PmixLibrary& library_;
  pmix_data_buffer_t buffer_{};
};

// Lives until libpmix has passed the event on.
struct Event {
  explicit Event(const PmixLibrary& given) : library(given) {}
  ~Event() {
    for (pmix_info_t& info : infos) library.value_destruct(&info.value);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  const PmixLibrary& library;
  pmix_status_t code = PMIX_SUCCESS;
  pmix_proc_t source{};
  pmix_data_range_t range = PMIX_RANGE_UNDEF;
  std::vector<pmix_info_t> infos;
};

constexpr size_t kMostInfos = 4096;

bool unpack(Packed& packed, Event& event) {
  size_t count = 0;
  if (!packed.unpack(&event.code, 1, PMIX_STATUS) ||
      !packed.unpack(&event.source, 1, PMIX_PROC) ||
      !packed.unpack(&event.range, 1, PMIX_DATA_RANGE) ||
      !packed.unpack(&count, 1, PMIX_SIZE) || count > kMostInfos) {
    return false;
  }
  event.infos.resize(count);
  return count == 0 || packed.unpack(event.infos.data(), count, PMIX_INFO);
}

bool stays_on_node(pmix_data_range_t range) {
  return range == PMIX_RANGE_LOCAL || range == PMIX_RANGE_PROC_LOCAL ||
         range == PMIX_RANGE_RM;
}

void delivered(pmix_status_t, void* object) {
  const std::unique_ptr<Event> event(static_cast<Event*>(object));
}

}  // namespace

pmix_status_t pmix_register_events(pmix_status_t*, size_t, const pmix_info_t[],
                                   size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t pmix_deregister_events(pmix_status_t*, size_t, pmix_op_cbfunc_t,
                                     void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t pmix_notify_event(pmix_status_t code, const pmix_proc_t* source,
                                pmix_data_range_t range, pmix_info_t info[],
                                size_t ninfo, pmix_op_cbfunc_t, void*) {
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  if (stays_on_node(range)) return PMIX_OPERATION_SUCCEEDED;
  Packed packed(bridge->library());
  if (!packed.pack(&code, 1, PMIX_STATUS) ||
      !packed.pack(source, 1, PMIX_PROC) ||
      !packed.pack(&range, 1, PMIX_DATA_RANGE) ||
      !packed.pack(&ninfo, 1, PMIX_SIZE) ||
      (ninfo > 0 && !packed.pack(info, ninfo, PMIX_INFO)) ||
      packed.text().size() > wire::kModexPiece) {
    return PMIX_ERR_NOT_SUPPORTED;
  }
  bridge->post(
      [bridge, text = packed.text()] { bridge->modex().spread(text); });
  // The caller does not learn who got it; and libpmix 4.2 locks up in its
  // callback.
  return PMIX_OPERATION_SUCCEEDED;
}

bool deliver_pmix_event(const PmixLibrary& library, std::string_view text) {
  Packed packed(library);
  auto event = std::make_unique<Event>(library);
  if (text.empty() || !packed.load(text) || !unpack(packed, *event)) {
    return false;
  }
  Event* given = event.release();
  const pmix_status_t status = library.notify_event(
      given->code, &given->source, given->range, given->infos.data(),
      given->infos.size(), delivered, given);
  if (status == PMIX_SUCCESS) return true;
  delivered(status, given);
  return pmix_ok(status);
}

void pmix_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[],
                size_t, pmix_info_t[], size_t,
                pmix_event_notification_cbfunc_fn_t callback, void* data) {
  // waitpid reports which rank died, sooner and more surely.
  if (callback != nullptr) {
    callback(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
  }
}

}  // namespace muster
