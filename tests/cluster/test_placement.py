# SPDX-License-Identifier: Apache-2.0
"""Where ranks go: by slot, node and number per node, several programs, bound
or not; mpirun lines natively; who starts the ranks if nobody says."""
import os
import sys

from harness import (apply, check, cluster, contains, equal, expect, launch, main,
                     nothing_left, program, trixie)

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


PLACED = ["sh", "-c", "echo at $(hostname) gpu $CUDA_VISIBLE_DEVICES near "
          "$MUSTER_NEAR_GPU cpus $(sed -n "
          "'s/Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"]


def gpus(run):
    return [line.split(" gpu ")[1].split(" near ")[0]
            for _, lines in sorted(run.lines().items())
            for line in lines if line.startswith("at ")]


def through_mpirun(manifest, mpirun, root=None):
    """Binding and GPUs of a program by itself, and of the user's own line.
    Any device node does for a GPU that is only counted and named."""
    count = min(len(os.sched_getaffinity(0)), 2)
    with cluster("mpirun-bind") as c:
        job = apply(c, manifest, workers=2, root=root, binds=[
            ("/dev/null", f"/dev/nvidia{i}", True) for i in range(2)])
        slots = ["--slots-per-node", str(count)]
        asked = ["--bind-to", "core", "--gpu-bind", "single"]
        each = [str(i) for i in range(count)] * 2
        run = expect(launch(job, "--bootstrap", "mpirun", *slots, *asked,
                            "--map-by", "slot", "--", *PLACED), 0)
        equal(gpus(run), each, "GPUs", run.out, run.err)
        bound = cpus(run)
        tied = "not bound" not in run.err  # threads of one core are one core
        if tied:
            equal([bound[0], bound[count - 1]],
                  [bound[count], bound[2 * count - 1]], "CPUs of two pods",
                  run.out, run.err)
            equal(len({bound[i] for i in range(count)}), count,
                  "different CPUs in a pod", run.out, run.err)
        # A line of the user's gets what it lacks …
        run = expect(launch(job, "-n", "2", "--map-by", "node", *asked, "--",
                            mpirun, *PLACED), 0)
        equal(hosts(run), "01", "hosts", run.out, run.err)
        equal(gpus(run), ["0", "0"], "GPUs", run.out, run.err)
        if tied:
            equal(set(cpus(run).values()), {bound[0]}, "CPUs", run.out, run.err)
        # … keeps what it has, and says what did not reach its ranks.
        run = expect(launch(job, *slots, "--bind-to", "core", "--gpu-bind",
                            "single", "--", mpirun, "-n", "2", "-bind-to",
                            "none", *PLACED), 0,
                     "--bind-to core is left out: the MPI is told to bind by "
                     "-bind-to none")
        equal(len(gpus(run)), 2, "ranks", run.out, run.err)
        nothing_left(job)


def test_placement_through_open_mpi():
    through_mpirun("pi-openmpi.yaml", "mpirun")


def test_placement_through_open_mpi_5():
    through_mpirun("pi-openmpi.yaml", "mpirun", trixie())


def test_placement_through_hydra():
    through_mpirun("pi-mpich.yaml", "mpirun.mpich")


WHERE = ["sh", "-c", "echo at $(hostname) as $0"]


def placed(run):
    """Program and pod by rank, as "x1 y0"."""
    places = {rank: line.split()[-1] + line.split()[1][-1]
              for rank, lines in run.lines().items()
              for line in lines if line.startswith("at ")}
    return " ".join(places[rank] for rank in sorted(places))


def test_programs_on_hosts_of_their_own():
    """Without and with an operator's hostfile, by either backend."""
    line = ["mpirun", "-np", "1", "-H", "pi-worker-1", *WHERE, "x", ":",
            "-np", "2", "-H", "pi-worker-0:2", *WHERE, "y"]
    crowd = ["mpirun", "--oversubscribe", "-np", "3", "-H", "pi-worker-1",
             *WHERE, "x", ":", "-H", "pi-worker-0", *WHERE, "y"]
    with cluster("own-hosts") as c:
        job = apply(c, workers=2)
        for backend in ("mpirun", "pmix"):
            run = expect(launch(job, "--bootstrap", backend, "--", *line), 0)
            equal(placed(run), "x1 y0 y0", backend, run.out, run.err)
            run = expect(launch(job, "--bootstrap", backend, "--", *crowd), 0)
            equal(placed(run), "x1 x1 x1 y0", backend, run.out, run.err)
        # No operator's hostfile: full names, as DNS has them.
        full = [word + ".pi.default.svc" if word == "pi-worker-1" else
                word.replace("-0:2", "-0.pi.default.svc:2")
                if word == "pi-worker-0:2" else word for word in line]
        alone = {"OMPI_MCA_orte_default_hostfile": "", "MUSTER_HOSTFILE": ""}
        for backend in ("mpirun", "pmix"):
            run = expect(launch(job, "--bootstrap", backend, "--", *full,
                                env=alone), 0)
            equal(placed(run), "x1 y0 y0", backend, run.out, run.err)
        run = launch(job, "--", *line[:5], *WHERE, "x", ":", "-np", "2", "-H",
                     "pi-worker-0", *WHERE, "y")
        check(run.code != 0, "2 ranks in 1 slot", run.out)
        contains(run.err, "cannot place 2 ranks of sh")
        contains(run.err, "pi-worker-0.pi.default.svc:1")
        nothing_left(job)


def test_hosts_of_all_programs_to_hydra():
    """-host is -hosts to it, wherever it stands."""
    with cluster("hydra-hosts") as c:
        job = apply(c, "pi-mpich.yaml", workers=2)
        hosts = "pi-mpich-worker-1:2,pi-mpich-worker-0"
        for name in ("mpirun.mpich", "mpiexec.hydra"):
            for option in ("-host", "-hosts"):
                line = [name, option, hosts, "-n", "2", *WHERE, "x", ":",
                        "-n", "1", *WHERE, "y"]
                for backend in ("mpirun", "pmix"):
                    run = expect(launch(job, "--bootstrap", backend, "--",
                                        *line), 0)
                    equal(placed(run), "x1 x1 y0", f"{backend}: {line}",
                          run.out, run.err)
        nothing_left(job)


def test_all_slots_of_a_host():
    with cluster("all-slots") as c:
        job = apply(c, workers=2)
        # As in Open MPI the CPUs that the pod has, not what the operator says.
        slots = len(os.sched_getaffinity(0))
        for backend in ("mpirun", "pmix"):
            run = expect(launch(job, "--bootstrap", backend, "--", "mpirun",
                                "-H", "pi-worker-1:*,pi-worker-0", *WHERE,
                                "x"), 0)
            equal(placed(run), " ".join(["x1"] * slots + ["x0"]), backend,
                  run.out, run.err)
            run = expect(launch(job, "--bootstrap", backend, "--", "mpirun",
                                "-H", "pi-worker-1:*", *WHERE, "x", ":",
                                "-H", "pi-worker-0", *WHERE, "y"), 0)
            equal(placed(run), " ".join(["x1"] * slots + ["y0"]), backend,
                  run.out, run.err)


def test_max_slots_is_no_limit():
    """Nor is it to Open MPI 4.1.4, whatever its manual says."""
    with cluster("max-slots") as c:
        job = apply(c, workers=2)
        job.launcher.exec(["sh", "-c", "printf '%s slots=1 max_slots=1\\n' "
                           "pi-worker-0.pi.default.svc "
                           "pi-worker-1.pi.default.svc >/tmp/hosts"])
        for backend in ("mpirun", "pmix"):
            run = expect(launch(job, "--bootstrap", backend, "--hostfile",
                                "/tmp/hosts", "--", "mpirun",
                                "--oversubscribe", "-np", "4", *WHERE, "x"), 0)
            equal(placed(run), "x0 x0 x1 x1", backend, run.out, run.err)


def test_crowded_pods_are_told():
    with cluster("crowded") as c:
        job = apply(c, workers=2, cpu=1.5)
        run = expect(launch(job, "--bootstrap", "pmix", "-n", "6",
                            "--slots-per-node", "3", "--", "true"), 0,
                     "pi-worker-0.pi.default.svc and pi-worker-1.pi.default."
                     "svc: 3 ranks on ")
        equal(run.err.count("ranks wait for a CPU"), 1, "notes", run.err)


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
