# SPDX-License-Identifier: Apache-2.0
"""freeze, kill, lose, restart, memory, stalled logs."""
import os
import time

from .. import Cluster
from . import PATIENCE, ask, ask_until, same, servers, true

# Connects, says so, then reports how the connection ends.
HOLD = ["/usr/bin/python3", "-u", "-c", """
import socket, sys
s = socket.create_connection((sys.argv[1], 2222), 5); s.settimeout(float(sys.argv[2]))
print("connected")
try:
    print("data" if s.recv(1) else "EOF")
except Exception as e:
    print(type(e).__name__)
"""]
MUTE = ["/usr/bin/python3", "-c", "import socket,time; s=socket.create_server(('',2222)); c=s.accept(); time.sleep(99)"]


def _held(c, verb, patience):
    client_pod = c.pod("client")
    b = c.pod("b", MUTE, subdomain="svc")
    p = None
    for _ in range(500):
        p = client_pod.popen(HOLD + [b.ip, str(patience)], stdout=-1, stderr=-1, text=True)
        if p.stdout.readline() == "connected\n":
            break
        p.wait()
    getattr(b, verb)()
    end = p.stdout.readline().strip()
    p.wait()
    p.stdout.close()
    p.stderr.close()
    return b, end


def check_kill_closes_connections_and_records_the_end():
    """SIGKILL of process 1: peers see the end at once, status signal 9, no process left."""
    with Cluster("st-kill") as c:
        b, end = _held(c, "kill", PATIENCE)
        true(end in ("EOF", "ConnectionResetError"), end)
        same(b.wait()[:3], (None, 9, "Error"))
        same(b.pids(), [])


def check_lose_is_silent():
    """Node loss: no FIN, no RST, nothing left, the name stays; restart brings the pod back at another address."""
    with Cluster("st-lose") as c:
        b, end = _held(c, "lose", 4)
        same(end, "TimeoutError")
        same(b.pids(), [])
        same(b.phase, "Unknown")
        old = b.ip
        a, = servers(c, ["a"])
        same(a.exec(["getent", "ahostsv4", "b.svc"]).returncode, 0)
        b.restart()
        true(b.ip != old, "same address")
        true(old not in a.exec(["getent", "ahostsv4", "b.svc"]).stdout, "old address")


def check_freeze_and_thaw():
    """A frozen pod's kernel still accepts connections, its programs do not answer; thaw, and they do."""
    with Cluster("st-freeze") as c:
        a, b = servers(c, ["a", "b"])
        same(ask_until("b", a, b.ip), "b")
        b.freeze()
        same(ask(a, b.ip, timeout=0.5), "TimeoutError")
        b.thaw()
        same(ask(a, b.ip), "b")
        b.freeze()
        b.kill()
        same(b.wait().signal, 9)


def check_memory_limit():
    """The pod's cgroup kills what eats too much; the reason says so; the pod sees its own limit."""
    with Cluster("st-oom") as c:
        eater = ["/usr/bin/python3", "-c", "x = bytearray(400 << 20)"]
        b = c.pod("b", eater, memory="64Mi")
        same(b.wait()[1:3], (9, "OOMKilled"))
        p = c.pod("p", memory="64Mi")
        v1 = p.exec(["cat", "/sys/fs/cgroup/memory/memory.limit_in_bytes"])
        v2 = p.exec(["cat", "/sys/fs/cgroup/memory.max"])
        true("67108864" in (v1.stdout.strip(), v2.stdout.strip()), "limit not visible in the pod")
        r = p.exec(eater)
        same(r.returncode, -9)
        same(p.phase, "Running")
        true(p.usage()["oom_kills"] >= 1, "not counted")


def check_cpu_limit():
    """A quota of 0.2 cores holds."""
    with Cluster("st-cpu") as c:
        p = c.pod("p", ["/usr/bin/python3", "-c", "while True: pass"], cpu=0.2)
        # The clock is read outside of the two looks: a late one makes the rate lower, not higher.
        t, used = time.monotonic(), p.usage()["cpu_seconds"]
        time.sleep(1.5)
        used = p.usage()["cpu_seconds"] - used
        rate = used / (time.monotonic() - t)
        true(rate < 0.35, f"{rate:.2f} cores")


def check_stalled_logs():
    """A stuck log collector blocks the writer once the pipe is full; nothing is lost when it goes on."""
    with Cluster("st-stall") as c:
        p = c.pod("p", ["/bin/sh", "-c", "until [ -e /tmp/go ]; do sleep 0.05; done; "
                        "dd if=/dev/zero bs=1024 count=1024 2>/dev/null; echo done >&2"])
        p.stall_logs()
        p.exec(["touch", "/tmp/go"], check=True)
        time.sleep(1)
        same(p.phase, "Running")
        same(len(p.stdout()), 0)
        p.resume_logs()
        same(p.wait().code, 0)
        same((os.path.getsize(p.stdout_path()), p.stderr()), (1 << 20, "done\n"))
