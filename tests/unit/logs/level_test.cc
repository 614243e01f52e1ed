// SPDX-License-Identifier: Apache-2.0
#include "logs/level.h"

#include "catch.h"

using namespace muster;

TEST_CASE("levels of the usual libraries") {
  struct Case {
    const char* line;
    LogLevel level;
  };
  for (const Case& one : {
           Case{"WARNING:root:slow", LogLevel::kWarn},
           Case{"ERROR:torch.distributed:failed", LogLevel::kError},
           Case{"2026-01-31 12:00:00,123 - train - ERROR - bad",
                LogLevel::kError},
           Case{"2026-01-31 12:00:00,123 INFO start", LogLevel::kInfo},
           Case{"[2026-01-31 12:00:00,123] [WARNING] [engine.py:1:x] y",
                LogLevel::kWarn},
           Case{"E0702 12:34:56.123456 99 a.cc:1] no", LogLevel::kError},
           Case{"W1121 06:14:00.000000 1 b.cc:2] hm", LogLevel::kWarn},
           Case{"[h:1] [[2,0],0] ORTE_ERROR_LOG: Not found in file a.c",
                LogLevel::kError},
           Case{"[h:1] PMIX ERROR: OUT-OF-RESOURCE in file a.c at line 1",
                LogLevel::kError},
           Case{"E20260702 12:34:56.123456 99 a.cc:1] no", LogLevel::kError},
           Case{"[rank3]:[E1024 03:02:19.151543 4321 P.cpp:616] x",
                LogLevel::kError},
           Case{"[W1121 12:00:00.000 socket.cpp:1] Warning", LogLevel::kWarn},
           Case{"host:1:2 [0] NCCL WARN Call failed", LogLevel::kWarn},
           Case{"host:1:2 [0] NCCL INFO Channel 00", LogLevel::kInfo},
           Case{"[1700.1] [h:77:0]  a.c:6  UCX  ERROR   no transport",
                LogLevel::kError},
           Case{"[host:123] *** An error occurred in MPI_Send",
                LogLevel::kError},
           Case{"[2026-01-31 12:00:00.123] [main] [critical] x",
                LogLevel::kFatal},
           Case{"[error] cannot", LogLevel::kError},
           Case{"WARNING: There was an error", LogLevel::kWarn},
           Case{"DEBUG | loader | x", LogLevel::kDebug},
           Case{"Traceback (most recent call last):", LogLevel::kError},
           // NCCL names its source file since 2.12.
           Case{"host:1:2 [0] misc/socket.cc:50 NCCL WARN x", LogLevel::kWarn},
           Case{"2026-01-31 12:00:00.012345: W tensorflow/a.cc:64] x",
                LogLevel::kWarn},
           Case{"2026-01-31 12:00:00.012345: E external/x.cc:1] y",
                LogLevel::kError},
           Case{"[NeMo W 2026-01-31 12:00:00 nemo_logging:393] x",
                LogLevel::kWarn},
           Case{R"({"ts":1.2,"level":"error","msg":"x"})", LogLevel::kError},
           Case{R"({"severity": "WARNING", "message": "x"})", LogLevel::kWarn},
           Case{"time=\"2026\" level=warning msg=\"x\"", LogLevel::kWarn},
           Case{"libfabric:1:17::core:core:ofi_x():1<warn> x", LogLevel::kWarn},
           Case{"/usr/lib/x.py:12: UserWarning: x", LogLevel::kWarn},
           Case{"FutureWarning: x", LogLevel::kWarn},
           Case{"RuntimeError: CUDA out of memory.", LogLevel::kError},
           Case{"torch.cuda.OutOfMemoryError: x", LogLevel::kError},
           Case{"AssertionError", LogLevel::kError},
           Case{"java.lang.NullPointerException: x", LogLevel::kError},
           Case{"2026-01-31 12:00:00,123\tERROR worker.py:12 -- x",
                LogLevel::kError},
           Case{"(Worker pid=12, ip=10.0.0.2) ERROR 01-31 12:00:00 x",
                LogLevel::kError},
           Case{"[default0]:WARNING: x", LogLevel::kWarn},
           Case{"wandb: ERROR api_key not configured", LogLevel::kError},
           Case{"\x1b[33mWARNING\x1b[0m: x", LogLevel::kWarn},
           Case{"\x1b[1;31mERROR\x1b[0m x", LogLevel::kError},
           Case{"Error: could not open file", LogLevel::kError},
           Case{"Warning: x", LogLevel::kWarn},
           Case{"train.py: error: unrecognized arguments: --x",
                LogLevel::kError},
           Case{"srun: error: x", LogLevel::kError},
           Case{"MPI_ABORT was invoked on rank 0", LogLevel::kError},
           Case{"Fatal error in PMPI_Init: Other MPI error", LogLevel::kError},
           Case{"terminate called after throwing", LogLevel::kError},
           Case{"Segmentation fault (core dumped)", LogLevel::kError},
       }) {
    INFO(one.line);
    REQUIRE(detect_level(one.line));
    CHECK(*detect_level(one.line) == one.level);
  }
}

TEST_CASE("words inside a message are no levels") {
  for (const char* const line : {"step 3 validation error 0.02",
                                 "mean error: 0.3",
                                 "Error rate 0.1",
                                 "no warning was given",
                                 "loss 0.1 fatal 0 info 3",
                                 "",
                                 "E",
                                 "E12",
                                 "error",
                                 "I am fine",
                                 "Epoch 1: error 5",
                                 "E1024 units sold",
                                 "Error: 0.123",
                                 "step 3: error: 0.1",
                                 "KeyError handling enabled",
                                 "    raise RuntimeError",
                                 "ValueErrors: 3",
                                 "the NCCL documentation",
                                 "Warnings are off",
                                 "level=3 of the game",
                                 "{\"loss\": 0.1}",
                                 "(error 0.1) at step 3",
                                 "2026-01-31 12:00:00.012345: step 3"}) {
    INFO(line);
    CHECK_FALSE(detect_level(line));
  }
}

TEST_CASE("level words of options") {
  CHECK(parse_level("warning") == LogLevel::kWarn);
  CHECK(parse_level("ERR") == LogLevel::kError);
  CHECK(parse_level("F") == LogLevel::kFatal);
  CHECK_FALSE(parse_level("loud"));
  CHECK_FALSE(parse_level(""));
}
