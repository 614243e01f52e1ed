# SPDX-License-Identifier: Apache-2.0
"""kubectl exec: run a program in a running pod, with the pod's namespaces, cgroup and security context.

Does: returns an ordinary subprocess.Popen. A small middle process joins the namespaces, forks (a pid namespace counts
      for children only), forwards signals and passes the exit status or signal on.
Refuses: a pod without a process 1.
Owns: nothing that outlives the Popen: when the middle process is killed, the program in the pod is killed too.
"""
import os
import signal
import subprocess

from . import linux, security

_KINDS = (("ipc", linux.CLONE_NEWIPC), ("uts", linux.CLONE_NEWUTS), ("net", linux.CLONE_NEWNET),
          ("cgroup", linux.CLONE_NEWCGROUP), ("pid", linux.CLONE_NEWPID), ("mnt", linux.CLONE_NEWNS))


def popen(info, argv, env=None, user=None, **popen_args):
    """info: the kubelet's op_info answer. user: (uid, gid, groups, caps, no_new_privs, old_kernel), default the container's."""
    if not info["pid"]:
        raise ProcessLookupError(f"pod {info['name']} has no running container (phase {info['phase']})")
    namespaces, cgroups = [], []
    try:
        for kind, flag in _KINDS:
            namespaces.append((os.open(f"/proc/{info['pid']}/ns/{kind}", os.O_RDONLY), flag))
        for path in info["cgroup_procs"]:
            cgroups.append(os.open(path, os.O_WRONLY))
    except FileNotFoundError:
        for fd in [n[0] for n in namespaces] + cgroups:
            os.close(fd)
        raise ProcessLookupError(f"pod {info['name']} ended at this moment") from None
    identity = user or info["identity"]
    environment = dict(info["env"], **(env or {}))

    def enter():
        for fd, flag in namespaces:
            linux.setns(fd, flag)
        child = os.fork()
        if child:
            _middle(child)
        for fd in cgroups:
            os.write(fd, b"0")
        os.chdir(info["cwd"])
        os.umask(0o022)
        security.drop_to(*identity)
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)

    try:
        return subprocess.Popen(argv, env=environment, preexec_fn=enter, close_fds=True, **popen_args)
    finally:
        for fd in [n[0] for n in namespaces] + cgroups:
            os.close(fd)


def _middle(child):
    """Never returns: waits for the program and ends as it did."""
    try:
        os.closerange(3, 4096)
        for fd in (0, 1, 2):
            os.close(fd)
        for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(s, lambda number, frame: os.kill(child, number))
        while True:
            try:
                _, status = os.waitpid(child, 0)
                break
            except InterruptedError:
                continue
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            signal.signal(number, signal.SIG_DFL) if number not in (signal.SIGKILL, signal.SIGSTOP) else None
            os.kill(os.getpid(), number)
            os._exit(128 + number)
        os._exit(os.WEXITSTATUS(status))
    finally:
        os._exit(255)
