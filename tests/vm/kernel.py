# SPDX-License-Identifier: Apache-2.0
"""A Debian kernel with its modules: the installed one, or that of the package
linux-image-amd64, downloaded and unpacked below build/vm. Nothing is
installed; the machine's own boot is left alone."""
import glob
import lzma
import os
import re
import struct
import subprocess

from harness import ROOT, Skip

PLACE = os.path.join(ROOT, "build", "vm")


def find(root):
    """(vmlinuz, directory of modules) below `root` that has soft RoCE."""
    for image in sorted(glob.glob(root + "/boot/vmlinuz-*"), reverse=True):
        version = os.path.basename(image).removeprefix("vmlinuz-")
        modules = f"{root}/lib/modules/{version}"
        if glob.glob(modules + "/kernel/drivers/infiniband/sw/rxe/*.ko"):
            return image, modules
    return None


def package_name():
    listed = subprocess.run(["apt-cache", "depends", "linux-image-amd64"],
                            capture_output=True, text=True, check=False,
                            timeout=60).stdout
    found = re.search(r"Depends: (linux-image-\S+)", listed)
    if not found:
        raise Skip("no kernel with rdma_rxe here, and apt knows none")
    return found[1]


def kernel():
    unpacked = os.path.join(PLACE, "kernel")
    there = find("") or find(unpacked)
    if there:
        return there
    name = package_name()
    os.makedirs(PLACE, exist_ok=True)
    got = subprocess.run(["apt-get", "download", name], cwd=PLACE, text=True,
                         capture_output=True, check=False, timeout=300)
    files = glob.glob(f"{PLACE}/{name}_*.deb")
    if not files:
        raise Skip(f"cannot download {name}: {got.stderr.strip()[-200:]}")
    subprocess.run(["dpkg-deb", "-x", files[0], unpacked], check=True,
                   timeout=300)
    for path in files:
        os.unlink(path)
    there = find(unpacked)
    if not there:
        raise Skip(f"{name} has no rdma_rxe")
    return there


def unpacked(image, folder):
    """The kernel without its own decompression, which costs an emulated
    machine a third of its start; `image` itself where it is not xz."""
    with open(image, "rb") as f:
        data = f.read()
    # Linux' boot protocol: setup_sects, payload_offset, payload_length.
    start = (data[0x1F1] + 1) * 512
    offset, length = struct.unpack_from("<II", data, 0x248)
    payload = data[start + offset:start + offset + length]
    if not payload.startswith(b"\xfd7zXZ\0"):
        return image
    path = os.path.join(folder, "vmlinux")
    with open(path, "wb") as f:
        # Behind the packed kernel stands its size.
        f.write(lzma.LZMADecompressor().decompress(payload))
    return path
