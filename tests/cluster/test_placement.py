# SPDX-License-Identifier: Apache-2.0
"""Where ranks go: by slot, node and number per node, several programs, bound
or not; mpirun lines natively; who starts the ranks if nobody says."""
import os
import sys

from harness import (apply, check, cluster, contains, equal, expect, launch, main,
                     nothing_left, program)

HERE = ["sh", "-c", "echo at $(hostname) cpus $(sed -n "
        "'s/Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"]


def hosts(run):
    """Pod number by rank, as "0011"."""
    places = {rank: line.split()[1][-1] for rank, lines in run.lines().items()
              for line in lines if line.startswith("at ")}
    return "".join(places[rank] for rank in sorted(places))


def cpus(run):
    return {rank: line.split()[-1] for rank, lines in run.lines().items()
            for line in lines if line.startswith("at ")}


def test_mapping_and_lines():
    with cluster("placement") as c:
        job = apply(c, workers=2)
        pmix = ["--bootstrap", "pmix", "--slots-per-node", "2"]
        for options, wanted in ((["-n", "4"], "0011"),
                                (["-n", "4", "--map-by", "node"], "0101"),
                                (["-n", "3", "--map-by", "slot"], "001"),
                                (["--map-by", "ppr:1:node"], "01")):
            run = expect(launch(job, *pmix, *options, "--", *HERE), 0)
            equal(hosts(run), wanted, str(options), run.out, run.err)
        run = expect(launch(job, *pmix, "--display-map", "--", "mpirun", "-np",
                            "1", "-x", "A=first", *HERE, ":", "-np", "2",
                            "--map-by", "node", "sh", "-c",
                            "echo at $(hostname) as second"), 0,
                     "rank 2  pi-worker-")
        equal(sum("second" in x for x in run.out.splitlines()), 2, "seconds",
              run.out)
        run = launch(job, *pmix, "--", "mpirun", "-np", "2", "--timeout", "1",
                     "sleep", "60")
        check(run.code != 0, "exit code 0", run.err)
        contains(run.err, "time limit of 1", "stderr")
        run = expect(launch(job, *pmix, "--", "mpirun", "-np", "2",
                            "--report-bindings", "true"), 0,
                     "muster leaves --report-bindings to mpirun")
        run = expect(launch(job, *pmix, "-n", "2", "--gpu-bind", "single",
                            "--", "true"), 0)  # no GPUs: nothing to bind
        expect(launch(job, *pmix, "--bind-to", "socket", "--", "true"), 2)
        nothing_left(job)


def test_binding():
    everything = sorted(os.sched_getaffinity(0))
    with cluster("binding") as c:
        job = apply(c, workers=1)
        count = len(everything)
        run = expect(launch(job, "--bootstrap", "pmix", "--slots-per-node",
                            str(count), "--bind-to", "core", "--display-map",
                            "--", *HERE), 0)
        bound = cpus(run)
        if "not bound" not in run.err:  # hardware threads share cores
            equal(sorted(int(x) for x in bound.values()), everything, "CPUs",
                  run.out, run.err)
            contains(run.err, f"cpus {bound[0]} (numa 0)", "stderr")
    with cluster("binding-quota") as c:
        job = apply(c, workers=1, cpu=0.5)
        run = expect(launch(job, "--bootstrap", "pmix", "--slots-per-node",
                            "1", "--bind-to", "core", "--", *HERE), 0,
                     "not bound to CPUs: a CPU quota limits the pod")
        equal(len(cpus(run)), 1, "ranks", run.out)


def test_who_starts_the_ranks():
    hello = program("hello")
    with cluster("auto") as c:
        job = apply(c, workers=2)
        run = expect(launch(job, "-n", "2", "--", hello), 0,
                     "native: openmpi 4.1.4 needs no mpirun")
        equal(run.out.count("sum of ranks 1"), 2, "sums", run.out)
        run = expect(launch(job, "--", "mpirun", "-n", "2", hello), 0,
                     "mpirun: a mpirun line was given")
        equal(run.out.count("sum of ranks 1"), 2, "sums", run.out)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
