// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/mpi_test.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "base/fd.h"
#include "base/self_path.h"
#include "fabric/collect/mpi_library.h"
#include "fabric/prove/judge_parts.h"
#include "job/json_fields.h"

namespace muster {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kSmall = 8;
constexpr int kLarge = 1 << 20;
constexpr int kSumDoubles = 2 << 20;  // 16 MiB
constexpr int kHostBytes = 256;

// Half of the median time of `count` round trips, in microseconds.
double ping_pong(MpiLibrary& mpi, int rank, int bytes, int count) {
  std::vector<char> data(static_cast<size_t>(bytes), 'm');
  std::vector<double> times;
  for (int i = -5; i < count; ++i) {  // five to warm up
    const auto start = Clock::now();
    if (rank == 0) {
      mpi.send(data.data(), bytes, 1);
      mpi.receive(data.data(), bytes, 1);
    } else if (rank == 1) {
      mpi.receive(data.data(), bytes, 0);
      mpi.send(data.data(), bytes, 0);
    }
    const std::chrono::duration<double> time = Clock::now() - start;
    if (i >= 0) times.push_back(time.count() * 1e6 / 2);
  }
  return median_of(std::move(times));
}

// False if some rank got a wrong sum.
bool allreduce(MpiLibrary& mpi, int doubles, int count, double& microseconds) {
  std::vector<double> mine(static_cast<size_t>(doubles), mpi.rank() + 1.0);
  std::vector<double> sum(mine.size());
  std::vector<double> times;
  for (int i = -1; i < count; ++i) {
    mpi.barrier();
    const auto start = Clock::now();
    mpi.sum(mine.data(), sum.data(), doubles);
    const std::chrono::duration<double> time = Clock::now() - start;
    if (i >= 0) times.push_back(time.count() * 1e6);
  }
  microseconds = median_of(std::move(times));
  const double wanted = mpi.size() * (mpi.size() + 1.0) / 2;
  return std::all_of(sum.begin(), sum.end(),
                     [&](double value) { return value == wanted; });
}

std::string host_of_one(MpiLibrary& mpi, int rank, const char* own) {
  std::array<char, kHostBytes> name{};
  if (rank == 1) mpi.send(own, kHostBytes, 0);
  if (rank == 0) mpi.receive(name.data(), kHostBytes, 1);
  name.back() = 0;
  return name.data();
}

int complain(const std::string& text, int code) {
  static_cast<void>(write_all(STDERR_FILENO, text + "\n"));
  return code;
}

}  // namespace

std::string mpi_figures_text(const MpiFigures& figures) {
  const std::string latency = decimal(figures.latency_us) + " us";
  std::string out =
      figures.library + ", " + std::to_string(figures.ranks) + " ranks\n" +
      "ping-pong " + figures.host + " - " + figures.partner + ": " + latency +
      " one way, " + decimal(figures.gbps) + " Gb/s with 1 MiB\n" +
      "allreduce: " + decimal(figures.small_sum_us) + " us for 8 bytes, " +
      decimal(figures.large_sum_ms) + " ms for 16 MiB\n";
  if (figures.host == figures.partner) {
    return out +
           "Both ranks are on one host: this is shared memory, not the "
           "network.\n";
  }
  if (figures.latency_us < 4) {
    return out + latency + ": as it should be over RDMA.\n";
  }
  return out + latency + " is what TCP gives: < 2 us needs RDMA.\n";
}

std::string mpi_figures_json(const MpiFigures& figures) {
  JsonWriter out;
  out.field("library", figures.library);
  out.field("ranks", figures.ranks);
  out.field("host", figures.host);
  out.field("partner", figures.partner);
  out.field("latency_us", figures.latency_us);
  out.field("gbps", figures.gbps);
  out.field("small_sum_us", figures.small_sum_us);
  out.field("large_sum_ms", figures.large_sum_ms);
  return out.text() + "\n";
}

int mpi_rank_main(bool json) {
  const char* path = std::getenv("PATH");
  const std::string mpirun = find_foreign_program(
      {"mpirun", "mpiexec", "mpiexec.hydra"}, path == nullptr ? "" : path);
  std::array<char, 4096> real{};
  const bool resolved =
      !mpirun.empty() && ::realpath(mpirun.c_str(), real.data()) != nullptr;
  const std::string place = resolved ? std::string(real.data()) : mpirun;
  const auto opened = open_mpi_library(mpi_family_of_mpirun(place), place);
  if (!opened) return complain(opened.error().text(), 100);
  MpiLibrary& mpi = **opened;
  MpiFigures figures;
  figures.library = mpi.version();
  figures.ranks = mpi.size();
  const int rank = mpi.rank();
  if (figures.ranks < 2) {
    mpi.finalize();
    return complain("fabric mpi needs two ranks at least, there is one", 2);
  }
  std::array<char, kHostBytes> own{};
  ::gethostname(own.data(), own.size() - 1);
  figures.host = own.data();
  figures.partner = host_of_one(mpi, rank, own.data());
  figures.latency_us = ping_pong(mpi, rank, kSmall, 500);
  const double large = ping_pong(mpi, rank, kLarge, 20);
  figures.gbps = kLarge * 8e-3 / std::max(large, 0.001);
  double large_sum = 0;
  bool right = allreduce(mpi, 1, 50, figures.small_sum_us);
  right = allreduce(mpi, kSumDoubles, 3, large_sum) && right;
  figures.large_sum_ms = large_sum / 1000;
  mpi.finalize();
  if (!right) return complain("an allreduce gave a wrong sum", 35);
  if (rank == 0) {
    static_cast<void>(
        write_all(STDOUT_FILENO, json ? mpi_figures_json(figures)
                                      : mpi_figures_text(figures)));
  }
  return 0;
}

}  // namespace muster
