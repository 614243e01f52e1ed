// SPDX-License-Identifier: Apache-2.0
// RcQueue: one reliable-connected queue pair with 4 MiB of memory, from opening
// the adapter to polling completions. Owns every verbs object that it makes;
// memory of a GPU stays its caller's. Each step returns the library's reason
// for a failure.
#pragma once

#include "fabric/collect/verbs_library.h"

#ifdef MUSTER_HAS_VERBS

#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/prove/pair_rails.h"
#include "fabric/prove/pair_socket.h"

namespace muster {

// One side of the queue pair as the other must know it.
struct RcAddress {
  int64_t qpn = 0;
  int64_t psn = 0;
  int64_t lid = 0;
  int64_t mtu = 0;  // bytes
  std::string gid;  // 32 hexadecimal digits; empty: none
  uint64_t memory = 0;
  int64_t rkey = 0;
};

constexpr size_t kRcMemory = 4 << 20;

// kRcMemory bytes of a GPU.
struct GpuBuffer {
  uint64_t address = 0;
  int dmabuf = -1;  // of the same bytes; -1: the adapter must know the address
};

class RcQueue {
 public:
  RcQueue() = default;
  ~RcQueue();
  RcQueue(const RcQueue&) = delete;
  RcQueue& operator=(const RcQueue&) = delete;

  // Gives everything back; open() may follow.
  void close();
  // Error codes "rdma_open", "rdma_gid". With `gpu`, memory() is not used.
  Status open(const RailEnd& end, const GpuBuffer& gpu = {});
  [[nodiscard]] const RcAddress& address() const { return mine_; }
  [[nodiscard]] char* memory() { return memory_.data(); }
  // To RTS. `mtu`: of the path, bytes. Error codes "rdma_gid",
  // "rdma_unreachable" (no host has the address), "rdma_open".
  Status connect(const RcAddress& peer, int mtu);
  // Posts `count` writes (or reads) of `size` bytes and waits for all. Error
  // codes "rdma_unreachable" (no answer), "rdma_data", "deadline".
  Status transfer(bool write, size_t size, int count, Deadline deadline);

 private:
  void register_memory(const GpuBuffer& gpu);
  // The states that a queue pair goes through.
  Status initialize();
  Status get_ready_to_receive(int mtu);
  Status get_ready_to_send();
  Status post(bool write, size_t size);
  Status poll(int& done, Deadline deadline);

  VerbsLibrary verbs_{};
  RailEnd end_;
  RcAddress mine_;
  RcAddress peer_;
  std::vector<char> memory_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_qp* qp_ = nullptr;
};

}  // namespace muster

#endif
