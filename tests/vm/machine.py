# SPDX-License-Identifier: Apache-2.0
"""An emulated machine that boots a Debian kernel into init.sh and a script of
steps; what each step printed and how it ended.

The machine's clock goes by instructions, not by the wall (-icount): while the
host has no time for it nothing in it times out, and where it waits, nobody
does. So a test gives the same result on a busy host, only later."""
import glob
import os
import shutil
import subprocess
import tempfile
import time

from harness import PREFIX, Skip, check
from initramfs import Initramfs, Modules
from kernel import kernel, unpacked

HERE = os.path.dirname(os.path.realpath(__file__))
LIMIT = 560  # seconds; alone on a core it takes about a minute and a half
# Cheap ones only: the machine has no hardware that they are for.
KERNEL = ("console=ttyS0 panic=-1 quiet edd=off nokaslr mitigations=off "
          "audit=0 cryptomgr.notests psi=1 cgroup_no_v1=all")


def base_image(script, modules_root, modules):
    """A disk with busybox, iproute2, muster, `script` and kernel modules."""
    disk = Initramfs()
    for path in ("/dev", "/proc", "/sys", "/tmp", "/run"):
        disk.folder(path)
    disk.program("/bin/busybox")
    # iproute2 in front of busybox's applet of the same name.
    disk.program(shutil.which("ip"), "/sbin/ip")
    for path in glob.glob(f"{PREFIX}/**", recursive=True):
        inside = os.path.relpath(path, PREFIX)
        if (os.path.isfile(path)
                and inside.startswith(("bin/", "lib/", "libexec/"))):
            disk.program(path, "/muster/" + inside)
    names = []
    for path in Modules(modules_root).with_needs(modules):
        names.append("/modules/" + os.path.basename(path))
        disk.copy(path, names[-1])
    disk.file("/modules.list", "".join(name + "\n" for name in names), 0o644)
    disk.copy(os.path.join(HERE, "init.sh"), "/init")
    disk.copy(os.path.join(HERE, script), "/steps.sh")
    return disk


def run(script, modules, add=lambda disk: None, programs=(), memory=512):
    """{step: (exit code, output)} of the machine, and its whole console.
    `add` puts more on the disk; `programs` must be installed for it."""
    needed = ["qemu-system-x86_64", "busybox", "ip", *programs]
    if missing := [p for p in needed if not shutil.which(p)]:
        raise Skip("not installed: " + ", ".join(missing))
    image, modules_root = kernel()
    disk = base_image(script, modules_root, modules)
    add(disk)
    with tempfile.TemporaryDirectory() as folder:
        initrd = os.path.join(folder, "initrd")
        with open(initrd, "wb") as f:
            f.write(disk.packed())
        console = boot(unpacked(image, folder), initrd, memory)
    console = console.decode(errors="replace").replace("\r", "")
    return steps_of(console), console


def boot(image, initrd, memory):
    """The machine's console, until it is over, panics or is out of time."""
    argv = ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-icount",
            "shift=1,sleep=off", "-cpu", "max", "-m", str(memory), "-nographic",
            "-no-reboot", "-nic", "none", "-kernel", image, "-initrd", initrd,
            "-append", KERNEL]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as machine:
        os.set_blocking(machine.stdout.fileno(), False)
        console, end = b"", time.monotonic() + LIMIT
        while time.monotonic() < end:
            console += machine.stdout.read() or b""
            over = machine.poll() is not None
            if over or b"== over" in console or b"Kernel panic" in console:
                break
            time.sleep(0.1)
        machine.kill()
        return console + (machine.stdout.read() or b"")


def steps_of(console):
    steps, name, lines = {}, None, []
    for line in console.splitlines():
        if line.startswith("== step "):
            name, lines = line[8:], []
        elif line.startswith("== end ") and name:
            steps[name] = (int(line[7:]), "\n".join(lines))
            name = None
        elif name:
            lines.append(line)
    return steps


def step(steps, name, console):
    check(name in steps, f"step {name} did not end", console[-3000:])
    return steps[name]
