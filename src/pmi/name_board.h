// SPDX-License-Identifier: Apache-2.0
// NameBoard: the names that ranks publish for each other (MPI_Publish_name and
// the like): one map for the job, at the launcher. A lookup may wait for keys
// that do not exist yet; its caller keeps the time. Refuses: a key that is
// taken, also within one request; more than 64 MiB in all. Pure; the launcher's
// loop feeds it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire/modex_messages.h"

namespace muster {

class NameBoard {
 public:
  struct Answer {
    uint64_t ticket = 0;  // as given to handle()
    wire::NamesReply reply;
  };

  // Every answer that this request allows: mostly its own; a publish may also
  // answer waiting lookups; a waiting lookup gives none for now.
  std::vector<Answer> handle(uint64_t ticket,
                             const wire::NamesRequest& request);
  // Ends the waiting of `ticket`, if it does: error "timeout".
  std::optional<Answer> expire(uint64_t ticket);

 private:
  struct Entry {
    std::string value;
    int owner = -1;
  };
  struct Waiting {
    uint64_t ticket;
    std::vector<std::string> keys;
  };

  wire::NamesReply publish(const wire::NamesRequest& request);
  wire::NamesReply unpublish(const wire::NamesRequest& request);
  [[nodiscard]] wire::NamesReply look_up(
      const std::vector<std::string>& keys) const;

  std::map<std::string, Entry> entries_;
  std::list<Waiting> waiting_;
  size_t bytes_ = 0;
};

}  // namespace muster
