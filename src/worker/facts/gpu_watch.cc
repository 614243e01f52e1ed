// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/gpu_watch.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <tuple>
#include <utility>

#include "base/spawn.h"
#include "base/text.h"
#include "fabric/collect/nvml.h"
#include "worker/facts/nvml_gpus.h"

namespace muster {

namespace {

constexpr Milliseconds kInterval{5'000};
constexpr Milliseconds kStale{15'000};
// A GPU in trouble may report thousands in a second.
constexpr Milliseconds kXidPace{1'000};
constexpr size_t kLongestLine = 8192;
constexpr std::string_view kProblem = "problem ";

void add(int64_t& sum, int64_t value) {
  if (value >= 0) sum = std::max<int64_t>(sum, 0) + value;
}

// A GPU, or an instance of one, of which the driver tells no use.
void add_gpu(wire::GpuNow gpu, GpuSample& out) {
  ++out.gpus;
  add(out.memory_used, gpu.memory_used);
  add(out.memory_total, gpu.memory_total);
  out.ids.push_back(gpu.id);
  out.each.push_back(std::move(gpu));
}

void add_nvidia(void* nvml, void* device, const std::string& id,
                int64_t percent, GpuSample& out) {
  wire::GpuNow gpu{id, percent};
  if (const auto memory = nvml_memory(nvml, device)) {
    gpu.memory_used = static_cast<int64_t>(memory->used);
    gpu.memory_total = static_cast<int64_t>(memory->total);
  }
  add_gpu(std::move(gpu), out);
}

GpuSample sample_nvidia(const NvmlGpus& nvidia) {
  GpuSample out;
  void* const nvml = nvidia.nvml();
  for (const NvmlGpu& gpu : nvidia.gpus()) {
    void* const device = gpu.handle;
    NvmlUtilization busy{};
    int64_t percent = -1;
    if (ask_driver(nvml, "nvmlDeviceGetUtilizationRates", device, &busy)) {
      percent = busy.gpu;
      add(out.busy_percent, percent);
    }
    for (const NvmlInstance& one : gpu.instances) {
      add_nvidia(nvml, one.handle, one.uuid, -1, out);
    }
    if (gpu.instances.empty()) {
      add_nvidia(nvml, device, gpu.uuid, percent, out);
    }
    unsigned long long reasons = 0;
    if (ask_driver(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", device,
                   &reasons)) {
      const bool slow = std::any_of(
          kNvmlSlowdowns.begin(), kNvmlSlowdowns.end(),
          [reasons](const auto& one) { return (reasons & one.first) != 0; });
      add(out.slowed, slow ? 1 : 0);
    }
  }
  const bool unnamed = std::any_of(out.ids.begin(), out.ids.end(),
                                   [](const auto& id) { return id.empty(); });
  if (unnamed) out.ids.clear();
  return out;
}

// NVIDIA's, NVIDIA's under WSL, AMD's.
bool has_gpu() {
  constexpr std::array kDevices = {"/dev/nvidiactl", "/dev/dxg", "/dev/kfd"};
  return std::any_of(kDevices.begin(), kDevices.end(), [](const char* path) {
    return ::access(path, F_OK) == 0;
  });
}

bool write_line(const std::string& line) {
  return write_all(STDOUT_FILENO, line + "\n").has_value();
}

// Counts Xids until it may report them: the first of a kind at once, more of it
// once a second.
class XidPace {
 public:
  void add(XidNews news) {
    const auto key = std::make_tuple(news.xid, news.gpu, news.uuid);
    if (waiting_.size() >= wire::kMostXids && !waiting_.contains(key)) return;
    const auto [entry, first] =
        waiting_.try_emplace(key, Waiting{std::move(news), {}});
    if (!first) ++entry->second.news.count;
  }
  // False: the reader has gone.
  bool tell(Clock::time_point now) {
    for (auto& [key, one] : waiting_) {
      if (one.news.count == 0 || now - one.told < kXidPace) continue;
      if (!write_line(to_line(one.news))) return false;
      one.news.count = 0;
      one.told = now;
    }
    return true;
  }
  [[nodiscard]] bool owes() const {
    return std::any_of(waiting_.begin(), waiting_.end(), [](const auto& one) {
      return one.second.news.count > 0;
    });
  }

 private:
  struct Waiting {
    XidNews news;
    Clock::time_point told;
  };
  std::map<std::tuple<int, int, std::string>, Waiting> waiting_;
};

// Waits for Xids until `end`, and tells them. False: the reader has gone.
bool hear_until(Clock::time_point end, NvmlGpus& nvidia, XidPace& pace) {
  for (auto now = Clock::now(); now < end; now = Clock::now()) {
    const auto left = std::chrono::ceil<Milliseconds>(end - now);
    if (!nvidia.listening()) {
      ::usleep(static_cast<useconds_t>(left.count() * 1000));
      continue;
    }
    auto news = nvidia.wait_xid(pace.owes() ? std::min(left, kXidPace) : left);
    if (news) pace.add(std::move(*news));
    if (!pace.tell(Clock::now())) return false;
    if (!nvidia.listening() &&
        !write_line(std::string(kProblem) + nvidia.problem())) {
      return false;
    }
  }
  return true;
}

int64_t number_in(const std::string& path) {
  const auto text = read_file(path, 64);
  const auto number = text ? parse_integer(trim(*text)) : std::nullopt;
  return number ? *number : -1;
}

}  // namespace

// Cards are /sys/class/drm/card0 …, of the whole node; those of the pod have a
// render node in its /dev/dri.
GpuSample sample_amd(const std::string& root) {
  GpuSample out;
  for (unsigned i = 0; i < kMostGpus; ++i) {
    const std::string device =
        root + "/sys/class/drm/renderD" + std::to_string(128 + i) + "/device/";
    const std::string node =
        root + "/dev/dri/renderD" + std::to_string(128 + i);
    if (::access(node.c_str(), F_OK) != 0) continue;
    const int64_t busy = number_in(device + "gpu_busy_percent");
    if (busy < 0) continue;  // another vendor's
    add(out.busy_percent, busy);
    add_gpu({"", busy, number_in(device + "mem_info_vram_used"),
             number_in(device + "mem_info_vram_total")},
            out);
  }
  out.ids.clear();
  return out;
}

std::string to_line(const GpuSample& sample) {
  std::string out;
  for (const int64_t value :
       {sample.gpus, sample.busy_percent, sample.memory_used,
        sample.memory_total, sample.slowed}) {
    out += std::to_string(value) + " ";
  }
  std::vector<std::string> each;
  for (const wire::GpuNow& gpu : sample.each) {
    each.push_back(std::to_string(gpu.percent) + ":" +
                   std::to_string(gpu.memory_used) + ":" +
                   std::to_string(gpu.memory_total));
  }
  return out + (sample.ids.empty() ? "-" : join(sample.ids, ",")) + " " +
         (each.empty() ? "-" : join(each, ","));
}

namespace {

// False: not as to_line() writes it.
bool read_each(std::string_view word, GpuSample& out) {
  if (word == "-") return true;
  for (const auto one : split(word, ',')) {
    const auto numbers = split(one, ':');
    wire::GpuNow gpu;
    int64_t* const fields[] = {&gpu.percent, &gpu.memory_used,
                               &gpu.memory_total};
    if (numbers.size() != std::size(fields)) return false;
    for (size_t i = 0; i < std::size(fields); ++i) {
      const auto value = parse_integer(numbers[i]);
      if (!value || *value < -1) return false;
      *fields[i] = *value;
    }
    if (out.each.size() < out.ids.size()) gpu.id = out.ids[out.each.size()];
    out.each.push_back(std::move(gpu));
  }
  return true;
}

}  // namespace

std::optional<GpuSample> gpu_sample_from_line(std::string_view line) {
  const auto words = split_words(line);
  GpuSample out;
  int64_t* const fields[] = {&out.gpus, &out.busy_percent, &out.memory_used,
                             &out.memory_total, &out.slowed};
  constexpr size_t kIds = std::size(fields);
  if (words.size() != kIds + 2) return std::nullopt;
  for (size_t i = 0; i < std::size(fields); ++i) {
    const auto value = parse_integer(words[i]);
    if (!value || *value < -1) return std::nullopt;
    *fields[i] = *value;
  }
  if (out.gpus < 1 || out.gpus > kMostGpus) return std::nullopt;
  if (words[kIds] != "-") {
    for (const auto id : split(words[kIds], ',')) out.ids.emplace_back(id);
  }
  if (!read_each(words[kIds + 1], out)) return std::nullopt;
  return out;
}

// The last value holds until now, but not for ever.
double GpuUse::held_us(Clock::time_point now) const {
  const auto passed = std::min<Clock::duration>(now - *at_, kStale);
  return std::chrono::duration<double, std::micro>(passed).count();
}

double GpuUse::busy_us(Clock::time_point now) const {
  const auto percent =
      static_cast<double>(std::max<int64_t>(last_.busy_percent, 0));
  return busy_us_ + held_us(now) * percent / 100;
}

double GpuUse::slowed_us(Clock::time_point now) const {
  return slowed_us_ +
         held_us(now) * static_cast<double>(std::max<int64_t>(last_.slowed, 0));
}

void GpuUse::add(const GpuSample& sample, Clock::time_point now) {
  if (at_) {
    busy_us_ = busy_us(now);
    slowed_us_ = slowed_us(now);
  }
  last_ = sample;
  at_ = now;
}

void GpuUse::tell(wire::PodCounters& out, Clock::time_point now) const {
  if (!at_) return;
  if (last_.busy_percent >= 0) {
    out.gpu_busy_us = static_cast<int64_t>(busy_us(now));
  }
  if (last_.slowed >= 0) {
    out.gpu_slowed_us = static_cast<int64_t>(slowed_us(now));
  }
  if (now - *at_ > kStale) return;
  out.gpus = last_.gpus;
  out.gpu_ids = last_.ids;
  out.gpu_list = last_.each;
  if (last_.busy_percent >= 0) {
    out.gpu_percent = last_.busy_percent / last_.gpus;
  }
  out.gpu_memory_used = last_.memory_used;
  out.gpu_memory_total = last_.memory_total;
}

GpuWatch::~GpuWatch() {
  if (pid_ == 0) return;
  reaper_.forget(pid_);  // still reaped, as a stranger
  ::kill(-pid_, SIGKILL);
}

void GpuWatch::start(const std::string& binary, const std::string& library) {
  if (std::exchange(started_, true)) return;
  if (library.empty() && !has_gpu()) return;
  auto pipe = make_pipe();
  if (!pipe) return;
  SpawnOptions options;
  options.argv = {binary, "gpu-watch"};
  if (!library.empty()) options.argv.push_back(library);
  options.env = current_environment();
  options.parent_death_signal = SIGKILL;
  options.fds = {{pipe->write.get(), 1}};
  const auto pid = spawn(options);
  if (!pid) return;  // it is a convenience: the job runs without
  pid_ = *pid;
  reaper_.watch(pid_, [this](const ChildExit&) { pid_ = 0; });
  out_ = std::move(pipe->read);
  set_nonblocking(out_.get());
  watch_ = std::make_unique<FdWatch>(loop_, out_.get());
  watch_->on_readable([this] { read_some(); });
}

void GpuWatch::read_some() {
  char bytes[1024];
  const ssize_t n = ::read(out_.get(), bytes, sizeof bytes);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    watch_.reset();
    return;
  }
  pending_.append(bytes, static_cast<size_t>(n));
  for (size_t end = 0; (end = pending_.find('\n')) != std::string::npos;) {
    read_line(std::string_view(pending_).substr(0, end));
    pending_.erase(0, end + 1);
  }
  if (pending_.size() > kLongestLine) pending_.clear();
  if (std::exchange(xid_news_, false) && events_.on_xid) events_.on_xid();
}

void GpuWatch::read_line(std::string_view line) {
  if (line.starts_with(kProblem)) {
    line.remove_prefix(kProblem.size());
    if (events_.on_problem) events_.on_problem(std::string(line));
  } else if (const auto news = xid_news_from_line(line)) {
    xids_.add(*news, Clock::now());
    xid_news_ = true;
  } else if (const auto sample = gpu_sample_from_line(line)) {
    use_.add(*sample, Clock::now());
  }
}

void GpuWatch::tell(wire::PodCounters& out) const {
  use_.tell(out, Clock::now());
  xids_.tell(out, Clock::now());
}

void GpuWatch::catch_up() {
  if (watch_) read_some();
}

int gpu_watch_main(const std::string& library) {
  NvmlGpus nvidia(library.empty() ? kNvmlLibrary : library);
  if (!nvidia.gpus().empty()) nvidia.listen();
  if (!nvidia.problem().empty() &&
      !write_line(std::string(kProblem) + nvidia.problem())) {
    return 0;
  }
  XidPace pace;
  for (;;) {
    const auto next = Clock::now() + kInterval;
    const GpuSample sample =
        nvidia.gpus().empty() ? sample_amd("") : sample_nvidia(nvidia);
    if (sample.gpus == 0) return 0;
    if (!write_line(to_line(sample))) return 0;
    if (!hear_until(next, nvidia, pace)) return 0;
  }
}

}  // namespace muster
