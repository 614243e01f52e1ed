# SPDX-License-Identifier: Apache-2.0
"""The few Linux calls that Python 3.11 has no function for, by ctypes.

Does: unshare, setns, mount, umount, pivot_root, sethostname, prctl, capset, and a filter that hides system calls. Nothing
      else knows errno or syscall numbers.
Refuses: nothing by itself; a failing call raises OSError that names the call and its target.
"""
import ctypes
import errno
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS = 0x00020000, 0x02000000, 0x04000000
CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x08000000, 0x20000000, 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_KEEPCAPS, PR_CAPBSET_DROP = 1, 8, 24
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2

CAPABILITIES = [
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
    "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
    "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
    "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
    "CHECKPOINT_RESTORE"]


def _check(result, what):
    if result < 0:
        err = ctypes.get_errno()
        raise OSError(err, f"{what}: {os.strerror(err)}")
    return result


def _b(text):
    return text.encode() if isinstance(text, str) else text


def unshare(flags):
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def setns(fd, nstype=0):
    _check(_libc.setns(fd, nstype), f"setns({nstype:#x})")


def mount(source, target, fstype=None, flags=0, data=None):
    result = _libc.mount(_b(source), _b(target), _b(fstype), ctypes.c_ulong(flags), _b(data))
    _check(result, f"mount {fstype or 'bind'} {source} on {target} ({data or ''})")


def umount(target, flags=0):
    _check(_libc.umount2(_b(target), flags), f"umount {target}")


def pivot_root(new_root, put_old):
    number = {"x86_64": 155, "aarch64": 41}[os.uname().machine]
    _check(_libc.syscall(ctypes.c_long(number), _b(new_root), _b(put_old)), f"pivot_root {new_root}")


def sethostname(name):
    _check(_libc.sethostname(_b(name), len(_b(name))), "sethostname")


def prctl(option, arg2=0, arg3=0, arg4=0, arg5=0):
    args = [ctypes.c_ulong(a) for a in (arg2, arg3, arg4, arg5)]
    return _check(_libc.prctl(option, *args), f"prctl({option}, {arg2})")


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapData(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]


def capset(mask):
    """Effective = permitted = mask (an int of capability bits), inheritable = 0."""
    header = _CapHeader(0x20080522, 0)
    data = (_CapData * 2)()
    for i in range(2):
        data[i].effective = data[i].permitted = (mask >> (32 * i)) & 0xFFFFFFFF
    _check(_libc.capset(ctypes.byref(header), ctypes.byref(data)), "capset")


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]


def hide_newer_calls(first=424):
    """Every system call numbered `first` or above fails with ENOSYS, for this process and all that come of it. All
    that came after Linux 4.18 are: pidfd_send_signal (5.1), the first of them, is 424 on every machine."""
    steps = b"".join(struct.pack("=HBBI", *step) for step in (
        (0x20, 0, 0, 0),                            # load the call's number
        (0x35, 0, 1, first),                        # at least `first`: go on, else skip one
        (0x06, 0, 0, 0x00050000 | errno.ENOSYS),    # SECCOMP_RET_ERRNO
        (0x06, 0, 0, 0x7FFF0000)))                  # SECCOMP_RET_ALLOW
    program = _FilterProgram(len(steps) // 8, steps)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program))


def last_capability():
    with open("/proc/sys/kernel/cap_last_cap") as f:
        return int(f.read())


def bind(source, target, readonly=False, recursive=False):
    mount(source, target, None, MS_BIND | (MS_REC if recursive else 0))
    if readonly:
        mount(None, target, None, MS_BIND | MS_REMOUNT | MS_RDONLY)
