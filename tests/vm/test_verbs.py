# SPDX-License-Identifier: Apache-2.0
"""Real verbs without the hardware: an emulated machine with two soft-RoCE
adapters. Facts, choice of address, check and bench for real; a cut link, a
wrong MTU and a missing address are found and named. Its rates mean nothing,
so none is judged."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))
sys.path.insert(0, HERE)

from harness import check, equal, main  # noqa: E402
from machine import LIMIT, run, step  # noqa: E402

LIB = "/lib/x86_64-linux-gnu"
MODULES = ["crc32_generic", "veth", "bridge", "ib_uverbs", "rdma_rxe"]


def add_verbs(disk):
    disk.program(shutil.which("rdma"), "/sbin/rdma")
    disk.program(os.path.realpath("/usr" + LIB + "/libibverbs.so.1"),
                 LIB + "/libibverbs.so.1")
    for path in glob.glob(f"/usr{LIB}/libibverbs/librxe-*.so"):
        disk.program(path, "/usr" + LIB + "/libibverbs/"
                     + os.path.basename(path))
    disk.file("/etc/libibverbs.d/rxe.driver", "driver rxe\n", 0o644)


def add_fake_gpu(disk):
    """The unit tests' library, under the name of the CUDA driver's."""
    source = os.path.join(os.path.dirname(HERE), "unit/fabric/fake_gpu.cc")
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "libcuda.so.1")
        subprocess.run(["c++", "-std=c++20", "-shared", "-fPIC", "-o", library,
                        source], check=True, timeout=120)
        disk.program(library, LIB + "/libcuda.so.1")


def add_all(disk):
    add_verbs(disk)
    add_fake_gpu(disk)


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
    steps, console = run("verbs.sh", MODULES, add_all, ["rdma", "c++"])
    judge_facts(steps, console)
    judge_plans(steps, console)
    code, text = step(steps, "gdr", console)
    equal((code, text), (0, '{"ok": true, "gdr_verified": true}'),
          "GPUDirect write")
    for name in ("check", "bench"):
        code, found, text = rails(steps, name, console)
        equal((code, len(found)), (0, 1), name, text)
        check(working(found[0]), f"{name}: RDMA does not work", text)
    judge_faults(steps, console)


test_real_verbs.hang_guard = LIMIT + 120

if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
