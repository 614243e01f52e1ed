// SPDX-License-Identifier: Apache-2.0
// PmixInfos: an array of pmix_info_t whose memory is ours, for calls that copy
// their arguments. Built by hand: PMIx' own macros allocate with its malloc and
// differ between releases.
#pragma once

#include <pmix_common.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "worker/pmix/agent_pmix_library.h"

namespace muster {

class PmixInfos {
 public:
  PmixInfos() = default;
  PmixInfos(const PmixInfos&) = delete;
  PmixInfos& operator=(const PmixInfos&) = delete;

  void add_text(const char* key, std::string_view value);
  void add_bool(const char* key, bool value);
  void add_int(const char* key, int value);
  void add_u16(const char* key, int value);
  void add_u32(const char* key, int64_t value);
  void add_size(const char* key, uint64_t value);
  // `bytes` stay the caller's.
  pmix_value_t& add_bytes(const char* key, char* bytes, size_t size);
  void add_rank(const char* key, int rank);
  // `proc` stays the caller's.
  void add_proc(const char* key, pmix_proc_t& proc);
  // The result of PMIx_generate_regex and _ppn for a list; takes `text` over.
  bool add_regex(const PmixLibrary& library, const char* key, char* text);
  // `inner` as one value (PMIX_PROC_DATA); must outlive this.
  void add_array(const char* key, PmixInfos& inner);

  [[nodiscard]] pmix_info_t* data() { return infos_.data(); }
  [[nodiscard]] size_t size() const { return infos_.size(); }

 private:
  pmix_value_t& add(const char* key, pmix_data_type_t type);

  std::vector<pmix_info_t> infos_;
  std::deque<std::string> texts_;
  std::deque<pmix_data_array_t> arrays_;
};

pmix_proc_t pmix_proc(const std::string& nspace, uint32_t rank);

}  // namespace muster
