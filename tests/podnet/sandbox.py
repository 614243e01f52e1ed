# SPDX-License-Identifier: Apache-2.0
"""What a container's first process does between fork and exec: network, root filesystem, mounts, identity.

Does: overlay of the root directory (the pod's own writable layer in a tmpfs, remounted read-only when asked), /proc,
      /sys, /dev, /tmp, /run, /dev/shm, home directories, projected volumes with ..data links, the kubelet's files
      in /etc, bind mounts, its own view of the cgroups.
Refuses: to start with anything missing: every failure is an OSError that the kubelet reports as StartError.
Runs in the forked child as pid 1 of the new pid namespace; the machine's own mounts are never touched, because the
mount namespace is private before the first mount.
"""
import os
import shutil
import stat
import subprocess

from . import linux
from .linux import MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_RDONLY, MS_REMOUNT, MS_BIND

_NODES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}


def inside(root, path):
    """Where path of the container lies below root; links are followed as the container would, never out of it."""
    done, todo, budget = [], [c for c in path.split("/") if c], 40
    while todo:
        part = todo.pop(0)
        if part in (".", ".."):
            done = done[:-1] if part == ".." else done
            continue
        at = "/".join([root, *done, part])
        if os.path.islink(at) and budget:
            budget -= 1
            target = os.readlink(at)
            done = [] if target.startswith("/") else done
            todo = [c for c in target.split("/") if c] + todo
        else:
            done.append(part)
    return "/".join([root, *done])


def _file_place(root, path):
    """Like inside(), but the last component may be a link that is to be replaced."""
    parent, name = os.path.split(path)
    parent = inside(root, parent)
    os.makedirs(parent, exist_ok=True)
    return f"{parent}/{name}"


def configure_network(commands):
    subprocess.run(["ip", "-batch", "-"], input=commands, text=True, check=True, stdout=subprocess.DEVNULL)


def enter_root(spec, pod_dir, cgroup_dirs):
    """Build the container's filesystem and make it the root of this process."""
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    work = f"{pod_dir}/mnt"
    linux.mount("tmpfs", work, "tmpfs", 0, "mode=755")
    for name in ("upper", "work", "root"):
        os.mkdir(f"{work}/{name}", 0o755)
    os.chmod(f"{work}/upper", stat.S_IMODE(os.stat(spec["root"]).st_mode) or 0o755)
    root = f"{work}/root"
    linux.mount("overlay", root, "overlay", 0, f"lowerdir={spec['root']},upperdir={work}/upper,workdir={work}/work")
    _image_layer(root, spec)
    _kernel_filesystems(root, spec, cgroup_dirs)
    for t in spec["tmpfs"]:
        at = inside(root, t["dest"])
        os.makedirs(at, exist_ok=True)
        linux.mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV,
                    f"mode={t.get('mode', '1777')},gid={t.get('gid', 0)}" + (f",size={t['size']}" if t.get("size") else ""))
    _homes(root, spec)
    for v in spec["projected"]:
        _projected(root, v)
    for name in ("hosts", "hostname", "resolv.conf"):
        _bind_file(f"{pod_dir}/etc/{name}", _file_place(root, f"/etc/{name}"), False)
    _bind_file(f"{pod_dir}/termination-log", _file_place(root, spec["termination_path"]), False)
    for source, dest, readonly in spec["binds"]:
        if os.path.isdir(source):
            at = inside(root, dest)
            os.makedirs(at, exist_ok=True)
            linux.bind(source, at, readonly, recursive=True)
        else:
            _bind_file(source, _file_place(root, dest), readonly)
    if spec["readonly_root"]:
        linux.mount(None, root, None, MS_BIND | MS_REMOUNT | MS_RDONLY)
    os.chdir(root)
    linux.pivot_root(".", ".")
    linux.umount(".", linux.MNT_DETACH)
    os.chdir("/")


def _image_layer(root, spec):
    """Files and links that the image is supposed to have; written through the overlay, so parents keep their modes."""
    for path in spec["directories"]:
        os.makedirs(inside(root, path), exist_ok=True)
    for path, entry in spec["layer"].items():
        at = _file_place(root, path)
        if os.path.islink(at):
            os.unlink(at)
        with open(at, "w") as f:
            f.write(entry["data"])
        os.chmod(at, int(entry.get("mode", "644"), 8))
    for path, target in spec["links"].items():
        at = _file_place(root, path)
        if os.path.lexists(at):
            os.unlink(at)
        os.symlink(target, at)
    for path in spec["removed"]:
        at = _file_place(root, path)
        if os.path.lexists(at):
            os.unlink(at)


def _kernel_filesystems(root, spec, cgroup_dirs):
    for d in ("proc", "sys", "dev", "tmp", "run", "etc"):
        os.makedirs(f"{root}/{d}", exist_ok=True)
    linux.mount("proc", f"{root}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for name in ("sys", "bus", "fs", "irq", "sysrq-trigger"):
        if os.path.exists(f"{root}/proc/{name}"):
            linux.bind(f"{root}/proc/{name}", f"{root}/proc/{name}", readonly=True)
    linux.mount("sysfs", f"{root}/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY)
    at = f"{root}/sys/fs/cgroup"
    if "" in cgroup_dirs:
        linux.bind(cgroup_dirs[""], at, readonly=True)
    else:
        linux.mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755")
        for controller, path in cgroup_dirs.items():
            os.mkdir(f"{at}/{controller}")
            linux.bind(path, f"{at}/{controller}", readonly=True)
        linux.mount(None, at, None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)

    dev = f"{root}/dev"
    linux.mount("tmpfs", dev, "tmpfs", MS_NOSUID, "mode=755,size=65536k")
    old = os.umask(0)
    for name, (major, minor) in _NODES.items():
        os.mknod(f"{dev}/{name}", 0o666 | stat.S_IFCHR, os.makedev(major, minor))
    os.umask(old)
    for name in ("pts", "shm", "mqueue"):
        os.mkdir(f"{dev}/{name}")
    linux.mount("devpts", f"{dev}/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5")
    linux.mount("shm", f"{dev}/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, f"mode=1777,size={spec['shm_size']}")
    linux.mount("mqueue", f"{dev}/mqueue", "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for link, target in (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"),
                         ("stdout", "/proc/self/fd/1"), ("stderr", "/proc/self/fd/2")):
        os.symlink(target, f"{dev}/{link}")
    linux.mount("tmpfs", f"{root}/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    linux.mount("tmpfs", f"{root}/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    for name in spec["run_dirs"]:
        os.makedirs(f"{root}/run/{name}", 0o755)


def _homes(root, spec):
    """Private, empty home directories: the machine's own dot files are no part of a test."""
    for path, (uid, gid, mode, files) in spec["homes"].items():
        at = inside(root, path)
        os.makedirs(at, exist_ok=True)
        linux.mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV, f"mode={mode},uid={uid},gid={gid}")
        for name, text in files.items():
            with open(f"{at}/{name}", "w") as f:
                f.write(text)
            os.chown(f"{at}/{name}", uid, gid)


def _projected(root, volume):
    """A Secret or ConfigMap volume: tmpfs, timestamped directory, ..data link, one link per key, read-only."""
    at = inside(root, volume["dest"])
    os.makedirs(at, exist_ok=True)
    linux.mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    gid = volume.get("gid")
    stamp = "..2026_01_01_00_00_00.0000000001"
    os.mkdir(f"{at}/{stamp}", 0o755)
    for name, entry in volume["files"].items():
        path = f"{at}/{stamp}/{name}"
        with open(path, "w") as f:
            f.write(entry["data"])
        mode = int(entry["mode"], 8)
        if gid is not None:
            os.chown(path, 0, gid)
            mode |= 0o440
        os.chmod(path, mode)
        os.symlink(f"..data/{name}", f"{at}/{name}")
    os.symlink(stamp, f"{at}/..data")
    if gid is not None:
        for d in (at, f"{at}/{stamp}"):
            os.chown(d, 0, gid)
        os.chmod(f"{at}/{stamp}", 0o2755)
        os.chmod(at, 0o3777)
    linux.mount(None, at, None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _bind_file(source, target, readonly):
    if os.path.islink(target):
        os.unlink(target)
    if not os.path.exists(target):
        open(target, "w").close()
    linux.bind(source, target, readonly)


def find_program(name, path):
    """execvp's search, so that a missing program is a sentence and not a Python traceback."""
    if "/" in name:
        return name
    return shutil.which(name, path=path) or name
