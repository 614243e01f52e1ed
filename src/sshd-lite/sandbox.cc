// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <vector>

namespace muster {

namespace {

// GCC and Clang have different macros for it; its shadow counts as data.
#if defined(__SANITIZE_ADDRESS__)
#define MUSTER_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MUSTER_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0;  // no filter on other machines
#endif

// Reading, writing, waiting, memory, time, ending. A sanitizer's runtime and
// OpenSSL's random generator need no more.
constexpr std::array kAllowed = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_recvfrom,
    SYS_sendto,
    SYS_ppoll,
    SYS_close,
    SYS_shutdown,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_getsockname,
    SYS_getpeername,
    SYS_fcntl,
    SYS_dup3,
    SYS_fstat,
    SYS_lseek,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_getrandom,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_getpid,
    SYS_gettid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_sched_yield,
    SYS_getrusage,
    SYS_exit,
    SYS_exit_group,
#if defined(__x86_64__)
    SYS_poll,
    SYS_time,
#endif
};

void limit(__rlimit_resource resource, rlim_t value) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value) {
    value = now.rlim_max;
  }
  const rlimit wanted{value, value};
  ::setrlimit(resource, &wanted);
}

void set_limits() {
  limit(RLIMIT_CORE, 0);  // a core file would hold the job key
  limit(RLIMIT_NOFILE, 32);
#if !defined(MUSTER_ADDRESS_SANITIZER)
  // A session needs well under 10 MiB; its windows bound the rest.
  limit(RLIMIT_DATA, rlim_t{256} << 20);
#endif
}

// Loads the system call's number, then compares it with each allowed one.
// mmap and mprotect are allowed unless they ask for executable memory.
std::vector<sock_filter> make_filter() {
  constexpr auto load = [](size_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                static_cast<uint32_t>(offset));
  };
  const sock_filter allow BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_filter refuse BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  std::vector<sock_filter> out;
  out.push_back(load(offsetof(seccomp_data, arch)));
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  out.push_back(refuse);
  out.push_back(load(offsetof(seccomp_data, nr)));
  for (const long number : kAllowed) {
    out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                           static_cast<uint32_t>(number), 0, 1));
    out.push_back(allow);
  }
  for (const long number : {SYS_mmap, SYS_mprotect}) {
    out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                           static_cast<uint32_t>(number), 0, 4));
    out.push_back(load(offsetof(seccomp_data, args[2])));
    out.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1));
    out.push_back(refuse);
    out.push_back(allow);
  }
  out.push_back(refuse);
  return out;
}

}  // namespace

bool has_system_call_filter() { return kArchitecture != 0; }

Status enter_sandbox() {
  set_limits();
  ::prctl(PR_SET_DUMPABLE, 0);  // ranks of the same user may not read the key
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return fail_errno("sandbox", "PR_SET_NO_NEW_PRIVS");
  }
  if (!has_system_call_filter()) return {};
  std::vector<sock_filter> filter = make_filter();
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           filter.data()};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return fail_errno("sandbox", "system call filter");
  }
  return {};
}

}  // namespace muster
