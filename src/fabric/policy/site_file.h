// SPDX-License-Identifier: Apache-2.0
// Reads the site file: values that a pod cannot detect (traffic class, service
// level, queue pairs), written by the operator of the fabric.
//   # comment
//   NCCL_IB_TC=106          for every pod
//   [roce] or [ib] [efa] [slingshot] [tcp]: the lines below only there
// Refuses: names that are not environment variables, repeated names in one
// section, more than 64 KiB. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

struct SiteValue {
  std::string section;  // "": all
  std::string name;
  std::string value;
  std::string origin;  // "FILE:LINE"
};

struct SiteFile {
  std::vector<SiteValue> values;
};

// Error code "site_file".
Result<SiteFile> parse_site_file(std::string_view text,
                                 const std::string& where);

}  // namespace muster
