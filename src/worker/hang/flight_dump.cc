// SPDX-License-Identifier: Apache-2.0
#include "worker/hang/flight_dump.h"

#include <algorithm>
#include <map>

#include "base/pickle.h"
#include "base/printable.h"
#include "base/text.h"

namespace muster {

namespace {

using wire::FlightCall;
using wire::FlightGroup;
using wire::FlightState;
using Ref = Pickle::Ref;

constexpr size_t kMostGroups = 256;
constexpr size_t kMostRanks = 1 << 16;
constexpr size_t kCallsAround = 4;
constexpr size_t kMostFrames = 256;
constexpr size_t kLongestText = 96;

// The end of a path says more than its beginning: cuts the beginning.
std::string shown(std::string_view text) {
  if (text.size() > kLongestText) {
    text.remove_prefix(text.size() - kLongestText);
  }
  return without_controls(text);
}

class Dump {
 public:
  explicit Dump(const Pickle& pickle) : data_(pickle) {}

  Result<wire::FlightRecord> read() {
    // Before 2.3 a dump was the list of its entries.
    std::optional<Ref> entries = data_.root();
    if (data_.kind(*entries) == Pickle::Kind::kDict) {
      if (const auto config = data_.find(data_.root(), "pg_config")) {
        read_config(*config);
      }
      entries = data_.find(data_.root(), "entries");
    }
    if (!entries || data_.kind(*entries) != Pickle::Kind::kList) {
      return fail(Error{"flight_dump",
                        "this is not a dump of a flight recorder",
                        "it has no list of entries", "", ""});
    }
    wire::FlightRecord record;
    record.whole = true;
    for (const Ref entry : data_.items(*entries)) {
      if (number(entry, "record_id").value_or(1) == 0) seen_first_ = true;
      read_entry(entry);
    }
    record.whole = seen_first_ || data_.items(*entries).empty();
    for (auto& [name, found] : groups_) {
      if (found.uneven) continue;
      complete_in_order(found.calls);
      for (auto& [seq, call] : found.calls) {
        found.group.calls.push_back(std::move(call));
      }
      if (!found.calls.empty()) found.group.last = found.calls.rbegin()->first;
      wire::note_sequence(found.group);
      wire::keep_telling_calls(found.group, kCallsAround);
      record.groups.push_back(std::move(found.group));
    }
    return record;
  }

 private:
  struct Found {
    FlightGroup group;
    std::map<int64_t, FlightCall> calls;
    bool uneven = false;  // ranks need not count alike
  };

  [[nodiscard]] std::optional<int64_t> number(Ref dict,
                                              std::string_view key) const {
    const auto found = data_.find(dict, key);
    return found ? data_.integer(*found) : std::nullopt;
  }

  [[nodiscard]] std::string_view word(Ref dict, std::string_view key) const {
    const auto found = data_.find(dict, key);
    return (found ? data_.text(*found) : std::nullopt).value_or("");
  }

  [[nodiscard]] std::span<const Ref> list(Ref dict,
                                          std::string_view key) const {
    const auto found = data_.find(dict, key);
    if (!found || data_.kind(*found) != Pickle::Kind::kList) return {};
    return data_.items(*found);
  }

  Found* group(std::string_view name) {
    const auto known = groups_.find(std::string(name));
    if (known != groups_.end()) return &known->second;
    if (groups_.size() >= kMostGroups) return nullptr;
    Found& made = groups_[std::string(name)];
    made.group.name = shown(name);
    return &made;
  }

  // {"0": {"desc": "default_pg", "ranks": "[0, 1]"}}, formerly {0: [0, 1]}.
  void read_config(Ref config) {
    if (data_.kind(config) != Pickle::Kind::kDict) return;
    const auto items = data_.items(config);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const auto count = data_.integer(items[i]);
      Found* const found =
          group(count ? std::to_string(*count)
                      : std::string(data_.text(items[i]).value_or("")));
      if (found == nullptr) return;
      std::vector<int>& ranks = found->group.ranks;
      const auto add = [&ranks](std::optional<int64_t> rank) {
        if (rank && *rank >= 0 && *rank <= INT32_MAX &&
            ranks.size() < kMostRanks) {
          ranks.push_back(static_cast<int>(*rank));
        }
      };
      if (data_.kind(items[i + 1]) == Pickle::Kind::kList) {
        for (const Ref rank : data_.items(items[i + 1])) {
          add(data_.integer(rank));
        }
      } else {
        std::string_view text = word(items[i + 1], "ranks");
        if (text.starts_with('[')) text.remove_prefix(1);
        if (text.ends_with(']')) text.remove_suffix(1);
        for (const auto part : split(text, ',')) add(parse_integer(trim(part)));
        found->group.description = shown(word(items[i + 1], "desc"));
      }
      std::sort(ranks.begin(), ranks.end());
      found->group.members = fingerprint(ranks);
    }
  }

  // FNV-1a.
  static std::string fingerprint(const std::vector<int>& ranks) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const int rank : ranks) {
      hash = (hash ^ static_cast<uint64_t>(rank)) * 0x100000001b3;
    }
    return std::to_string(ranks.size()) + "-" + std::to_string(hash);
  }

  void read_entry(Ref entry) {
    auto seq = number(entry, "collective_seq_id");
    const bool one_count = !seq;  // before form 2.0, for sends as well
    if (!seq) seq = number(entry, "seq_id");
    std::string_view operation = word(entry, "profiling_name");
    operation.remove_prefix(operation.find(':') + 1);  // "nccl:"
    const bool between_two = operation.starts_with("send ") ||
                             operation.starts_with("recv ") ||
                             number(entry, "is_p2p").value_or(0) != 0;
    if (!seq || *seq < 0 || operation.empty()) return;

    const auto names = list(entry, "process_group");
    std::string_view name;
    std::string count;
    if (!names.empty()) {
      name = data_.text(names[0]).value_or("");
    } else {
      count = std::to_string(number(entry, "pg_id").value_or(0));
      name = count;
    }
    Found* const found = group(name);
    if (found == nullptr) return;
    found->uneven |= between_two && one_count;
    if (between_two) return;
    if (names.size() > 1 && found->group.description.empty()) {
      found->group.description = shown(data_.text(names[1]).value_or(""));
    }
    // The group was recreated under its old name: earlier calls are another
    // group's.
    if (!found->calls.empty() && *seq < found->calls.rbegin()->first) {
      found->calls.clear();
    }
    const FlightState state = state_of(word(entry, "state"));
    const auto known = found->calls.find(*seq);
    if (known != found->calls.end()) {
      // Several in one launch: only the one that ends it has a state.
      known->second.state = std::max(known->second.state, state);
      return;
    }
    FlightCall& call = found->calls[*seq];
    call.seq = *seq;
    call.operation = public_name(operation);
    call.state = state;
    const auto called = number(entry, "time_created_ns");
    call.called_ns =
        called ? *called
               : number(entry, "time_created_us").value_or(0) / 1000 * 1000000;
    read_sizes(entry, call);
    call.place = place_of(list(entry, "frames"));
    keep_few(found->calls);
  }

  static FlightState state_of(std::string_view state) {
    return state == "completed" ? FlightState::kCompleted
           : state == "started" ? FlightState::kStarted
                                : FlightState::kScheduled;
  }

  // As programs call them.
  static std::string public_name(std::string_view operation) {
    if (operation == "_all_gather_base") return "all_gather_into_tensor";
    if (operation == "_reduce_scatter_base") return "reduce_scatter_tensor";
    if (operation == "all_reduce_barrier") return "barrier";
    return shown(operation);
  }

  void read_sizes(Ref entry, FlightCall& call) const {
    const auto types = list(entry, "input_dtypes");
    if (!types.empty()) {
      call.type = shown(data_.text(types[0]).value_or(""));
    }
    const auto inputs = list(entry, "input_sizes");
    if (inputs.empty()) return;
    std::string shape;
    int64_t all = 0;
    for (const Ref input : inputs) {
      int64_t elements = 1;
      for (const Ref size : data_.items(input)) {
        const int64_t one = data_.integer(size).value_or(-1);
        if (one < 0 || __builtin_mul_overflow(elements, one, &elements)) return;
        if (input == inputs[0]) {
          shape += (shape.empty() ? "" : ", ") + std::to_string(one);
        }
      }
      if (__builtin_add_overflow(all, elements, &all)) return;
    }
    call.elements = all;
    call.shape = shown("[" + shape + "]");
    if (inputs.size() > 1) {
      call.shape += " and " + std::to_string(inputs.size() - 1) + " more";
    }
  }

  // The user's innermost frame: not PyTorch's, not Python's own.
  [[nodiscard]] std::string place_of(std::span<const Ref> frames) const {
    const auto told = [this](Ref frame) {
      const std::string_view path = word(frame, "filename");
      std::string text(path.substr(path.rfind('/') + 1));
      text += ":" + std::to_string(number(frame, "line").value_or(0));
      const std::string_view function = word(frame, "name");
      if (!function.empty() && !function.starts_with('<')) {
        text += " (" + std::string(function) + ")";
      }
      return shown(text);
    };
    for (size_t i = 0; i < frames.size() && i < kMostFrames; ++i) {
      const std::string_view path = word(frames[i], "filename");
      const bool installed = path.find("-packages/") != std::string_view::npos;
      const bool own =
          path.empty() || path.starts_with('<') ||
          path.find("/torch/") != std::string_view::npos ||
          (!installed && path.find("/lib/python") != std::string_view::npos);
      if (!own) return told(frames[i]);
    }
    return frames.empty() ? std::string() : told(frames[0]);
  }

  // A group has one stream: calls behind one that is over are over, too,
  // whatever the recorder could see of their parts.
  static void complete_in_order(std::map<int64_t, FlightCall>& calls) {
    bool over = false;
    for (auto it = calls.rbegin(); it != calls.rend(); ++it) {
      over |= it->second.state == FlightState::kCompleted;
      if (over) it->second.state = FlightState::kCompleted;
    }
  }

  // In a long record, calls that were over long ago do not matter.
  static void keep_few(std::map<int64_t, FlightCall>& calls) {
    constexpr size_t kMany = 1 << 14;
    if (calls.size() <= kMany) return;
    const auto over = std::find_if(calls.begin(), calls.end(), [](auto& one) {
      return one.second.state == FlightState::kCompleted;
    });
    if (over != calls.end()) calls.erase(over);
  }

  const Pickle& data_;
  std::map<std::string, Found> groups_;
  bool seen_first_ = false;
};

}  // namespace

Result<wire::FlightRecord> read_flight_dump(std::string_view bytes) {
  const auto pickle = Pickle::read(bytes);
  if (!pickle) return tl::unexpected(pickle.error());
  return Dump(*pickle).read();
}

}  // namespace muster
