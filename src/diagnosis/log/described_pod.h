// SPDX-License-Identifier: Apache-2.0
// DescribedPod: the pod of a `kubectl describe pod`, and its node. "Name:" and
// "Namespace:" begin a pod's part; the first line that is neither indented nor
// "Key: value" ends it. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace muster {

class DescribedPod {
 public:
  // The host that the next line is about; empty: none.
  std::string_view host_of(std::string_view line);

 private:
  std::string name_;  // until "Namespace:" shows that it is a pod's
  std::string pod_;
  std::string node_;
};

}  // namespace muster
