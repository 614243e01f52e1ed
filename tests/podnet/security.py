# SPDX-License-Identifier: Apache-2.0
"""The security context of a container: user, groups, capabilities, no_new_privs.

Does: turns the calling process into what a container runtime would exec: drop_to() is the last step before exec.
Refuses: to keep a capability that was not asked for; the bounding set is cut too, so a setuid program gains nothing.
Owns nothing. Two profiles supply what a manifest leaves open: "restricted" (OpenShift restricted-v2: arbitrary UID,
GID 0, fsGroup, no capability, no_new_privs) and "kubernetes" (what a plain cluster gives: root, 14 capabilities).
"""
import os

from . import linux

RUNTIME_DEFAULT_CAPS = ["CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP",
                        "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE"]
OPENSHIFT_UID = 1000680000

PROFILES = {
    "restricted": {"uid": OPENSHIFT_UID, "gid": 0, "fs_group": OPENSHIFT_UID, "caps": [], "no_new_privs": True,
                   "readonly_root": True},
    "kubernetes": {"uid": 0, "gid": 0, "fs_group": None, "caps": RUNTIME_DEFAULT_CAPS, "no_new_privs": False,
                   "readonly_root": False},
}


def drop_to(uid, gid, groups, caps, no_new_privs, old_kernel=False):
    """Become uid:gid with exactly these capabilities (names without CAP_)."""
    if old_kernel:      # first: without no_new_privs it needs a capability
        linux.hide_newer_calls()
    mask = 0
    for name in caps:
        mask |= 1 << linux.CAPABILITIES.index(name.upper().removeprefix("CAP_"))
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    for cap in range(linux.last_capability() + 1):
        if not mask & (1 << cap):
            linux.prctl(linux.PR_CAPBSET_DROP, cap)
    os.setresuid(uid, uid, uid)
    linux.prctl(linux.PR_CAP_AMBIENT, linux.PR_CAP_AMBIENT_CLEAR_ALL)
    linux.capset(mask if uid == 0 else 0)     # a non-root user gets no capability by exec, as in Kubernetes
    if no_new_privs:
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
