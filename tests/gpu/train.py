# SPDX-License-Identifier: Apache-2.0
"""One small data-parallel training run on one or more ranks of one GPU, with a
failure chosen by name. Each rank gets its own NCCL_HOSTID, so that NCCL takes
the ranks for machines of their own and goes through its socket transport.

    train.py SCENARIO        ok, or a function of FAIL below
    ON_CPU=1 train.py …      over gloo, without a GPU (STEPS, PG_TIMEOUT as well)
"""
import ctypes
import os
import signal
import sys
import time

scenario = sys.argv[1]
rank = int(os.environ["RANK"])
world = int(os.environ["WORLD_SIZE"])
local = int(os.environ.get("LOCAL_RANK", "0"))
if scenario != "duplicate":
    os.environ["NCCL_HOSTID"] = f"host-{rank}"


def say(text):
    print(f"[rank {rank}] {text}", flush=True)


if scenario == "import":  # a module whose compilation takes long, no line meanwhile
    say("imports")
    end = time.time() + float(os.environ.get("BUSY", "25"))
    source = "\n".join(f"def f{i}(a, b=({i}, 'x')):\n    return [a + j for j in b]"
                       for i in range(20000))
    while time.time() < end:
        compile(source, "large.py", "exec")
    say("imported")
    sys.exit(0)

import torch
import torch.distributed as dist
from datetime import timedelta

if scenario == "ordinal":
    torch.cuda.set_device(local)
    say("device chosen")
    sys.exit(0)

dev = "cpu" if os.environ.get("ON_CPU") else "cuda"
if dev == "cuda":
    torch.cuda.set_device(0)
limit = int(os.environ.get("PG_TIMEOUT", "600"))
dist.init_process_group("nccl" if dev == "cuda" else "gloo", timeout=timedelta(seconds=limit))
model = torch.nn.parallel.DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(dev))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(256, 512, device=dev)
y = torch.randint(0, 10, (256,), device=dev)


def wait():
    if dev == "cuda":
        torch.cuda.synchronize()


def step(i):
    opt.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    wait()
    if i % 5 == 0:
        say(f"step {i} loss {loss.item():.4f}")


def exception():
    raise ValueError("bad sample in shard 17")


def segfault():
    ctypes.string_at(0)


def exit3():
    os._exit(3)


def sysexit5():
    sys.exit(5)


def oom():
    blocks = []
    while True:
        blocks.append(torch.empty(8 << 30, dtype=torch.uint8, device="cuda"))


def hostoom():
    blocks = []
    while True:
        blocks.append(bytearray(os.urandom(1 << 20)) * 256)


def assertion():
    table = torch.nn.Embedding(100, 16).cuda()
    out = table(torch.tensor([5, 100000], device="cuda"))
    torch.cuda.synchronize()
    say(str(out.sum().item()))


def illegal():
    import cupy
    k = cupy.RawKernel('extern "C" __global__ void poke(long long a){ *(volatile int*)a = 7; }', "poke")
    k((1,), (32,), (0x7f0000000000,))
    torch.cuda.synchronize()


def kernelhang():
    import cupy
    k = cupy.RawKernel('extern "C" __global__ void spin(long long n)'
                       '{ long long t=clock64(); while(clock64()-t<n); }', "spin")
    say("a kernel that takes 600 s starts")
    k((1,), (1,), (1980000000 * 600,))
    torch.cuda.synchronize()


def mismatch():
    t = torch.ones(1 << 20, device=dev)
    say("one more all_reduce than the other rank")
    dist.all_reduce(t)
    wait()
    say("past it")


def late():
    say("reads its data for ever")
    read_shard()


def read_shard():
    time.sleep(600)


def compute():
    """Every rank, without a line: Python that works."""
    end = time.time() + float(os.environ.get("BUSY", "25"))
    table = {}
    while time.time() < end:
        table = {str(i): i for i in range(100000)}
    say(f"computed {len(table)}")


def kill9():
    os.kill(os.getpid(), signal.SIGKILL)


def nan():
    raise RuntimeError("loss is nan at step 10")


FAIL = {f.__name__: f for f in (exception, segfault, exit3, sysexit5, oom, hostoom, assertion, illegal, kernelhang,
                                mismatch, late, compute, kill9, nan)}
begun = time.time()
steps = int(os.environ.get("STEPS", "40"))
for i in range(steps):
    if i == 20 and scenario in FAIL and (rank == world - 1 or scenario == "compute"):
        FAIL[scenario]()
    step(i)
dist.barrier()
say(f"done, {(time.time() - begun) / max(1, steps) * 1000:.2f} ms a step")
dist.destroy_process_group()
