// SPDX-License-Identifier: Apache-2.0
// DescribedPod: of which pod `kubectl describe pod` speaks, and on which node
// it was. "Name:" and "Namespace:" begin a pod's part; the first line that is
// neither indented nor "Key: value" ends it. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace muster {

class DescribedPod {
 public:
  // The host that the next line is about; empty: of none.
  std::string_view host_of(std::string_view line);

 private:
  std::string name_;  // until "Namespace:" says that it is a pod's
  std::string pod_;
  std::string node_;
};

}  // namespace muster
