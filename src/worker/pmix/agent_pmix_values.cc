// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmix_values.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace muster {

namespace {

void copy_cut(char* to, size_t capacity, std::string_view from) {
  const size_t length = std::min(from.size(), capacity - 1);
  std::memcpy(to, from.data(), length);
  to[length] = '\0';
}

}  // namespace

pmix_proc_t pmix_proc(const std::string& nspace, uint32_t rank) {
  pmix_proc_t out{};
  copy_cut(out.nspace, sizeof out.nspace, nspace);
  out.rank = rank;
  return out;
}

pmix_value_t& PmixInfos::add(const char* key, pmix_data_type_t type) {
  pmix_info_t info{};
  copy_cut(info.key, sizeof info.key, key);
  info.value.type = type;
  infos_.push_back(info);
  return infos_.back().value;
}

void PmixInfos::add_text(const char* key, std::string_view value) {
  texts_.emplace_back(value);
  add(key, PMIX_STRING).data.string = texts_.back().data();
}

void PmixInfos::add_bool(const char* key, bool value) {
  add(key, PMIX_BOOL).data.flag = value;
}

void PmixInfos::add_int(const char* key, int value) {
  add(key, PMIX_INT).data.integer = value;
}

void PmixInfos::add_proc(const char* key, pmix_proc_t& proc) {
  add(key, PMIX_PROC).data.proc = &proc;
}

void PmixInfos::add_u16(const char* key, int value) {
  add(key, PMIX_UINT16).data.uint16 = static_cast<uint16_t>(value);
}

void PmixInfos::add_u32(const char* key, int64_t value) {
  add(key, PMIX_UINT32).data.uint32 = static_cast<uint32_t>(value);
}

void PmixInfos::add_size(const char* key, uint64_t value) {
  add(key, PMIX_SIZE).data.size = value;
}

pmix_value_t& PmixInfos::add_bytes(const char* key, char* bytes, size_t size) {
  pmix_value_t& added = add(key, PMIX_BYTE_OBJECT);
  added.data.bo.bytes = bytes;
  added.data.bo.size = size;
  return added;
}

void PmixInfos::add_rank(const char* key, int rank) {
  add(key, PMIX_PROC_RANK).data.rank = static_cast<pmix_rank_t>(rank);
}

bool PmixInfos::add_regex(const PmixLibrary& library, const char* key,
                          char* text) {
  // Only the library knows how long it is: it may hold zero bytes.
  pmix_value_t value{};
  const bool loaded = pmix_ok(library.value_load(&value, text, PMIX_REGEX));
  std::free(text);
  if (!loaded) return false;
  texts_.emplace_back(value.data.bo.bytes, value.data.bo.size);
  std::free(value.data.bo.bytes);
  pmix_value_t& added = add(key, PMIX_REGEX);
  added.data.bo.bytes = texts_.back().data();
  added.data.bo.size = texts_.back().size();
  return true;
}

void PmixInfos::add_array(const char* key, PmixInfos& inner) {
  arrays_.push_back({PMIX_INFO, inner.size(), inner.data()});
  add(key, PMIX_DATA_ARRAY).data.darray = &arrays_.back();
}

}  // namespace muster
