# SPDX-License-Identifier: Apache-2.0
"""An initial RAM disk in memory: files, links, programs with the libraries
they need, kernel modules with those they depend on, packed as newc cpio.
Runs nothing but ldd; needs neither root nor cpio."""
import gzip
import os
import re
import subprocess
import tempfile


class Initramfs:
    def __init__(self):
        self.entries = {}  # path without leading / -> (mode, content)

    def folder(self, path):
        path = path.strip("/")
        while path:
            self.entries.setdefault(path, (0o040755, b""))
            path = os.path.dirname(path)

    def file(self, path, content, mode=0o755):
        self.folder(os.path.dirname(path))
        if isinstance(content, str):
            content = content.encode()
        self.entries[path.strip("/")] = (0o100000 | mode, content)

    def copy(self, source, target=None):
        with open(source, "rb") as f:
            self.file(target or source, f.read())

    def copy_stripped(self, source, target=None):
        """Without debug sections, which an emulated machine unpacks slowly; as
        it is where strip does not take it."""
        with tempfile.TemporaryDirectory() as folder:
            small = os.path.join(folder, "small")
            strip = subprocess.run(["strip", "-g", "-o", small, source],
                                   capture_output=True, check=False,
                                   timeout=120)
            self.copy(small if strip.returncode == 0 else source,
                      target or source)

    def link(self, path, target):
        self.folder(os.path.dirname(path))
        self.entries[path.strip("/")] = (0o120777, target.encode())

    def program(self, source, target=None):
        """A program or library and every library that ldd finds for it."""
        self.copy_stripped(source, target)
        listed = subprocess.run(["ldd", source], capture_output=True,
                                text=True, check=False, timeout=20).stdout
        for path in re.findall(r"(/\S+) \(0x", listed):
            name = os.path.basename(path)
            if "ld-linux" in name:
                self.copy(path, "/lib64/" + name)
            else:
                self.copy(path, "/lib/x86_64-linux-gnu/" + name)

    def packed(self):
        out = bytearray()
        for number, (path, (mode, content)) in enumerate(
                sorted(self.entries.items()), 1):
            add(out, number, path, mode, content)
        add(out, 0, "TRAILER!!!", 0, b"")
        return gzip.compress(bytes(out), 1)


def add(out, inode, path, mode, content):
    name = path.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
    out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
    out += b"\0" * (-len(out) % 4)
    out += content
    out += b"\0" * (-len(out) % 4)


class Modules:
    """Kernel modules below one directory, and what they depend on."""

    def __init__(self, root):
        self.paths = {}
        for folder, _, files in os.walk(root):
            for name in files:
                if name.endswith(".ko"):
                    plain = name[:-3].replace("-", "_")
                    self.paths[plain] = os.path.join(folder, name)

    def with_needs(self, names):
        """Paths in the order of loading."""
        order = []
        for name in names:
            self._add(name.replace("-", "_"), order)
        return order

    def _add(self, name, order):
        path = self.paths.get(name)
        if path is None or path in order:
            return  # built in
        with open(path, "rb") as f:
            found = re.search(rb"\0depends=([^\0]*)\0", f.read())
        for need in (found[1].decode().split(",") if found else []):
            if need:
                self._add(need.replace("-", "_"), order)
        order.append(path)
