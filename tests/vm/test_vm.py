# SPDX-License-Identifier: Apache-2.0
"""Real verbs without the hardware: a software-emulated machine with two
soft-RoCE adapters. Facts, choice of address, check and bench for real; a cut
link, a wrong MTU and a missing address are found and named. Emulated time means nothing, so no figure is judged."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))
sys.path.insert(0, HERE)

from harness import PREFIX, Skip, check, equal, main  # noqa: E402
from initramfs import Initramfs, Modules  # noqa: E402
from kernel import kernel  # noqa: E402

LIMIT = 280  # seconds for the machine; it takes about a minute
# A loaded host lets the emulated timer run late: without no_timer_check the
# kernel takes it for broken and panics. The rest saves emulated work.
KERNEL = ("console=ttyS0 panic=-1 quiet no_timer_check edd=off nokaslr "
          "mitigations=off audit=0 cryptomgr.notests")
LIB = "/lib/x86_64-linux-gnu"


def image(modules_root):
    disk = Initramfs()
    for path in ("/dev", "/proc", "/sys", "/tmp", "/run"):
        disk.folder(path)
    disk.program("/bin/busybox")
    # iproute2 in front of busybox's applet of the same name.
    disk.program(shutil.which("ip"), "/sbin/ip")
    disk.program(shutil.which("rdma"), "/sbin/rdma")
    for path in [f"{PREFIX}/bin/muster", *glob.glob(f"{PREFIX}/lib/muster/*")]:
        if os.path.isfile(path):
            disk.program(path, "/muster/" + os.path.relpath(path, PREFIX))
    disk.link("/bin/muster", "/muster/bin/muster")
    disk.program(os.path.realpath("/usr" + LIB + "/libibverbs.so.1"),
                 LIB + "/libibverbs.so.1")
    for path in glob.glob(f"/usr{LIB}/libibverbs/librxe-*.so"):
        disk.program(path, "/usr" + LIB + "/libibverbs/"
                     + os.path.basename(path))
    disk.file("/etc/libibverbs.d/rxe.driver", "driver rxe\n", 0o644)
    names = []
    for path in Modules(modules_root).with_needs(
            ["crc32_generic", "veth", "bridge", "ib_uverbs", "rdma_rxe"]):
        names.append("/modules/" + os.path.basename(path))
        disk.copy(path, names[-1])
    disk.file("/modules.list", "\n".join(names) + "\n", 0o644)
    disk.copy(os.path.join(HERE, "init.sh"), "/init")
    return disk.packed()


def run():
    """{step: (exit code, output)} of the machine, and its whole console."""
    missing = [p for p in ("qemu-system-x86_64", "rdma", "ip")
               if not shutil.which(p)]
    if missing or not os.path.exists("/bin/busybox"):
        raise Skip("not installed: " + ", ".join(missing or ["busybox"]))
    vmlinuz, modules = kernel()
    with tempfile.TemporaryDirectory() as folder:
        disk = os.path.join(folder, "initrd")
        with open(disk, "wb") as f:
            f.write(image(modules))
        console = boot(vmlinuz, disk)
    console = console.decode(errors="replace").replace("\r", "")
    return steps_of(console), console


def boot(vmlinuz, disk):
    """The machine's console, until it is over, panics or is out of time."""
    argv = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max",
            "-m", "512", "-smp", "2", "-nographic", "-no-reboot", "-nic",
            "none", "-kernel", vmlinuz, "-initrd", disk, "-append", KERNEL]
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


def rails(steps, name, console):
    """Exit code and verbs results of one pair test."""
    code, text = step(steps, name, console)
    lines = [s for s in text.splitlines() if s.startswith("{")]
    check(lines, f"step {name} printed no JSON", text)
    return code, json.loads(lines[-1]).get("rails", []), text


def working(rail):
    return (rail["code"] == "" and rail["rail"] == "rxe0"
            and rail["peer_rail"] == "rxe1" and rail["latency_us"] > 0
            and rail["to_gbps"] > 0 and rail["from_gbps"] > 0)


def judge_facts(steps, console):
    _, text = step(steps, "facts", console)
    pod = json.loads(text)["pods"][0]
    hcas = {hca["name"]: hca for hca in pod["hcas"]}
    equal(sorted(hcas), ["rxe0", "rxe1"], "adapters", text)
    for hca in hcas.values():
        check(hca.get("usable") is True, "the probe fails", text)
        port = hca["ports"][0]
        equal((port["state"], port["link_layer"]), ("ACTIVE", "Ethernet"),
              "port", text)
        equal(port["mtu"], 4096, "active MTU", text)
        check(any(g.get("usable") and g.get("type") == "v2"
                  for g in port["gids"]), "no usable GID", text)
    netdevs = {dev["name"]: dev["addresses"] for dev in pod["netdevs"]}
    for i in (0, 1):
        equal(hcas[f"rxe{i}"]["ports"][0]["netdev"], f"v{i}", "interface", text)
        check(f"10.9.0.{i + 1}/24" in netdevs[f"v{i}"], "address", text)


def judge_plans(steps, console):
    """NCCL before 2.21 takes index 0, a link-local one here; later ones scan
    and need nothing."""
    for name, wanted in (("old", "1"), ("new", None)):
        code, text = step(steps, name, console)
        env = json.loads(text)["pods"][0]["env"]
        equal((code, env.get("NCCL_IB_GID_INDEX")), (0, wanted), name, text)


def judge_faults(steps, console):
    for name, code_of_rail, words in (
            ("cut", "rdma_unreachable", ["no answer"]),
            ("mtu", "rdma_mtu", ["4096", "1024", "MTU"]),
            ("gid", "rdma_gid", ["rxe1", "IP address"])):
        code, found, text = rails(steps, name, console)
        equal((code, [r["code"] for r in found]), (38, [code_of_rail]), name,
              text)
        for word in words:
            check(word in found[0]["text"], f"{name}: {word} not said", text)


def test_real_verbs():
    steps, console = run()
    judge_facts(steps, console)
    judge_plans(steps, console)
    for name in ("check", "bench"):
        code, found, text = rails(steps, name, console)
        equal((code, len(found)), (0, 1), name, text)
        check(working(found[0]), f"{name}: RDMA does not work", text)
    judge_faults(steps, console)


test_real_verbs.hang_guard = LIMIT + 120

if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
