# SPDX-License-Identifier: Apache-2.0
"""One run of a container: fork, namespaces, exec, its output pipes, its end.

Does: launch() starts a batch in parallel; each Container then reports its exit through a callback.
Refuses: to start half: a failing step ends the child, with StartError and the step's sentence (exit code 128).
Owns: the child (by pidfd), the read ends of its stdout and stderr, the log files.
Runs in the kubelet's single thread; the fork is followed by plain system calls only.
"""
import json
import os
import signal
import time

from . import linux, network, sandbox, security
from .podspec import NODE


class Container:
    def __init__(self, pod, attempt):
        self.pod, self.attempt = pod, attempt
        self.pid = self.pidfd = None
        self.error = None
        self.started = None
        self.streams = {}            # read end -> (stream name, log file fd)
        self.stalled = False
        base = f"{pod.dir}/logs/{attempt}"
        self.paths = {"stdout": f"{base}.stdout", "stderr": f"{base}.stderr", "index": f"{base}.index"}
        self.sizes = {"stdout": 0, "stderr": 0}

    def fork(self, own_pidns):
        """Child as pid 1 of a new pid namespace; it stops after joining its namespaces until go() is called."""
        spec = self.pod.spec
        status_r, self._status_w = os.pipe()
        go_r, self._go_w = os.pipe()
        self._status_r = status_r
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        files = {s: os.open(self.paths[s], flags, 0o644) for s in ("stdout", "stderr")}
        ends = {}
        for s, fd in files.items():
            if spec["log_mode"] == "file":
                ends[s] = fd
            else:
                r, ends[s] = os.pipe()
                os.fchown(ends[s], spec["uid"], -1)     # /dev/stdout can be opened again, as runtimes arrange it
                os.set_blocking(r, False)
                self.streams[r] = (s, fd)
        linux.unshare(linux.CLONE_NEWPID)
        try:
            self.pid = os.fork()
            if self.pid == 0:
                self._child(ends, go_r)
        finally:
            if self.pid != 0:
                linux.setns(own_pidns, linux.CLONE_NEWPID)
        for fd in (*ends.values(), go_r, self._status_w):
            os.close(fd)
        self.pidfd = os.pidfd_open(self.pid)

    def namespaces_ready(self):
        return self._report(first=True)

    def go(self):
        os.write(self._go_w, b"g")
        os.close(self._go_w)

    def executed(self):
        """None when the program runs; else the sentence why not."""
        self._report(first=False)
        os.close(self._status_r)
        self.started = time.monotonic()
        self.index = open(self.paths["index"], "a", buffering=1)
        return self.error

    def _report(self, first):
        data = os.read(self._status_r, 1 if first else 65536)
        if first and data != b"N":
            data += os.read(self._status_r, 65536)
        if data and data != b"N":
            self.error = json.loads(data)["error"]
        elif first and not data:
            self.error = "the container's first process died before it had its namespaces"
        return self.error

    def _child(self, ends, go_r):
        pod, spec = self.pod, self.pod.spec
        try:
            signal.set_wakeup_fd(-1)
            for s in range(1, 65):
                if s not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
                    signal.signal(s, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            os.setsid()
            os.umask(0o022)
            pod.cgroup.join()
            if pod.sandbox:
                for fd, kind in pod.sandbox:
                    linux.setns(fd, kind)
                flags = linux.CLONE_NEWNS | linux.CLONE_NEWCGROUP
                if linux.CLONE_NEWIPC not in (kind for _, kind in pod.sandbox):
                    flags |= linux.CLONE_NEWIPC
                linux.unshare(flags)
            else:
                linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWCGROUP | linux.CLONE_NEWUTS | linux.CLONE_NEWIPC
                              | linux.CLONE_NEWNET)
                network.no_dad()
                linux.sethostname(NODE if spec["host_network"] else spec["hostname"])
            os.write(self._status_w, b"N")
            os.read(go_r, 1)
            if not pod.sandbox:
                sandbox.configure_network(pod.network_commands)
            sandbox.enter_root(spec, pod.dir, pod.cgroup.dirs)
            null = os.open("/dev/null", os.O_RDONLY)
            os.dup2(null, 0)
            os.dup2(ends["stdout"], 1)
            os.dup2(ends["stderr"], 2)
            if spec["cwd"] != "/":
                os.makedirs(spec["cwd"], exist_ok=True) if not os.path.isdir(spec["cwd"]) else None
                os.chdir(spec["cwd"])
            os.closerange(3, self._status_w)
            os.closerange(self._status_w + 1, 4096)
            security.drop_to(spec["uid"], spec["gid"], spec["groups"], spec["caps"], spec["no_new_privs"],
                             spec["old_kernel"])
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)     # a killed kubelet leaves no pod behind
            program = sandbox.find_program(spec["argv"][0], spec["env"].get("PATH", os.defpath))
            os.execve(program, spec["argv"], spec["env"])
        except BaseException as e:
            sentence = f"{type(e).__name__}: {e}"
            os.write(self._status_w, json.dumps({"error": sentence[:4000]}).encode())
        finally:
            os._exit(128)

    # output -------------------------------------------------------------------------------------------------
    def watch(self, loop, on_end):
        self._loop, self._on_end = loop, on_end
        if not self.stalled:
            self.resume()
        loop.add_reader(self.pidfd, self._ended)

    def stall(self):
        self.stalled = True
        for r in self.streams:
            self._loop.remove_reader(r)

    def resume(self):
        self.stalled = False
        for r in list(self.streams):
            self._loop.add_reader(r, self._pump, r)

    def _pump(self, r):
        stream, out = self.streams[r]
        try:
            data = os.read(r, 1 << 16)
        except BlockingIOError:
            return True
        if data:
            self.index.write(f"{time.monotonic():.6f} {stream} {self.sizes[stream]} {len(data)}\n")
            self.sizes[stream] += len(data)
            os.write(out, data)
            return False
        self._loop.remove_reader(r)
        del self.streams[r]
        os.close(r)
        os.close(out)
        return True

    def _ended(self):
        """Process 1 is gone, and with it every process of the pid namespace: what the pipes hold is all there is."""
        self._loop.remove_reader(self.pidfd)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pidfd)
        self.pid = None
        for r in list(self.streams):
            while r in self.streams and not self._pump(r):
                pass
        for r in list(self.streams):        # an exec'ed helper outside the namespace may still hold an end
            self._loop.remove_reader(r)
            _, out = self.streams.pop(r)
            os.close(r)
            os.close(out)
        self.index.close()
        code = os.waitstatus_to_exitcode(status)
        self._on_end(self, code if code >= 0 else None, -code if code < 0 else None)

    def signal(self, number):
        if self.pid:
            signal.pidfd_send_signal(self.pidfd, number)


def launch(containers, own_pidns, attach):
    """Start many at once. attach(containers) gives the new sandboxes their veths between the two halves."""
    for c in containers:
        c.fork(own_pidns)
    alive = [c for c in containers if not c.namespaces_ready()]
    attach(alive)
    for c in alive:
        c.go()
    for c in containers:
        if c not in alive:
            os.close(c._go_w)
        c.executed()
