// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/lone_worlds.h"

#include "catch.h"

using namespace muster;

TEST_CASE("a rank that takes itself for the only one is known by its words") {
  for (const char* line :
       {"Hello world from processor n1, rank 0 out of 1 processors",
        "Hello, world, I am 0 of 1, (Open MPI v4.1.4, package: Debian)",
        "Hello from rank 0 of 1", "rank 0/1 on worker-3", "I'm 0 / 1",
        "Process 0 of 1 is on node17", "rank: 0, size: 1",
        "rank = 0 world_size = 1", "MPI task 0 of 1: pid 4711",
        "#  Rank  0 Group  0 Pid 4711 on  node-1 device  0 [0x1a] NVIDIA H100",
        "#   Rank  0 Pid   4711 on node-1 device  0 [0x07] Tesla V100"}) {
    INFO(line);
    CHECK(is_lone_rank(line));
  }
  for (const char* line :
       {"rank 0 of 16", "rank 0 out of 1024 processors", "Epoch 0/1",
        "rank 10 of 1", "rank 0: step 0 of 10", "loss 0.1", "rank 0/1.5",
        "process 0 of 1% done", "rank 3 of 4 on host 0 of 1 rack",
        "#  Rank  1 Group  0 Pid 4712 on  node-1 device  1 [0x1b] NVIDIA H100",
        "Rank 0 has Pid 11"}) {
    INFO(line);
    CHECK_FALSE(is_lone_rank(line));
  }
}

TEST_CASE("lone ranks count where they follow each other closely") {
  LoneWorlds worlds;
  worlds.add("Hello, world, I am 0 of 1", 1);
  CHECK(worlds.count() == 0);
  worlds.add("Hello, world, I am 0 of 1", 3);
  worlds.add("pi is 3.14", 4);
  worlds.add("Hello, world, I am 0 of 1", 5);
  CHECK(worlds.count() == 3);
  worlds.add("Hello, world, I am 0 of 1", 50);
  CHECK(worlds.count() == 3);
}

TEST_CASE("answers to a question for the world's size count") {
  LoneWorlds worlds;
  worlds.add("1", 1);
  worlds.add("1", 2);
  CHECK(worlds.count() == 0);
  worlds.add(
      "$ mpirun -np 2 python -c 'from mpi4py import MPI; "
      "print(MPI.COMM_WORLD.Get_size())'",
      3);
  worlds.add("1", 4);
  worlds.add("1", 5);
  CHECK(worlds.count() == 2);

  LoneWorlds single;
  single.add("mpirun -n 1 python -c 'print(MPI.COMM_WORLD.size)'", 1);
  single.add("1", 2);
  single.add("1", 3);
  CHECK(single.count() == 0);
}
