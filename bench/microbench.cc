// SPDX-License-Identifier: Apache-2.0
// The hot paths of a launch, one process, no network: what one core of the
// launcher's pod can carry. How to run and read it: bench/README.md.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
