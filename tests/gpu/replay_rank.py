# SPDX-License-Identifier: Apache-2.0
"""One rank of a recorded run: writes the lines that it wrote then, and ends as
it did, or stays. With a recorded RAS answer it is NCCL's server, too.

    replay_rank.py STDOUT RANK=END...      END: an exit code, -SIGNAL, "stays", "waits"

RAS=FILE: rank 0 answers as recorded, with the pids of these ranks. FLIGHT=DIR:
each rank writes its recorded flight record when asked by its pipe, and says so
as PyTorch does.
"""
import ctypes
import os
import re
import shutil
import socket
import sys
import threading
import time

rank = int(os.environ["RANK"])
world = int(os.environ["WORLD_SIZE"])
ends = dict(word.split("=") for word in sys.argv[2:])
shared = os.environ["SHARED"]


def meet(name):
    """Waits until all ranks have come here."""
    open(os.path.join(shared, f"{name}-{rank}-{os.getpid()}"), "w").close()
    while len(here := [n for n in os.listdir(shared) if n.startswith(name + "-")]) < world:
        time.sleep(0.02)
    return {int(n.split("-")[1]): int(n.split("-")[2]) for n in here}


def serve_ras(text, port, pids):
    for old, one in zip(re.findall(r"managed by process (\d+)", text), sorted(pids)):
        text = text.replace(f"process {old} ", f"process {pids[one]} ")
    text = text.replace("192.0.2.2", "127.0.0.1")
    with socket.create_server(("127.0.0.1", port)) as server:
        while True:
            client = server.accept()[0]
            with client, client.makefile("rw", newline="\n") as lines:
                for line in lines:
                    word = line.split()[0] if line.split() else ""
                    if word == "CLIENT":
                        lines.write("SERVER PROTOCOL 2\n")
                    elif word == "TIMEOUT":
                        lines.write("OK\n")
                    else:
                        lines.write(text)
                    lines.flush()
                    if word not in ("CLIENT", "TIMEOUT"):
                        break


def write_records(pipe):
    while True:
        if os.read(pipe, 128):
            print(f"[rank{rank}]:[E1126 01:21:53.824126940 ProcessGroupNCCL.cpp:1628] "
                  "ProcessGroupNCCL preparing to dump debug info.", file=sys.stderr,
                  flush=True)
            shutil.copyfile(
                os.path.join(os.environ["FLIGHT"], f"comm_lib_trace_rank_{rank}"),
                os.environ["TORCH_FR_DUMP_TEMP_FILE"] + str(rank))


pids = meet("born")
if os.environ.get("FLIGHT"):
    path = os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] + str(rank) + ".pipe"
    os.mkfifo(path)
    # For writing, too, so that it stays open.
    threading.Thread(target=write_records, daemon=True,
                     args=(os.open(path, os.O_RDWR),)).start()
if os.environ.get("RAS") and rank == 0:
    with open(os.environ["RAS"], encoding="utf-8") as file:
        answer = "".join(line for line in file if not line.startswith("> "))
    threading.Thread(target=serve_ras, daemon=True, args=(
        answer, int(os.environ["NCCL_RAS_ADDR"].split(":")[1]), pids)).start()
mark = f"[{rank}|".encode()
with open(sys.argv[1], "rb") as file:
    for line in file:
        if line.startswith(mark):
            sys.stdout.buffer.write(line.partition(b"] ")[2])
sys.stdout.flush()
meet("told")
end = ends.get(str(rank), "stays")
if end == "waits":  # as in NCCL: turning in the driver, for another rank
    ctypes.CDLL(os.environ["SPIN"]).cudaStreamSynchronize()
if end == "stays":
    time.sleep(600)
if end == "-6":
    os.abort()
if int(end) < 0:
    os.kill(os.getpid(), -int(end))
os._exit(int(end))
