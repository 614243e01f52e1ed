# SPDX-License-Identifier: Apache-2.0
"""64 pods: how long up and down take, and that they all reach each other's names."""
import time

from .. import Cluster, cleanup
from . import example, same, true

MUCH = 6      # how much slower a machine may be that has other things to do


def check_64_pods():
    """Up in less than 30 s (and much more on a busy machine), all running, names of all resolve, down without a trace."""
    nap = ["/bin/sleep", "infinity"]
    t0 = time.monotonic()
    c = Cluster("st-64")
    c.up()
    try:
        t1 = time.monotonic()
        job = c.apply(example("default-worker-command.yaml"), workers=63, launcher_command=nap, worker_command=nap)
        t2 = time.monotonic()
        same({s["phase"] for s in c.status()}, {"Running"})
        found = job.launcher.exec(["getent", "ahostsv4", "hello"]).stdout.splitlines()
        same(len({l.split()[0] for l in found}), 64)
        r = job.launcher.exec(["sh", "-c", "for h in $(cut -d' ' -f1 /etc/mpi/hostfile); do getent hosts $h >/dev/null || echo $h; done"])
        same(r.stdout, "")
        name, t3 = c.id, time.monotonic()
    finally:
        c.down()
    t4 = time.monotonic()
    same(cleanup.traces(name), [])
    true(t2 - t0 < 30 * MUCH, "too slow")
    return f"infrastructure {t1 - t0:.2f} s, 64 pods up {t2 - t1:.2f} s, down {t4 - t3:.2f} s"
