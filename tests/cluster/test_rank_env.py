# SPDX-License-Identifier: Apache-2.0
"""The environment of each rank under mpirun, variable by variable: the same
line by the image's mpirun alone (over OpenSSH in pods, or on one machine) and
under muster. What may differ is the table of docs/conformance.md, "Variables of
a rank under mpirun"; nothing else may."""
import fnmatch
import os
import re
import sys

from harness import (ROOT, Launch, apply, check, cluster, contains, equal,
                     main, program)

PLACE = "/tmp/environ"
ODD = "two  words 'single' \"double\" $HOME `id` \\ ;&|*\nline\ttab é="
VENV = "/tmp/venv/bin"
OPEN_MPI = ["mpirun.openmpi", "-np", "2"]
HYDRA = ["mpiexec.hydra", "-n", "2", "-ppn", "1", "-iface", "eth0"]
SECTION = "## Variables of a rank under mpirun"
# Values that may differ (where both have the name), and names of one side.
KINDS = ("other value", "only plain", "only muster", "the pod's")


def intended():
    """[(pattern, where, kind)] of the page for people."""
    with open(os.path.join(ROOT, "docs", "conformance.md"),
              encoding="utf-8") as page:
        text = page.read().split(SECTION, 1)[1].split("\n## ", 1)[0]
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| `"):
            continue
        check(cells[1] in ("pods", "one machine", "both"), "where?", line)
        check(cells[2] in KINDS, "which kind?", line)
        rows += [(name, cells[1], cells[2])
                 for name in re.findall(r"`([^`]+)`", cells[0])]
    check(len(rows) > 10, "no table in docs/conformance.md", text)
    return rows


def read(pod, rank):
    done = pod.exec(["od", "-An", "-v", "-tx1", f"{PLACE}/rank-{rank}"],
                    check=True)
    entries = bytes.fromhex("".join(done.stdout.split())).split(b"\0")
    pod.exec(["rm", f"{PLACE}/rank-{rank}"], check=True)
    pairs = [e.decode().partition("=") for e in entries if e]
    equal(len({n for n, _, _ in pairs}), len(pairs), "names, each once", pairs)
    return {name: value for name, _, value in pairs}


def kind_of(name, plain, muster, pod):
    if name in plain and name in muster:
        return "the pod's" if muster[name] == pod.get(name) else "other value"
    if name in plain:
        return "only plain"
    return "the pod's" if muster[name] == pod.get(name) else "only muster"


def compare(plain, muster, where, pod, what):
    rows = intended()
    odd = []
    for name in sorted(plain.keys() | muster.keys()):
        if plain.get(name) == muster.get(name):
            continue
        kind = kind_of(name, plain, muster, pod)
        if not any(fnmatch.fnmatchcase(name, pattern)
                   and place in (where, "both") and kind == listed
                   for pattern, place, listed in rows):
            odd.append(f"{name} ({kind}): plain {plain.get(name)!r}, "
                       f"muster {muster.get(name)!r}")
    check(not odd, f"{what}: differences that no table names", *odd)


def made_up(specs):
    for spec in specs:
        spec["env"]["WORKER_HAS"] = ODD


def jobs(c, **options):
    job = apply(c, workers=2, edit=made_up, **options)
    check(job.wait_ready(60), "workers are not ready")
    for pod in job.pods:
        pod.exec(["mkdir", "-p", PLACE, VENV], check=True)
        pod.exec(["sh", "-c", f"printf '#!/bin/sh\\necho of the venv\\n' > "
                  f"{VENV}/python3; chmod +x {VENV}/python3"], check=True)
        # Hydra's own form, of one slot.
        pod.exec(["sh", "-c", "sed 's/ .*//' /etc/mpi/hostfile > /tmp/hosts"])
    return job


def plainly(job, line, env=None):
    done = job.launcher.exec(line, timeout=60, env=env)
    equal(done.returncode, 0, " ".join(line), done.stdout, done.stderr)


def with_muster(job, line, env=None):
    run = Launch(job, line, env=env).wait()
    equal(run.code, 0, " ".join(line), run.out, run.err)
    return run


def pods_env(pod):
    """What its container's processes start with."""
    done = pod.exec(["env", "-0"])
    return dict(entry.split("=", 1) for entry in done.stdout.split("\0")
                if entry)


def compare_in_pods(line, hosts, more, prefixed=False):
    path = f"{VENV}:/usr/bin:/bin"
    env = {"PATH": path, "ODD_LAUNCHER": ODD}
    ranks = program("environ", "gcc")
    with cluster("env-plain") as c1, cluster("env-muster") as c2:
        plain, muster = jobs(c1, prefix=None), jobs(c2)
        for own in ([], more):
            words = [*line, *own, ranks, PLACE]
            plainly(plain, [*line, *hosts, *own, ranks, PLACE], env)
            run = with_muster(
                muster, ["/opt/muster/bin/muster", "launch", "--", *words], env)
            for rank in (0, 1):
                seen = read(plain.workers[rank], rank)
                ours = read(muster.workers[rank], rank)
                pod = pods_env(muster.workers[rank])
                compare(seen, ours, "pods", pod, f"{words}, rank {rank}")
                if own:
                    equal(ours["PATH"], path, "PATH", run.err)
                    equal(ours["ODD_LAUNCHER"], ODD, "ODD_LAUNCHER")
                else:
                    equal(ours["PATH"], pod["PATH"], "PATH")


def compare_here(line, more):
    env = {"PATH": f"{VENV}:/usr/bin:/bin", "ODD_LAUNCHER": ODD}
    # The operator's names are for its own hosts.
    alone = ["env", "-u", "OMPI_MCA_orte_default_hostfile", "-u",
             "OMPI_MCA_orte_set_default_slots", "-u", "HYDRA_HOST_FILE"]
    ranks = program("environ", "gcc")
    with cluster("env-here") as c:
        job = jobs(c)
        for own in ([], more):
            words = [*line, *own, ranks, PLACE]
            plainly(job, [*alone, *words], env)
            before = [read(job.launcher, rank) for rank in (0, 1)]
            with_muster(job, [*alone, "/opt/muster/bin/muster", "launch",
                              "--local", "1x2", "--", *words], env)
            for rank in (0, 1):
                compare(before[rank], read(job.launcher, rank), "one machine",
                        {}, f"{words}, rank {rank}")


def test_open_mpi_in_pods():
    compare_in_pods(OPEN_MPI, [], ["-x", "PATH", "-x", "ODD_LAUNCHER"])


def test_hydra_in_pods():
    compare_in_pods(HYDRA, ["-f", "/tmp/hosts"],
                    ["-envlist", "PATH,ODD_LAUNCHER", "-genv", "NEW", ODD])


def test_open_mpi_on_one_machine():
    compare_here([*OPEN_MPI, "--oversubscribe", "--bind-to", "none"],
                 ["-x", "PATH", "-x", "NEW=1"])


def test_hydra_on_one_machine():
    compare_here(HYDRA[:3], ["-genv", "NEW", "1"])


def test_a_typed_directory_is_the_prefix_that_mpirun_makes_of_it():
    line = ["/usr/bin/mpirun.openmpi", "-np", "2", program("environ", "gcc"),
            PLACE]
    with cluster("env-prefix1") as c1, cluster("env-prefix2") as c2:
        plain, muster = jobs(c1, prefix=None), jobs(c2)
        plainly(plain, line)
        with_muster(muster, ["muster", "launch", "--", *line])
        seen, ours = read(plain.workers[1], 1), read(muster.workers[1], 1)
        own = pods_env(muster.workers[1])["PATH"]
        check("LD_LIBRARY_PATH" in seen, "no LD_LIBRARY_PATH of the prefix")
        equal(ours.get("LD_LIBRARY_PATH"), seen["LD_LIBRARY_PATH"],
              "LD_LIBRARY_PATH")
        check(ours["PATH"].endswith(":" + own), "the pod's PATH is not last",
              ours["PATH"])
        before = ours["PATH"][:-len(own)]
        check(before and seen["PATH"].startswith(before), "what is put before "
              "PATH", ours["PATH"], seen["PATH"])


def test_programs_of_a_virtual_environment():
    """`python3` by PATH only, as an activated venv or conda has it."""
    muster = "/opt/muster/bin/muster"
    with cluster("env-venv") as c:
        job = jobs(c)
        for path in (f"{VENV}:/usr/bin:/bin", f"{VENV}:/bin:/usr/bin"):
            for words in (
                    ["/opt/muster/dropin/bin/mpirun", "-np", "2", "-x", "PATH"],
                    [muster, "launch", "--", "mpirun", "-np", "2", "-x",
                     "PATH"],
                    [muster, "launch", "--", "mpiexec.hydra", "-n", "2",
                     "-genv", "PATH", path],
                    [muster, "launch", "-n", "2", "-x", "PATH", "--bootstrap",
                     "pmix", "--"],
                    [muster, "launch", "-n", "2", "-x", "PATH", "--bootstrap",
                     "mpirun", "--"],
                    [muster, "launch", "--local", "1x2", "--", "mpirun", "-np",
                     "2"],
                    [muster, "launch", "--local", "2x1", "--", "mpirun", "-np",
                     "2", "-x", "PATH"],
                    [muster, "launch", "--local", "1x2", "--bootstrap", "pmix",
                     "--"]):
                run = with_muster(job, [*words, "python3", "-c", "print(1)"],
                                  {"PATH": path})
                equal(run.out.count("of the venv"), 2, " ".join(words),
                      run.out, run.err)


NUMBERS = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK",
           "GROUP_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
           "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_RANK",
           "PMI_SIZE", "PMIX_RANK", "MV2_COMM_WORLD_RANK"]


def test_a_ranks_number_never_comes_from_a_pod():
    """As a PyTorchJob, JobSet or an outer launcher sets them, in all pods."""
    def numbered(specs):
        for spec in specs:
            spec["env"].update({name: "77" for name in NUMBERS})

    muster = ["/opt/muster/bin/muster", "launch", "--log-format", "plain"]
    show = ["sh", "-c", "echo it: " + " ".join(
        "$" + name for name in NUMBERS[:5])]
    with cluster("env-numbers") as c:
        job = apply(c, workers=2, edit=numbered)
        check(job.wait_ready(60), "workers are not ready")
        pods = [["-n", "2", "--map-by", "node", "--bootstrap", "pmix", "--"],
                ["--", "mpirun.openmpi", "-np", "2", "--map-by", "node"],
                ["--", "mpiexec.hydra", "-n", "2", "-ppn", "1"],
                ["--once", "--", "sh", "-c", 'mpirun -np 2 --map-by node "$@"',
                 "sh"]]
        here = [["--local", "1x2", "--bootstrap", "pmix", "-n", "2", "--"],
                ["--local", "1x2", "--", "mpirun.openmpi", "-np", "2"],
                ["--local", "1x2", "--", "mpiexec.hydra", "-n", "2"]]
        for words in pods + here:
            run = with_muster(job, [*muster, *words, *show])
            local = words in here
            expected = sorted(
                f"it: {rank} 2 {rank if local else 0} {2 if local else 1} "
                f"{0 if local else rank}" for rank in (0, 1))
            equal(sorted(line for line in run.out.splitlines()
                         if line.startswith("it: ")), expected,
                  " ".join(words), run.out, run.err)
        for words in (pods[0], here[0]):
            done = job.launcher.exec([*muster, "--explain-env", "--dry-run",
                                      *words, *show])
            contains(done.stdout, "  WORLD_SIZE=2  # set for each rank",
                     "--explain-env")
            check(not re.search(r"\b77\b", done.stdout), "the pod's numbers",
                  done.stdout)
        done = job.launcher.exec([*muster, "--explain-env", "--dry-run",
                                  *here[1], *show])
        contains(done.stdout, "# RANK, WORLD_SIZE", "--explain-env")
        check(not re.search(r"\b77\b", done.stdout), "the pod's numbers",
              done.stdout)
        # The user's line has the last word.
        run = with_muster(job, [*muster, "--local", "1x2", "--", "mpirun", "-np",
                                "2", "-x", "RANK=5", *show])
        equal(run.out.count("it: 5 2"), 2, "-x RANK=5", run.out, run.err)


def test_mpirun_says_the_name_it_was_called_by():
    with cluster("env-version") as c:
        job = jobs(c)
        for name in ("mpirun", "mpiexec", "mpiexec.hydra"):
            plain = job.launcher.exec([name, "--version"],
                                      env={"PATH": "/usr/bin:/bin"})
            for words in ([name], ["muster", "launch", "--", name],
                          ["muster", "launch", "--once", "--", name]):
                done = job.launcher.exec(
                    [*words, "--version"], env={"MUSTER_LOG_FORMAT": "plain"})
                equal(done.stdout.split(), plain.stdout.split(),
                      " ".join(words), done.stderr)
        contains(plain.stdout, "HYDRA", "the last one's")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
