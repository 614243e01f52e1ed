// SPDX-License-Identifier: Apache-2.0
#include "stacks/thread_freeze.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/fd.h"

namespace muster {

namespace {

constexpr size_t kMaxStack = 128 << 10;

// 'R', 'S', 'D', …; '?': gone.
char state_of(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  if (!text) return '?';
  const size_t end = text->rfind(')');
  return end == std::string::npos || end + 2 >= text->size() ? '?'
                                                             : (*text)[end + 2];
}

#if defined(__x86_64__)
void take(const user_regs_struct& from, CallRegisters& to) {
  to.values = {from.rax, from.rdx, from.rcx, from.rbx, from.rsi, from.rdi,
               from.rbp, from.rsp, from.r8,  from.r9,  from.r10, from.r11,
               from.r12, from.r13, from.r14, from.r15, from.rip};
  to.pc = from.rip;
}
#elif defined(__aarch64__)
void take(const user_regs_struct& from, CallRegisters& to) {
  for (size_t i = 0; i < 31; ++i) to.values[i] = from.regs[i];
  to.values[31] = from.sp;
  to.pc = from.pc;
}
#endif

}  // namespace

Status freeze(pid_t pid) {
  const std::string where = "process " + std::to_string(pid);
  const char state = state_of(pid);
  if (state == 'D') {
    return fail(Error{"not_traceable", "its stack cannot be read",
                      "it is in an uninterruptible wait, as for a disk or a "
                      "device",
                      where, ""});
  }
  if (::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) {
    return fail_errno("not_traceable", "its stack cannot be read", where);
  }
  if (::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0) {
    return fail_errno("not_traceable", "it cannot be stopped", where);
  }
  return {};
}

Result<StackSnapshot> copy_and_thaw(pid_t pid, int wait_status) {
  StackSnapshot out;
  out.pid = pid;
  user_regs_struct registers{};
  iovec raw{&registers, sizeof registers};
  const bool have = ::ptrace(PTRACE_GETREGSET, pid,
                             reinterpret_cast<void*>(NT_PRSTATUS), &raw) == 0;
  if (have) {
    take(registers, out.registers);
    out.stack_begin = out.registers.sp();
    out.stack.resize(kMaxStack);
    // Page by page from below: what is above the stack ends the copy.
    size_t taken = 0;
    while (taken < kMaxStack) {
      const uint64_t at = out.stack_begin + taken;
      const size_t wanted =
          std::min<size_t>(kMaxStack - taken, 4096 - at % 4096);
      iovec local{out.stack.data() + taken, wanted};
      iovec remote{reinterpret_cast<void*>(at), wanted};
      if (::process_vm_readv(pid, &local, 1, &remote, 1, 0) !=
          static_cast<ssize_t>(wanted)) {
        break;
      }
      taken += wanted;
    }
    out.stack.resize(taken);
  }
  const bool by_us = wait_status >> 16 == PTRACE_EVENT_STOP;
  const long signal = by_us ? 0 : WSTOPSIG(wait_status);
  ::ptrace(PTRACE_DETACH, pid, nullptr, reinterpret_cast<void*>(signal));
  if (!have) {
    return fail_errno("not_traceable", "its registers cannot be read",
                      "process " + std::to_string(pid));
  }
  return out;
}

}  // namespace muster
