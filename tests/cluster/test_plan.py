# SPDX-License-Identifier: Apache-2.0
"""What muster says before it starts anything: the dry run, the hostfile for
other launchers, the software that differs between pods. And the two ways to a
host that are no SSH of ours: --local and --transport exec."""
import json
import os
import re
import subprocess
import sys
import tempfile

from harness import (HERE, PREFIX, apply, check, cluster, contains, equal,
                     expect, launch, listening, main, nothing_left, program,
                     trixie)

WORKERS = [f"pi-worker-{i}.pi.default.svc" for i in range(2)]
WRITTEN = {  # the dialects as their launchers read them
    "openmpi": "{} slots=3\n",
    "deepspeed": "{} slots=3\n",
    "mpich": "{}:3\n",
    "intel": "{}:3\n",
    "mvapich": "{}:3\n",
}


def test_dry_run_starts_nothing():
    with cluster("plan-dry") as c:
        job = apply(c, workers=2)
        mark = ["sh", "-c", "echo ran; exit 3"]
        run = expect(launch(job, "--dry-run", "-o", "json",
                            "--slots-per-node", "2", "--", *mark), 0)
        plan = json.loads(run.out)
        equal([node["name"] for node in plan["nodes"]], WORKERS, "nodes")
        equal([node["ranks"] for node in plan["nodes"]], [[0, 1], [2, 3]],
              "ranks")
        equal(plan["mpi"]["family"], "openmpi", "MPI that was asked")
        run = expect(launch(job, "--dry-run", "--", "mpirun", "-n", "2",
                            *mark), 0)
        for line in ("start      mpirun: a mpirun line was given",
                     "ranks      " + WORKERS[0] + "  rank 0"):
            contains(run.out, line, "plan")
        check("ran" not in run.out.split(), "something was started", run.out)
        nothing_left(job)


def test_hostfile_that_other_launchers_read():
    with cluster("plan-hostfile") as c:
        job = apply(c, workers=2)
        check(job.wait_ready(60), "workers are not ready")
        for dialect, line in WRITTEN.items():
            ended = job.launcher.exec(["muster", "hostfile", "--format",
                                       dialect, "--slots-per-node", "3"])
            equal(ended.stdout, "".join(line.format(w) for w in WORKERS),
                  f"hostfile for {dialect}")
        # The image's own launchers, each with the file that is meant for it.
        for words in ("/usr/bin/mpirun.openmpi --hostfile /tmp/h -n 6",
                      "/usr/bin/mpirun.mpich -f /tmp/h -n 6"):
            dialect = words.split(".")[1].split()[0]
            run = launch(job, "--once", "--", "sh", "-c",
                         f"muster hostfile --format {dialect} "
                         f"--slots-per-node 3 -o /tmp/h && {words} hostname")
            equal(run.code, 0, "exit code", run.out, run.err)
            for worker in ("pi-worker-0", "pi-worker-1"):
                equal(sum(1 for out in run.out.split() if out == worker), 3,
                      f"ranks on {worker} by {words}", run.out, run.err)


def test_software_that_must_break_is_refused():
    """One worker of another distribution: another major version of Open
    MPI. One table, and nothing starts without --allow-skew."""
    newer = trixie()

    def edit(specs):
        for spec in specs:
            if spec["name"].endswith("worker-1"):
                spec["root"] = newer

    with cluster("plan-skew") as c:
        job = apply(c, workers=2, edit=edit)
        for words in (["-n", "2", "--", program("hello")],
                      ["--", "mpirun", "-n", "2", program("hello")]):
            run = launch(job, *words)
            expect(run, 101, "--allow-skew")
            rows = [line for line in run.err.splitlines()
                    if re.search(r"openmpi (4\.1\.4|5\.0\.7)", line)]
            equal(len(rows), 2, "rows, one per kind of pod", run.err)
            contains(rows[1], "pi-worker-1", "second row")
            check("pi-worker-1" not in rows[0], "mixed row", run.err)
            check("rank 0 of" not in run.out, "ranks ran", run.out)
            nothing_left(job)


def test_hosts_without_our_ssh():
    with cluster("plan-carriers") as c:
        job = apply(c, workers=2)
        listening(job.workers)  # OpenSSH does not wait for a worker
        show = ["sh", "-c", "echo $RANK/$WORLD_SIZE on $(hostname)"]
        run = expect(launch(job, "--local", "2x2", "--", *show), 0)
        equal(sorted(word for word in run.out.split() if "/" in word),
              ["0/4", "1/4", "2/4", "3/4"], "local ranks", run.err)
        agent = ("exec:ssh -p 2222 -o StrictHostKeyChecking=no -o "
                 "UserKnownHostsFile=/dev/null -o LogLevel=ERROR {host} "
                 "muster-agent agent")
        run = expect(launch(job, "--transport", agent, "-n", "2", "--",
                            *show), 0)
        for rank in range(2):
            contains(run.out, f"{rank}/2 on pi-worker-{rank}", "stdout")
        nothing_left(job)


def test_a_worker_lost_while_it_is_asked():
    """No plan is made without it, and no rank started anywhere: it is dialled
    again, a few times."""
    agent = os.path.join(PREFIX, "libexec", "muster", "muster-agent")
    lost = os.path.join(HERE, "programs", "lost_agent.py")
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "carrier")
        once = os.path.join(folder, "once")

        def launched(when, *words):
            with open(script, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n[ $1 = b ] && {when} && "
                           f"exec {sys.executable} {lost} {agent} agent\n"
                           f"exec {agent} agent\n")
            os.chmod(script, 0o755)
            return subprocess.run(
                [os.path.join(PREFIX, "bin", "muster"), "launch", "-H", "a,b",
                 "-n", "2", "--log-format", "text", "--no-prove",
                 "--transport", f"exec:{script} {{host}}", *words,
                 "--", "sh", "-c", "echo ran"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=60)

        run = launched(f"mkdir {once} 2>/dev/null")
        equal(run.returncode, 0, "exit code", run.stdout, run.stderr)
        equal(run.stdout.count(" ran\n"), 2, "ranks", run.stdout, run.stderr)
        contains(run.stderr, "b: the agent ended", "stderr")
        for words in ([], ["--dry-run"]):
            run = launched("true", *words)
            equal(run.returncode, 201, "exit code", run.stdout, run.stderr)
            contains(run.stderr, "b: the agent ended", "stderr")
            check("starting" not in run.stderr, "ranks started", run.stderr)
            equal(run.stdout, "", "stdout")


def test_a_hostfile_of_ones_own_may_name_pods():
    """As -H and the hostfile of an mpirun line may: "pi-worker-1" alone is in
    no cluster's DNS."""
    text = "# mine\r\npi-worker-1\tslots=1\r\npi-worker-0 slots=1 # last"
    with cluster("short") as c:
        job = apply(c, workers=2)
        job.launcher.exec(["sh", "-c", "cat > /tmp/mine"], input=text,
                          check=True)
        for words in (["--hostfile", "/tmp/mine", "--bootstrap", "pmix", "--"],
                      ["--", "mpirun", "--hostfile", "/tmp/mine"]):
            run = launch(job, *words, "hostname")
            equal(run.code, 0, "exit code", run.out, run.err)
            equal(run.lines(), {0: ["pi-worker-1"], 1: ["pi-worker-0"]},
                  f"hosts: {words}", run.err)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
