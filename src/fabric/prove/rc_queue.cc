// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/rc_queue.h"

#ifdef MUSTER_HAS_VERBS

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/random.h"

namespace muster {

namespace {

constexpr int kInFlight = 16;
// Spinning measures latency; what takes longer than any working network is
// waited for without burning the pod's CPU limit.
constexpr std::chrono::milliseconds kSpin{2};
constexpr std::chrono::microseconds kNap{200};

tl::unexpected<Error> step_failed(const std::string& code, const char* step,
                                  const RailEnd& end, int number) {
  return fail_errno(number, code, std::string(step) + " fails", end.hca);
}

ibv_mtu mtu_code(int bytes) {
  if (bytes >= 4096) return IBV_MTU_4096;
  if (bytes >= 2048) return IBV_MTU_2048;
  if (bytes >= 1024) return IBV_MTU_1024;
  return bytes >= 512 ? IBV_MTU_512 : IBV_MTU_256;
}

std::string hex_of(const ibv_gid& gid) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : gid.raw) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

bool from_hex(const std::string& text, ibv_gid& gid) {
  if (text.size() != 32) return false;
  for (size_t i = 0; i < 16; ++i) {
    const std::string pair = text.substr(2 * i, 2);
    if (pair.find_first_not_of("0123456789abcdef") != pair.npos) return false;
    gid.raw[i] = static_cast<uint8_t>(std::stoi(pair, nullptr, 16));
  }
  return true;
}

ibv_context* open_named(const VerbsLibrary& verbs, const std::string& name) {
  int count = 0;
  ibv_device** devices = verbs.get_device_list(&count);
  for (int i = 0; devices != nullptr && i < count; ++i) {
    if (name == verbs.get_device_name(devices[i])) {
      return verbs.open_device(devices[i]);
    }
  }
  errno = ENODEV;
  return nullptr;
}

}  // namespace

RcQueue::~RcQueue() { close(); }

void RcQueue::close() {
  if (qp_ != nullptr) verbs_.destroy_qp(qp_);
  if (mr_ != nullptr) verbs_.dereg_mr(mr_);
  if (cq_ != nullptr) verbs_.destroy_cq(cq_);
  if (pd_ != nullptr) verbs_.dealloc_pd(pd_);
  if (context_ != nullptr) verbs_.close_device(context_);
  qp_ = nullptr;
  mr_ = nullptr;
  cq_ = nullptr;
  pd_ = nullptr;
  context_ = nullptr;
}

// mr_ stays null, and errno says why, where it fails.
void RcQueue::register_memory(const GpuBuffer& gpu) {
  constexpr int kAccess =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  if (gpu.address == 0) memory_.assign(kRcMemory, 0);
  mine_.memory = gpu.address != 0 ? gpu.address
                                  : reinterpret_cast<uint64_t>(memory_.data());
  errno = EOPNOTSUPP;
  if (gpu.dmabuf < 0) {
    mr_ = verbs_.reg_mr(pd_, reinterpret_cast<void*>(mine_.memory), kRcMemory,
                        kAccess);
  } else if (verbs_.reg_dmabuf_mr != nullptr) {
    mr_ = verbs_.reg_dmabuf_mr(pd_, 0, kRcMemory, mine_.memory, gpu.dmabuf,
                               kAccess);
  }
}

Status RcQueue::open(const RailEnd& end, const GpuBuffer& gpu) {
  end_ = end;
  const auto bad = [&](const char* step) {
    return step_failed("rdma_open", step, end_, errno);
  };
  if (!load_verbs(verbs_)) {
    return fail({"rdma_open", "RDMA cannot be tested",
                 "libibverbs.so.1 is not in the image", end_.hca,
                 "add rdma-core (libibverbs) to the image"});
  }
  if (end_.ethernet && end_.gid_index < 0) {
    return fail({"rdma_gid", "the port has no RoCE v2 address for this peer",
                 "its GID table has none of a kind that the peer has, too",
                 end_.hca,
                 "give the adapter's interface an IP address in this pod"});
  }
  context_ = open_named(verbs_, end_.hca);
  if (context_ == nullptr) return bad("opening the adapter");
  pd_ = verbs_.alloc_pd(context_);
  if (pd_ == nullptr) return bad("making a protection domain");
  cq_ = verbs_.create_cq(context_, 2 * kInFlight, nullptr, nullptr, 0);
  if (cq_ == nullptr) return bad("making a completion queue (memlock?)");
  register_memory(gpu);
  if (mr_ == nullptr) {
    return bad(gpu.address == 0 ? "registering 4 MiB of memory (memlock?)"
                                : "registering memory of the GPU");
  }
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = cq_;
  wanted.cap = {kInFlight, 1, 1, 1, 0};
  wanted.qp_type = IBV_QPT_RC;
  qp_ = verbs_.create_qp(pd_, &wanted);
  if (qp_ == nullptr) return bad("making a queue pair");
  const auto number = static_cast<uint8_t>(end_.port);
  ibv_port_attr port{};
  if (verbs_.query_port(context_, number, &port) != 0) {
    return bad("asking the port");
  }
  ibv_gid gid{};
  if (end_.gid_index >= 0) {
    if (verbs_.query_gid(context_, number, end_.gid_index, &gid) != 0) {
      return step_failed("rdma_gid", "reading the GID", end_, errno);
    }
    mine_.gid = hex_of(gid);
  }
  mine_.psn = static_cast<int64_t>(random_bits() & 0xffffff);
  mine_.qpn = qp_->qp_num;
  mine_.lid = port.lid;
  mine_.mtu = 128 << port.active_mtu;
  mine_.rkey = mr_->rkey;
  return {};
}

Status RcQueue::connect(const RcAddress& peer, int mtu) {
  peer_ = peer;
  if (Status done = initialize(); !done) return done;
  if (Status done = get_ready_to_receive(mtu); !done) return done;
  return get_ready_to_send();
}

Status RcQueue::initialize() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = static_cast<uint8_t>(end_.port);
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  const int wrong = verbs_.modify_qp(
      qp_, &attr,
      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (wrong != 0) return step_failed("rdma_open", "INIT", end_, wrong);
  return {};
}

Status RcQueue::get_ready_to_receive(int mtu) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = mtu_code(mtu);
  attr.dest_qp_num = static_cast<uint32_t>(peer_.qpn);
  attr.rq_psn = static_cast<uint32_t>(peer_.psn);
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = 12;
  attr.ah_attr.port_num = static_cast<uint8_t>(end_.port);
  attr.ah_attr.dlid = static_cast<uint16_t>(peer_.lid);
  if (end_.gid_index >= 0) {
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(end_.gid_index);
    attr.ah_attr.grh.hop_limit = 64;
    if (!from_hex(peer_.gid, attr.ah_attr.grh.dgid)) {
      return fail({"rdma_gid",
                   "the peer gave no address for RoCE",
                   "its port has no usable GID",
                   end_.hca,
                   {}});
    }
  }
  const int wrong = verbs_.modify_qp(
      qp_, &attr,
      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
          IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  // RoCE asks the network for the peer's MAC address here.
  if (wrong == ETIMEDOUT || wrong == EHOSTUNREACH || wrong == ENETUNREACH) {
    return fail(
        {"rdma_unreachable",
         "RDMA gets no answer",
         "no host has the peer's address: " + std::string(std::strerror(wrong)),
         end_.hca,
         {}});
  }
  if (wrong != 0) {
    return step_failed("rdma_gid", "the way to the peer's address (RTR)", end_,
                       wrong);
  }
  return {};
}

Status RcQueue::get_ready_to_send() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;  // 67 ms, seven times
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.sq_psn = static_cast<uint32_t>(mine_.psn);
  attr.max_rd_atomic = 1;
  const int wrong = verbs_.modify_qp(
      qp_, &attr,
      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
          IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  if (wrong != 0) return step_failed("rdma_open", "RTS", end_, wrong);
  return {};
}

Status RcQueue::post(bool write, size_t size) {
  ibv_sge piece{mine_.memory, static_cast<uint32_t>(size), mr_->lkey};
  ibv_send_wr work{};
  work.sg_list = &piece;
  work.num_sge = 1;
  work.opcode = write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
  work.send_flags = IBV_SEND_SIGNALED;
  work.wr.rdma.remote_addr = peer_.memory;
  work.wr.rdma.rkey = static_cast<uint32_t>(peer_.rkey);
  ibv_send_wr* bad = nullptr;
  const int wrong = ::ibv_post_send(qp_, &work, &bad);
  if (wrong != 0) return step_failed("rdma_open", "posting", end_, wrong);
  return {};
}

Status RcQueue::poll(int& done, Deadline deadline) {
  ibv_wc completion{};
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const int count = ::ibv_poll_cq(cq_, 1, &completion);
    if (count < 0) return step_failed("rdma_open", "polling", end_, errno);
    if (count == 0 && left_ms(deadline) > 0) {
      if (std::chrono::steady_clock::now() - start > kSpin) {
        std::this_thread::sleep_for(kNap);
      }
      continue;
    }
    if (count == 0) {
      return fail({"rdma_unreachable",
                   "RDMA gets no answer",
                   "nothing came back in time",
                   end_.hca,
                   {}});
    }
    if (completion.status == IBV_WC_SUCCESS) {
      ++done;
      return {};
    }
    const bool silent = completion.status == IBV_WC_RETRY_EXC_ERR;
    return fail({silent ? "rdma_unreachable" : "rdma_data",
                 silent ? "RDMA gets no answer" : "an RDMA transfer fails",
                 std::string(verbs_.wc_status_str(completion.status)) +
                     " (error " + std::to_string(completion.status) +
                     ", vendor " + std::to_string(completion.vendor_err) + ")",
                 end_.hca,
                 {}});
  }
}

Status RcQueue::transfer(bool write, size_t size, int count,
                         Deadline deadline) {
  int posted = 0;
  int done = 0;
  while (done < count) {
    while (posted < count && posted - done < kInFlight) {
      if (Status s = post(write, size); !s) return s;
      ++posted;
    }
    if (Status s = poll(done, deadline); !s) return s;
  }
  return {};
}

}  // namespace muster

#endif
