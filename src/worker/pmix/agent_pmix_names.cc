// SPDX-License-Identifier: Apache-2.0
// publish, lookup, unpublish: names that the launcher keeps for all nodes.
// Values travel as a type and bytes: strings, byte objects and plain numbers,
// which is all that MPI publishes; it refuses other types. libpmix' thread; see
// agent_pmix_upcalls.h.
#include <cstring>
#include <optional>

#include "worker/pmix/agent_pmix_bridge.h"
#include "worker/pmix/agent_pmix_upcalls.h"

namespace muster {

namespace {

constexpr size_t kNumberBytes = 16;  // the widest: struct timeval

bool is_number(pmix_data_type_t type) {
  return type == PMIX_BOOL || type == PMIX_BYTE ||
         (type >= PMIX_SIZE && type <= PMIX_STATUS) || type == PMIX_PROC_RANK;
}

std::optional<std::string> encode_value(const pmix_value_t& value) {
  std::string out(reinterpret_cast<const char*>(&value.type),
                  sizeof value.type);
  if (value.type == PMIX_STRING) {
    return out + (value.data.string == nullptr ? "" : value.data.string);
  }
  if (value.type == PMIX_BYTE_OBJECT) {
    return out.append(value.data.bo.bytes, value.data.bo.size);
  }
  if (!is_number(value.type)) return std::nullopt;
  return out.append(reinterpret_cast<const char*>(&value.data), kNumberBytes);
}

// The arguments of lookup's callback: the array and everything in it.
struct Found {
  wire::NamesReply reply;
  std::vector<pmix_pdata_t> data;

  void fill(const std::string& nspace) {
    for (size_t i = 0; i < reply.keys.size() && i < reply.values.size() &&
                       i < reply.owners.size();
         ++i) {
      pmix_pdata_t entry{};
      if (!decode(reply.values[i], entry.value)) continue;
      std::strncpy(entry.proc.nspace, nspace.c_str(),
                   sizeof entry.proc.nspace - 1);
      entry.proc.rank = static_cast<pmix_rank_t>(reply.owners[i]);
      std::strncpy(entry.key, reply.keys[i].c_str(), sizeof entry.key - 1);
      data.push_back(entry);
    }
  }

  // `text` must live as long as `out`.
  static bool decode(std::string& text, pmix_value_t& out) {
    if (text.size() < sizeof out.type) return false;
    std::memcpy(&out.type, text.data(), sizeof out.type);
    char* bytes = text.data() + sizeof out.type;
    const size_t length = text.size() - sizeof out.type;
    if (out.type == PMIX_STRING) {
      out.data.string = bytes;  // std::string ends with a zero byte
    } else if (out.type == PMIX_BYTE_OBJECT) {
      out.data.bo.bytes = bytes;
      out.data.bo.size = length;
    } else if (is_number(out.type) && length == kNumberBytes) {
      std::memcpy(&out.data, bytes, kNumberBytes);
    } else {
      return false;
    }
    return true;
  }
};

pmix_status_t status_of(const std::string& error) {
  if (error.empty()) return PMIX_SUCCESS;
  if (error == "not_found") return PMIX_ERR_NOT_FOUND;
  if (error == "timeout") return PMIX_ERR_TIMEOUT;
  if (error == "exists") return PMIX_ERR_DUPLICATE_KEY;
  return PMIX_ERR_NOT_SUPPORTED;
}

std::vector<std::string> list_of(char** keys) {
  std::vector<std::string> out;
  for (; keys != nullptr && *keys != nullptr; ++keys) out.emplace_back(*keys);
  return out;
}

}  // namespace

pmix_status_t pmix_publish(const pmix_proc_t* proc, const pmix_info_t info[],
                           size_t ninfo, pmix_op_cbfunc_t callback,
                           void* data) {
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  wire::NamesRequest request;
  request.operation = "publish";
  request.owner = static_cast<int>(proc->rank);
  for (size_t i = 0; i < ninfo; ++i) {
    const std::string key(info[i].key);
    if (key.starts_with("pmix.")) continue;  // a directive: range, user, …
    auto value = encode_value(info[i].value);
    if (!value) return PMIX_ERR_NOT_SUPPORTED;
    request.keys.push_back(key);
    request.values.push_back(std::move(*value));
  }
  bridge->post([bridge, request = std::move(request), callback, data] {
    bridge->modex().names(request,
                          [callback, data](const wire::NamesReply& reply) {
                            callback(status_of(reply.error), data);
                          });
  });
  return PMIX_SUCCESS;
}

pmix_status_t pmix_lookup(const pmix_proc_t* proc, char** keys,
                          const pmix_info_t info[], size_t ninfo,
                          pmix_lookup_cbfunc_t callback, void* data) {
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  wire::NamesRequest request;
  request.operation = "lookup";
  request.owner = static_cast<int>(proc->rank);
  request.keys = list_of(keys);
  for (size_t i = 0; i < ninfo; ++i) {
    const std::string_view key(info[i].key);
    if (key == PMIX_WAIT) request.wait = true;
    if (key == PMIX_TIMEOUT && info[i].value.type == PMIX_INT) {
      request.timeout_ms = info[i].value.data.integer * 1000;
    }
  }
  const size_t wanted = request.keys.size();
  bridge->post([bridge, request = std::move(request), wanted, callback, data] {
    bridge->modex().names(
        request, [bridge, wanted, callback, data](wire::NamesReply reply) {
          auto found = std::make_shared<Found>();
          found->reply = std::move(reply);
          found->fill(bridge->world().nspace());
          const size_t count = found->data.size();
          pmix_status_t status = status_of(found->reply.error);
          if (status == PMIX_SUCCESS && count < wanted) {
            status = count == 0 ? PMIX_ERR_NOT_FOUND : PMIX_ERR_PARTIAL_SUCCESS;
          }
          callback(status, found->data.data(), count, data);
          bridge->keep(std::move(found));
        });
  });
  return PMIX_SUCCESS;
}

pmix_status_t pmix_unpublish(const pmix_proc_t* proc, char** keys,
                             const pmix_info_t[], size_t,
                             pmix_op_cbfunc_t callback, void* data) {
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  wire::NamesRequest request;
  request.operation = "unpublish";
  request.owner = static_cast<int>(proc->rank);
  request.keys = list_of(keys);
  bridge->post([bridge, request = std::move(request), callback, data] {
    bridge->modex().names(request,
                          [callback, data](const wire::NamesReply& reply) {
                            callback(status_of(reply.error), data);
                          });
  });
  return PMIX_SUCCESS;
}

}  // namespace muster
