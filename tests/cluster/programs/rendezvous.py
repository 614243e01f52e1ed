# SPDX-License-Identifier: Apache-2.0
"""Stands in for a training program where a framework and GPUs would be needed: meets the other ranks as
torch.distributed's env:// does, by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT alone. Rank 0 listens."""
import os
import socket
import sys
import time

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
local = int(os.environ["LOCAL_RANK"])
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    family = socket.getaddrinfo(*place, type=socket.SOCK_STREAM)[0][0]
    with socket.create_server(place, family=family, backlog=size) as server:
        server.settimeout(60)
        others = [server.accept()[0] for _ in range(size - 1)]
        seen = sorted(int(o.recv(16)) for o in others)
        for other in others:
            other.sendall(b"ok")
    assert seen == list(range(1, size)), seen
else:
    end = time.monotonic() + 60
    while True:
        try:
            door = socket.create_connection(place, timeout=60)
            break
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
    door.sendall(str(rank).encode())
    assert door.recv(2) == b"ok"
print(f"rank {rank} of {size}, local {local}, met all", *sys.argv[1:],
      flush=True)
