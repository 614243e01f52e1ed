// SPDX-License-Identifier: Apache-2.0
#include "worker/hang/agent_flight.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>
#include <set>

#include "base/fd.h"
#include "base/pickle.h"
#include "base/read_to_end.h"
#include "base/text.h"
#include "worker/hang/flight_dump.h"

namespace muster {

namespace {

constexpr useconds_t kPoll = 100'000;
// A file system's clock ticks coarsely, and may be another machine's.
constexpr int64_t kClockSlackNs = 2'000'000'000;
constexpr size_t kLongestInput = 1 << 20;

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The state of a file that was seen: PyTorch writes over an older dump.
struct Stamp {
  ino_t inode = 0;
  int64_t written_ns = 0;
  off_t size = 0;
  bool operator==(const Stamp&) const = default;
};

struct Opened {
  UniqueFd fd;
  std::string path;
  Stamp stamp;
};

// The newest of the files that are this rank's own.
std::optional<Opened> open_newest(const wire::FlightPlace& place) {
  std::optional<Opened> newest;
  for (const std::string& path : place.files) {
    UniqueFd fd(
        ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_uid != ::geteuid()) {
      continue;
    }
    const Stamp stamp{info.st_ino, nanoseconds(info.st_mtim), info.st_size};
    if (stamp.written_ns + kClockSlackNs < place.since_ns) continue;
    if (newest && newest->stamp.written_ns >= stamp.written_ns) continue;
    newest = Opened{std::move(fd), path, stamp};
  }
  return newest;
}

Result<wire::FlightRecord> read_opened(const Opened& file) {
  return read_flight_dump(read_to_end(file.fd.get(), Pickle::kLongest));
}

// A rank whose monitor reads its pipe writes a dump within a second or so.
bool ask_for_dump(const wire::FlightPlace& place) {
  for (const std::string& path : place.pipes) {
    const UniqueFd fd(
        ::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISFIFO(info.st_mode) ||
        info.st_uid != ::geteuid()) {
      continue;
    }
    if (::write(fd.get(), "1\n", 2) == 2) return true;
  }
  return false;
}

// Waits until `end` for a whole record that differs from `before`, then takes
// that one: a rank that has written one about its failure may write no other.
// nullopt: none.
std::optional<wire::FlightRecord> read_record(const wire::FlightPlace& place,
                                              const Stamp& before,
                                              Clock::time_point end) {
  for (;; ::usleep(kPoll)) {
    const bool last = Clock::now() >= end;
    const auto file = open_newest(place);
    if (!file && last) return {};
    if (!file || (file->stamp == before && !last)) continue;
    auto read = read_opened(*file);
    if (!read && !last) continue;  // half written
    wire::FlightRecord record;
    if (read) {
      record = std::move(*read);
    } else {
      record.problem = file->path + ": " + read.error().text();
    }
    record.rank = place.rank;
    record.written_ns = file->stamp.written_ns;
    return record;
  }
}

}  // namespace

wire::FlightPlace flight_place(int rank, std::string_view environ_text) {
  const std::string number = std::to_string(rank);
  const auto value = [environ_text](const std::string& name) -> std::string {
    for (const std::string_view entry : split(environ_text, '\0')) {
      if (entry.starts_with(name + "=")) {
        return std::string(entry.substr(name.size() + 1));
      }
    }
    return {};
  };
  wire::FlightPlace place;
  place.rank = rank;
  // The newer name counts in PyTorch 2.8 and later only.
  for (const char* name :
       {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"}) {
    const std::string prefix = value(name);
    if (prefix.starts_with('/')) place.files.push_back(prefix + number);
  }
  if (place.files.empty()) {
    const std::string home = value("HOME");
    const std::string cache = (home.empty() ? "/tmp" : home) + "/.cache";
    for (const std::string& root : {value("XDG_CACHE_HOME"), cache}) {
      if (!root.starts_with('/')) continue;
      place.files.push_back(root + "/torch/comm_lib_trace_rank_" + number);
    }
    place.files.push_back("/tmp/nccl_trace_rank_" + number);
  }
  // The newer name is that of other devices than CUDA's.
  for (const char* name :
       {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCH_FR_DEBUG_INFO_PIPE_FILE"}) {
    const std::string pipe = value(name);
    if (pipe.starts_with('/')) place.pipes.push_back(pipe + number + ".pipe");
  }
  return place;
}

std::vector<wire::FlightRecord> read_flight_records(
    const wire::FlightRequest& request, Milliseconds limit) {
  const Clock::time_point end = Clock::now() + limit;
  // The records that the ranks in question had written before.
  std::map<int, Stamp> before;
  for (const wire::FlightPlace& place : request.places) {
    if (!request.ask) break;
    const auto file = open_newest(place);
    if (ask_for_dump(place)) before[place.rank] = file ? file->stamp : Stamp{};
  }
  std::vector<wire::FlightRecord> records;
  std::set<std::pair<std::string, std::string>> told;  // groups
  for (const wire::FlightPlace& place : request.places) {
    const auto asked = before.find(place.rank);
    auto record = asked == before.end()
                      ? read_record(place, Stamp{}, Clock::now())
                      : read_record(place, asked->second, end);
    if (!record) continue;
    for (wire::FlightGroup& group : record->groups) {
      if (!told.emplace(group.name, group.members).second) group.ranks.clear();
    }
    records.push_back(std::move(*record));
  }
  return records;
}

int flight_main() {
  const auto request =
      wire::flight_request_from_json(read_to_end(STDIN_FILENO, kLongestInput));
  if (!request) return 1;
  // Less than the agent waits for us.
  auto records =
      read_flight_records(*request, kFlightLimit - Milliseconds{2'500});
  const std::string answer = to_json(std::move(records), kLongestFlight);
  return write_all(STDOUT_FILENO, answer) ? 0 : 1;
}

}  // namespace muster
