// SPDX-License-Identifier: Apache-2.0
// Lines of the children: "version N", "library PATH", "step NODES RANKS
// NANOSECONDS", "over", "fail CODE SENTENCE".
#include "fabric/prove/nccl_rank.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

#include "base/fd.h"
#include "base/hostname.h"
#include "base/text.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/collect/forked_probe.h"
#include "fabric/prove/nccl_meeting.h"
#include "fabric/prove/nccl_report.h"

namespace muster {

namespace {

constexpr int kMeetMs = 60'000;

int complain(const std::string& text, int code) {
  static_cast<void>(write_all(STDERR_FILENO, text + "\n"));
  return code;
}

int exit_class(std::string_view code) {
  if (code.ends_with("_missing")) return 100;
  return code == "nccl_fails" ? 38 : 35;
}

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == 0 ? otherwise : value;
}

int number(const char* name, int otherwise) {
  const auto value = parse_integer(variable(name, ""));
  const bool fits = value && *value >= 0 && *value < 1 << 20;
  return fits ? static_cast<int>(*value) : otherwise;
}

RankAtMeeting own_place() {
  RankAtMeeting place;
  place.rank = number("RANK", 0);
  place.ranks = number("WORLD_SIZE", 1);
  place.local_rank = number("LOCAL_RANK", 0);
  place.master_host = variable("MASTER_ADDR", "127.0.0.1");
  place.master_port = variable("MASTER_PORT", "29500");
  place.host = own_hostname();
  return place;
}

Status measure_steps(const NcclCalls& nccl, const CudaCalls& cuda,
                     const RankAtMeeting& place, NcclMeeting& meeting, int out,
                     Deadline deadline) {
  std::vector<int> steps{-1};  // as long as rank 0 deals
  if (place.rank == 0) steps = meeting.steps();
  if (place.rank == 0) steps.push_back(0);
  for (size_t i = 0; place.rank != 0 || i < steps.size(); ++i) {
    NcclId id{};
    if (place.rank == 0 && steps[i] > 0 && nccl.make_id(&id) != 0) {
      return fail({"nccl_fails",
                   "ncclGetUniqueId fails",
                   "NCCL finds no interface to start with",
                   {},
                   "look at NCCL_SOCKET_IFNAME: `muster fabric explain`"});
    }
    const auto deal = place.rank == 0 ? meeting.deal(steps[i], id, deadline)
                                      : meeting.receive(deadline);
    if (!deal) return fail(deal.error());
    if (deal->nodes == 0) return {};
    if (!deal->seat) continue;
    const auto seconds = time_all_reduce(nccl, cuda, *deal->seat);
    if (!seconds) return fail(seconds.error());
    probe_says(out, "step " + std::to_string(deal->nodes) + " " +
                        std::to_string(deal->seat->ranks) + " " +
                        std::to_string(static_cast<int64_t>(*seconds * 1e9)));
  }
  return {};
}

void child(const NcclRankOptions& options, const RankAtMeeting& place,
           NcclMeeting& meeting, int out) {
  const auto tell = [out](const Error& error) {
    std::string text = error.text();
    for (char& c : text) c = c == '\n' ? ' ' : c;
    probe_says(out, "fail " + error.code + " " + text);
  };
  const auto nccl = open_nccl(options.nccl);
  if (!nccl) return tell(nccl.error());
  int version = 0;
  static_cast<void>(nccl->version(&version));
  probe_says(out, "version " + nccl_version_text(version));
  Dl_info where{};
  if (::dladdr(reinterpret_cast<void*>(nccl->version), &where) != 0 &&
      where.dli_fname != nullptr) {
    probe_says(out, std::string("library ") + where.dli_fname);
  }
  const auto cuda = open_cuda(options.cuda, place.local_rank);
  if (!cuda) return tell(cuda.error());
  const Status status = measure_steps(*nccl, *cuda, place, meeting, out,
                                      deadline_in(options.phase_ms));
  if (!status) return tell(status.error());
  probe_says(out, "over");
}

struct Phase {
  std::string version;
  std::string library;
  std::vector<NcclStep> steps;
  std::string code;  // "": it came to its end
  std::string text;
};

Phase read_phase(const std::string& lines) {
  Phase out;
  out.code = "deadline";
  out.text = "NCCL gave no result in time: it hangs, or its process died";
  for (const auto line : split(lines, '\n')) {
    const auto words = split_words(line);
    if (words.empty()) continue;
    if (words[0] == "over") out.code.clear();
    if (words[0] == "version" && words.size() == 2) out.version = words[1];
    if (words[0] == "library") out.library = line.substr(words[0].size() + 1);
    if (const auto step = nccl_step_in(line)) out.steps.push_back(*step);
    if (words[0] == "fail" && words.size() > 2) {
      out.code = words[1];
      out.text = line.substr(line.find(words[1]) + words[1].size() + 1);
    }
  }
  return out;
}

}  // namespace

int nccl_rank_main(const NcclRankOptions& options) {
  const RankAtMeeting place = own_place();
  NcclFigures figures;
  const std::string names = variable("MUSTER_NETWORK_SETTINGS", "");
  for (const auto name : split_words(names)) {
    if (name.starts_with("NCCL_")) figures.settings.emplace_back(name);
  }
  const auto run = [&](bool alone) {
    // New connections: those of a phase that failed hold its last words.
    auto meeting =
        NcclMeeting::meet(place, deadline_in(kMeetMs + options.phase_ms));
    if (!meeting) {
      return Phase{{}, {}, {}, meeting.error().code, meeting.error().text()};
    }
    return read_phase(forked_probe(options.phase_ms, [&](int out) {
      for (const std::string& name : figures.settings) {
        if (alone) ::unsetenv(name.c_str());
      }
      child(options, place, *meeting, out);
    }));
  };
  std::string trouble;
  if (!figures.settings.empty()) {
    Phase alone = run(true);
    // That NCCL alone fails is a result: it is why there are settings.
    if (exit_class(alone.code) == 100 && !alone.code.empty()) {
      return complain(alone.text, 100);
    }
    if (!alone.code.empty()) trouble = "NCCL alone: " + alone.text + "\n";
    figures.alone = std::move(alone.steps);
  }
  Phase set = run(false);
  if (!set.code.empty()) return complain(set.text, exit_class(set.code));
  figures.version = std::move(set.version);
  figures.library = std::move(set.library);
  figures.set = std::move(set.steps);
  if (place.rank != 0) return 0;
  static_cast<void>(write_all(STDERR_FILENO, trouble));
  static_cast<void>(write_all(STDOUT_FILENO, options.json
                                                 ? nccl_figures_json(figures)
                                                 : nccl_figures_text(figures)));
  return 0;
}

}  // namespace muster
