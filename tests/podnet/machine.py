# SPDX-License-Identifier: Apache-2.0
"""What podnet changes on the machine itself, and puts back: the size of the neighbour table. Nothing else.

Why: that table is one for all network namespaces; all-to-all traffic of more than about 30 pods overflows it, and
packets then vanish as if the network were broken.
Owns: <run>/neigh.json (the old values) while any cluster lives; the last cluster restores them and removes it.
"""
import fcntl
import json
import os

_NAMES = [f"/proc/sys/net/{ip}/neigh/default/gc_thresh{i}" for ip in ("ipv4", "ipv6") for i in (1, 2, 3)]
_WANT = [32768, 65536, 131072] * 2
FEW = 24


class Settings:
    def __init__(self, run_dir):
        """Opened before the caller leaves the machine's network namespace: later these files are not visible."""
        self.run, self.raised = run_dir, False
        self.files = [os.open(n, os.O_RDWR) for n in _NAMES if os.path.exists(n)]

    def _values(self):
        return [int(os.pread(f, 32, 0)) for f in self.files]

    def _write(self, values):
        for f, v in sorted(zip(self.files, values), key=lambda x: -x[1]):
            os.pwrite(f, str(v).encode(), 0)

    def _lock(self):
        fd = os.open(self.run, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        return fd

    def expect(self, pods):
        """Whether so many pods are more than a few; then there is room for all of them."""
        if pods <= FEW or self.raised or len(self.files) != len(_WANT):
            return pods > FEW
        lock = self._lock()
        if not os.path.exists(f"{self.run}/neigh.json"):
            with open(f"{self.run}/neigh.json", "w") as f:
                json.dump(self._values(), f)
        self._write([max(a, b) for a, b in zip(self._values(), _WANT)])
        self.raised = True
        os.close(lock)
        return True

    def restore(self):
        if os.path.isdir(self.run):
            lock = self._lock()
            saved = f"{self.run}/neigh.json"
            if os.path.exists(saved) and not [d for d in os.listdir(self.run) if os.path.isdir(f"{self.run}/{d}")]:
                with open(saved) as f:
                    self._write(json.load(f))
                os.unlink(saved)
            os.close(lock)
            try:
                os.rmdir(self.run)
            except OSError:
                pass           # other clusters live
