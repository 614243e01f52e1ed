# SPDX-License-Identifier: Apache-2.0
"""A few steps of training with Horovod: each rank has data of its own, so the
losses after them agree only if parameters and gradients went around. "fail
RANK" raises there in the middle."""
import os
import socket
import sys

import horovod.torch as hvd
import torch

torch.set_num_threads(1)  # the pods share two cores
hvd.init()
rank, size = hvd.rank(), hvd.size()

total = hvd.allreduce(torch.tensor([float(rank)]), op=hvd.Sum, name="ranks")
assert int(total.item()) == size * (size - 1) // 2, total

torch.manual_seed(rank)  # another start everywhere, until it is broadcast
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer = hvd.DistributedOptimizer(
    optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)

mine = torch.randn(16, 4)
wanted = mine.sum(1, keepdim=True)
first = last = None
for step in range(20):
    if sys.argv[1:] == ["fail", str(rank)] and step == 7:
        raise ValueError(f"bad batch in step {step}")
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(mine), wanted)
    loss.backward()
    optimizer.step()
    last = hvd.allreduce(loss.detach(), name="loss").item()
    first = last if first is None else first
everywhere = hvd.allgather(
    torch.cat([p.detach().flatten() for p in model.parameters()])[None])
assert torch.equal(everywhere, everywhere[:1].expand_as(everywhere))
assert last < first / 10, (first, last)
# One write: ranks of some launchers share a pipe.
os.write(1, f"rank {rank} of {size} on {socket.gethostname()} local "
            f"{hvd.local_rank()} of {hvd.local_size()} mpi "
            f"{hvd.mpi_enabled()} gloo {hvd.gloo_enabled()} loss "
            f"{last:.9f}\n".encode())
hvd.shutdown()
