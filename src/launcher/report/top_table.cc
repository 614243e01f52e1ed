// SPDX-License-Identifier: Apache-2.0
// `muster top`: a JobStatus as a table of a given size.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "launcher/report/status.h"

namespace muster {

namespace {

enum Column : size_t {
  kName,
  kHost,
  kState,
  kCpu,
  kMemory,
  kGpu,
  kGpuMemory,
  kNetwork,
  kRdma,
  kLines,
  kProgress,
  kLoss,
  kLastLine,
  kColumns,
};

constexpr std::array<const char*, kColumns> kTitles = {
    "POD, RANK", "POD",     "STATE",      "CPU",         "MEMORY",
    "GPU",       "GPU MEM", "NET IN/OUT", "RDMA IN/OUT", "LINES/S",
    "PROGRESS",  "LOSS",    "LAST LINE"};
// The columns that a narrow terminal lacks, the first to go first.
constexpr std::array kFirstToGo = {kRdma,     kGpuMemory, kLines,  kNetwork,
                                   kProgress, kLoss,      kMemory, kGpu};
constexpr size_t kLongestName = 28;
constexpr size_t kShortestLastLine = 10;
constexpr size_t kMostNotes = 8;

enum class Mood { kCalm, kOdd, kBad };

struct Row {
  std::array<std::string, kColumns> cells;
  Mood mood = Mood::kCalm;
};

struct Pod {
  const WorkerStatus* worker = nullptr;  // null: known from its ranks alone
  std::string host;
  std::vector<const RankStatus*> ranks;
};

size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

// At most `width` characters; the end is what goes.
std::string cut(std::string_view text, size_t width) {
  if (width_of(text) <= width) return std::string(text);
  std::string out;
  size_t columns = 0;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xc0U) != 0x80;
    if (begins && ++columns >= std::max<size_t>(width, 1)) break;
    out += c;
  }
  return width == 0 ? "" : out + "…";
}

// The same; the beginning goes: names of pods differ at their ends.
std::string cut_front(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  return "…" + text.substr(text.size() - width + 1);
}

std::string number(double value, const char* unit) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), value < 9.95 ? "%.1f%s" : "%.0f%s",
                value, unit);
  return out.data();
}

// 1234567 -> "1.2M"; "" for what is not known.
std::string scaled(double value, double step) {
  if (value < 0) return "";
  constexpr std::array kUnits = {"", "K", "M", "G", "T", "P"};
  size_t unit = 0;
  while (value >= step && unit + 1 < kUnits.size()) {
    value /= step;
    ++unit;
  }
  if (unit == 0) return std::to_string(static_cast<int64_t>(value + 0.5));
  return number(value, kUnits[unit]);
}

std::string bytes(int64_t value) {
  return scaled(static_cast<double>(value), 1024);
}

std::string pair_of(const std::string& first, const std::string& second) {
  if (first.empty() && second.empty()) return "";
  return (first.empty() ? "-" : first) + "/" + (second.empty() ? "-" : second);
}

std::string percent(double value) {
  return value < 0 ? ""
                   : std::to_string(static_cast<int64_t>(value + 0.5)) + "%";
}

std::string cpu_text(double cpus) {
  return cpus < 0 ? "" : percent(cpus * 100);
}

std::string lines_text(double rate) {
  if (rate < 0) return "";
  return rate < 1000 ? number(rate, "") : scaled(rate, 1000);
}

std::string short_host(const std::string& host) {
  return printable_line(host.substr(0, host.find('.')), 255);
}

// "exited with code 3" -> "exit 3"; "killed by signal 9 (Killed)" -> "signal
// 9".
std::string rank_state(const RankStatus& rank) {
  if (rank.state != "exited") return rank.state;
  if (rank.stopped) return "stopped";
  if (!rank.failed) return "done";
  const auto words = split_words(rank.exit);
  if (words.size() > 3 && words[0] == "killed") {
    return "signal " + std::string(words[3]);
  }
  if (words.size() > 3) return "exit " + std::string(words[3]);
  return "failed";
}

Mood mood_of(const RankStatus& rank) {
  if (rank.failed || rank.state == "lost" || rank.state == "not started") {
    return Mood::kBad;
  }
  return rank.straggler.empty() && rank.doing.empty() ? Mood::kCalm
                                                      : Mood::kOdd;
}

Mood mood_of(const WorkerStatus& worker) {
  if (worker.state == "lost") return Mood::kBad;
  return worker.used.xids.empty() ? Mood::kCalm : Mood::kOdd;
}

Mood mood_of(const Pod& pod) {
  Mood out = pod.worker == nullptr ? Mood::kCalm : mood_of(*pod.worker);
  for (const RankStatus* rank : pod.ranks) out = std::max(out, mood_of(*rank));
  return out;
}

// A whole line of the rank, or its step alone, by the room there is.
std::string progress_cell(const std::string& progress, bool wide) {
  if (wide) return progress;
  const auto words = split_words(progress);
  if (words.size() < 2) return progress;
  return std::string(words[words.size() - 2]) + " " + std::string(words.back());
}

Row rank_row(const RankStatus& rank, bool wide, bool indent) {
  Row row;
  row.mood = mood_of(rank);
  auto& cells = row.cells;
  const char* const mark = row.mood == Mood::kCalm ? "  " : "! ";
  cells[kName] = (indent                    ? mark
                  : row.mood == Mood::kCalm ? ""
                                            : "! ") +
                 std::to_string(rank.rank);
  if (!indent) cells[kHost] = short_host(rank.host);
  cells[kState] = rank_state(rank);
  cells[kMemory] = bytes(rank.memory_bytes);
  if (rank.state == "running") {
    cells[kCpu] = cpu_text(rank.cpu);
    cells[kGpu] = percent(rank.gpu_percent);
    cells[kGpuMemory] =
        pair_of(bytes(rank.gpu_memory_used), bytes(rank.gpu_memory_total));
    cells[kLines] = lines_text(rank.lines_per_second);
  } else {
    cells[kMemory].clear();
  }
  cells[kProgress] = progress_cell(printable_line(rank.progress), wide);
  cells[kLoss] = printable_line(rank.loss);
  cells[kLastLine] = printable_line(rank.last_line);
  return row;
}

void add(double& sum, double value) {
  if (value >= 0) sum = std::max(sum, 0.0) + value;
}

std::string pod_state(const Pod& pod) {
  if (pod.worker != nullptr && pod.worker->state != "ready") {
    return pod.worker->step.empty() ? pod.worker->state : pod.worker->step;
  }
  if (pod.ranks.empty()) return "ready";
  const auto running = std::count_if(
      pod.ranks.begin(), pod.ranks.end(),
      [](const RankStatus* rank) { return rank->state == "running"; });
  return std::to_string(running) + "/" + std::to_string(pod.ranks.size()) +
         " run";
}

Row pod_row(const Pod& pod) {
  Row row;
  row.mood = mood_of(pod);
  auto& cells = row.cells;
  cells[kName] = short_host(pod.host);
  cells[kState] = pod_state(pod);
  double lines = -1;
  double cpu = -1;
  for (const RankStatus* rank : pod.ranks) {
    if (rank->state != "running") continue;
    add(lines, rank->lines_per_second);
    add(cpu, rank->cpu);
  }
  cells[kLines] = lines_text(lines);
  if (pod.worker == nullptr) return row;
  const WorkerStatus& worker = *pod.worker;
  if (worker.state == "ready") {
    cells[kCpu] = cpu_text(worker.rates.cpu < 0 ? cpu : worker.rates.cpu);
    cells[kMemory] =
        worker.memory_limit > 0
            ? pair_of(bytes(worker.memory_bytes), bytes(worker.memory_limit))
            : bytes(worker.memory_bytes);
    cells[kGpu] = percent(static_cast<double>(worker.used.gpu_percent));
    cells[kGpuMemory] = pair_of(bytes(worker.used.gpu_memory_used),
                                bytes(worker.used.gpu_memory_total));
    cells[kNetwork] = pair_of(scaled(worker.rates.network_received, 1000),
                              scaled(worker.rates.network_sent, 1000));
    cells[kRdma] = pair_of(scaled(worker.rates.rdma_received, 1000),
                           scaled(worker.rates.rdma_sent, 1000));
  }
  if (!worker.problem.empty()) {
    cells[kLastLine] = printable_line(worker.problem);
  }
  return row;
}

std::vector<Pod> pods_of(const JobStatus& status) {
  std::vector<Pod> out;
  std::map<std::string, size_t> index;
  for (const WorkerStatus& worker : status.workers) {
    index.emplace(worker.host, out.size());
    out.push_back({&worker, worker.host, {}});
  }
  for (const RankStatus& rank : status.ranks) {
    const auto [found, fresh] = index.emplace(rank.host, out.size());
    if (fresh) out.push_back({nullptr, rank.host, {}});
    out[found->second].ranks.push_back(&rank);
  }
  return out;
}

// The rows that are shown, and what the others are.
struct Body {
  std::vector<Row> rows;
  std::string rest;
};

// Those of `moods` that `room` holds, the worst first, in their order.
std::vector<bool> chosen(const std::vector<Mood>& moods,
                         const std::vector<size_t>& heights, size_t room) {
  std::vector<bool> out(moods.size(), false);
  for (const Mood mood : {Mood::kBad, Mood::kOdd, Mood::kCalm}) {
    for (size_t i = 0; i < moods.size(); ++i) {
      if (moods[i] != mood || heights[i] > room) continue;
      out[i] = true;
      room -= heights[i];
    }
  }
  return out;
}

Body by_rank(const JobStatus& status, size_t room, bool wide) {
  Body out;
  const bool all = room == 0 || status.ranks.size() <= room;
  std::vector<Mood> moods;
  for (const RankStatus& rank : status.ranks) moods.push_back(mood_of(rank));
  const auto shown =
      all ? std::vector<bool>(moods.size(), true)
          : chosen(moods, std::vector<size_t>(moods.size(), 1), room - 1);
  for (size_t i = 0; i < moods.size(); ++i) {
    if (shown[i]) out.rows.push_back(rank_row(status.ranks[i], wide, false));
  }
  if (const size_t left = moods.size() - out.rows.size(); left > 0) {
    out.rest = "… and " + std::to_string(left) + " more ranks";
  }
  return out;
}

Body by_pod(const JobStatus& status, size_t room, bool wide) {
  const std::vector<Pod> pods = pods_of(status);
  const bool all = room == 0 || pods.size() + status.ranks.size() <= room;
  std::vector<Mood> moods;
  std::vector<size_t> heights;
  size_t needed = 0;
  for (const Pod& pod : pods) {
    size_t height = 1;
    for (const RankStatus* rank : pod.ranks) {
      height += all || mood_of(*rank) != Mood::kCalm;
    }
    moods.push_back(mood_of(pod));
    heights.push_back(height);
    needed += height;
  }
  const auto shown =
      room == 0 || needed <= room
          ? std::vector<bool>(pods.size(), true)
          : chosen(moods, heights, std::max<size_t>(room, 1) - 1);
  Body out;
  size_t left = 0;
  size_t left_ranks = 0;
  for (size_t i = 0; i < pods.size(); ++i) {
    if (!shown[i]) {
      ++left;
      left_ranks += pods[i].ranks.size();
      continue;
    }
    out.rows.push_back(pod_row(pods[i]));
    for (const RankStatus* rank : pods[i].ranks) {
      if (!all && mood_of(*rank) == Mood::kCalm) continue;
      out.rows.push_back(rank_row(*rank, wide, true));
    }
  }
  if (left > 0) {
    out.rest = "… and " + std::to_string(left) +
               (left == 1 ? " more pod with " : " more pods with ") +
               std::to_string(left_ranks) + " ranks";
  }
  return out;
}

// The width of each column, 0 for one that is left out.
std::array<size_t, kColumns> widths_of(const std::vector<Row>& rows,
                                       size_t columns, size_t gap) {
  std::array<size_t, kColumns> out{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) {
      out[i] = std::max(out[i], width_of(row.cells[i]));
    }
  }
  for (size_t i = 0; i < kColumns; ++i) {
    if (out[i] > 0) out[i] = std::max(out[i], width_of(kTitles[i]));
  }
  const size_t longest = std::min(kLongestName, columns / 3);
  out[kName] = std::min(out[kName], longest);
  out[kHost] = std::min(out[kHost], longest);
  const bool has_last = std::exchange(out[kLastLine], 0) > 0;
  const auto used = [&] {
    size_t sum = 0;
    for (const size_t width : out) sum += width > 0 ? width + gap : 0;
    return sum;
  };
  for (const Column column : kFirstToGo) {
    if (used() <= columns + gap) break;
    out[column] = 0;
  }
  if (has_last && used() + kShortestLastLine <= columns) {
    out[kLastLine] = columns - used();
  }
  return out;
}

std::string line_of(const std::array<std::string, kColumns>& cells,
                    const std::array<size_t, kColumns>& widths, size_t gap) {
  std::string out;
  size_t blanks = 0;
  for (size_t i = 0; i < kColumns; ++i) {
    if (widths[i] == 0) continue;
    const std::string cell = i == kName || i == kHost
                                 ? cut_front(cells[i], widths[i])
                                 : cut(cells[i], widths[i]);
    const size_t pad = widths[i] - std::min(widths[i], width_of(cell));
    const bool right = i != kName && i != kHost && i != kState &&
                       i != kProgress && i != kLastLine;
    if (right) blanks += pad;
    if (!cell.empty()) {
      out.append(blanks, ' ');
      out += cell;
      blanks = 0;
    }
    if (!right) blanks += pad;
    blanks += gap;
  }
  return out;
}

std::string colored(const std::string& text, Mood mood, bool color) {
  if (!color || mood == Mood::kCalm) return text;
  return (mood == Mood::kBad ? "\x1b[31m" : "\x1b[33m") + text + "\x1b[0m";
}

struct Note {
  std::string text;
  Mood mood;
};

std::vector<Note> notes_of(const JobStatus& status) {
  std::vector<Note> out;
  for (const RankStatus& rank : status.ranks) {
    const Mood mood = mood_of(rank);
    if (mood == Mood::kCalm) continue;
    const std::string& why = mood == Mood::kBad && rank.state == "exited"
                                 ? rank.exit
                             : mood == Mood::kBad ? rank.state
                             : rank.doing.empty() ? rank.straggler
                                                  : rank.doing;
    out.push_back({"! rank " + std::to_string(rank.rank) + " on " +
                       short_host(rank.host) + ": " + printable_line(why),
                   mood});
  }
  for (const WorkerStatus& worker : status.workers) {
    for (const wire::GpuXid& xid : worker.used.xids) {
      out.push_back({"! " + short_host(worker.host) + ": " +
                         printable_line(xid_status(xid)),
                     Mood::kOdd});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Note& a, const Note& b) {
    return a.mood > b.mood;
  });
  return out;
}

std::string heading(const JobStatus& status) {
  if (!status.ended) {
    return "launch " + printable_line(status.launch_id) + "  phase " +
           printable_line(status.phase) + "  job since " +
           human_seconds(status.job_ms);
  }
  return "launch " + printable_line(status.launch_id) + "  ended after " +
         human_seconds(status.job_ms) + " with exit code " +
         std::to_string(status.ended->exit_code);
}

std::string counts(const JobStatus& status) {
  std::map<std::string, int> states;
  size_t failed = 0;
  size_t odd = 0;
  for (const RankStatus& rank : status.ranks) {
    ++states[rank.state];
    failed += rank.failed;
    odd += !rank.straggler.empty();
  }
  const auto ready = std::count_if(
      status.workers.begin(), status.workers.end(),
      [](const WorkerStatus& worker) { return worker.state == "ready"; });
  std::string out = std::to_string(ready) + " of " +
                    std::to_string(status.workers.size()) + " pods ready";
  for (const auto& [state, count] : states) {
    out += ", " + std::to_string(count) + " " + printable_line(state);
  }
  if (failed > 0) out += ", " + std::to_string(failed) + " failed";
  if (odd > 0)
    out +=
        ", " + std::to_string(odd) + (odd == 1 ? " straggler" : " stragglers");
  return out + ", " + std::to_string(status.lines) + " lines";
}

}  // namespace

std::string top_text(const JobStatus& status, const TopView& view) {
  const size_t columns = std::clamp<size_t>(view.columns, 20, 1'000);
  const size_t gap = columns < 100 ? 1 : 2;
  const bool wide = columns >= 120;
  std::vector<Note> notes = notes_of(status);
  // A third of the screen at most.
  const size_t most_notes =
      view.rows == 0 ? notes.size() : std::min(kMostNotes, view.rows / 3);
  const size_t left_notes = notes.size() - std::min(notes.size(), most_notes);
  notes.resize(notes.size() - left_notes);
  size_t room = 0;
  if (view.rows > 0) {
    const size_t around =
        4 + notes.size() + (left_notes > 0) + !view.note.empty();
    room = view.rows > around + 1 ? view.rows - around : 1;
  }
  const Body body =
      view.by_rank ? by_rank(status, room, wide) : by_pod(status, room, wide);
  const auto widths = widths_of(body.rows, columns, gap);
  std::array<std::string, kColumns> titles;
  for (size_t i = 0; i < kColumns; ++i) titles[i] = kTitles[i];
  if (view.by_rank) titles[kName] = "RANK";
  std::string out = cut(heading(status), columns) + "\n" +
                    cut(one_line(status.command, 1'000), columns) + "\n" +
                    cut(counts(status), columns) + "\n";
  const std::string title = cut(line_of(titles, widths, gap), columns);
  if (!body.rows.empty()) {
    out += (view.color ? "\x1b[7m" + title + "\x1b[0m" : title) + "\n";
  }
  for (const Row& row : body.rows) {
    out += colored(cut(line_of(row.cells, widths, gap), columns), row.mood,
                   view.color) +
           "\n";
  }
  if (!body.rest.empty()) out += cut(body.rest, columns) + "\n";
  for (const Note& note : notes) {
    out += colored(cut(note.text, columns), note.mood, view.color) + "\n";
  }
  if (left_notes > 0) {
    out += cut("! and " + std::to_string(left_notes) + " more", columns) + "\n";
  }
  if (!view.note.empty()) out += cut(view.note, columns) + "\n";
  return out;
}

}  // namespace muster
