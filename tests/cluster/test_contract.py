# SPDX-License-Identifier: Apache-2.0
"""What operators do to a pod, one test per trap: names that are not there
yet, key modes, users without a name, hostfiles that change, spare launchers,
stock MPI tools that talk to our workers."""
import sys

from harness import (Launch, apply, check, cluster, contains, equal, expect,
                     launch, listening, main, nothing_left, program)


def hosts_of(run):
    return sorted(x for lines in run.lines().values() for x in lines)


def names(job):
    return [w.hostname for w in job.workers]


def hostname_everywhere(job, *options, bootstrap="pmix", **more):
    run = launch(job, "-n", str(len(job.workers)), "--bootstrap", bootstrap,
                 *options, "--", "hostname", **more)
    equal(run.code, 0, "exit code", run.out, run.err)
    equal(hosts_of(run), sorted(names(job)), "hosts", run.out, run.err)
    return run


def test_own_name_does_not_resolve():
    with cluster("own-name") as c:
        job = apply(c, workers=2)
        c.dns.nxdomain("pi-launcher")
        hostname_everywhere(job)
        hostname_everywhere(job, bootstrap="mpirun")


def test_launcher_comes_first_and_workers_late():
    """As after a suspended job is resumed; muster waits, with no sleep in
    the YAML, and says for whom."""
    with cluster("resume") as c:
        job = apply(c, workers=2, start={"worker-0": 4, "worker-1": 5},
                    launcher_command=["muster", "launch", "-n", "2",
                                      "--bootstrap", "pmix", "--log-format",
                                      "text", "--", "hostname"])
        status = job.launcher.wait(120)
        equal(status.code, 0, "exit code", job.launcher.stderr())
        contains(job.launcher.stderr(), "waiting for 2 of", "stderr")
        contains(job.launcher.stderr(), "pi-worker-0", "stderr")
        equal(job.launcher.stdout().count("pi-worker-"), 4, "lines",
              job.launcher.stdout())


def key_modes(mode):
    def edit(specs):
        for spec in specs:
            for volume in spec["projected"]:
                if "id_rsa" in volume["files"]:
                    for file in volume["files"].values():
                        file["mode"] = mode
    return edit


def test_key_modes_and_users():
    """0600, 0640 and 0644, as root and as a user without a passwd entry. (For
    the latter the kubelet itself makes 0640 of 0600, because of fsGroup.)"""
    with cluster("modes") as c:
        for uid, modes in ((0, ("600", "640", "644")),
                           (1000650000, ("640", "644"))):
            for mode in modes:
                job = apply(c, "default-worker-command.yaml" if uid == 0
                            else "openshift-restricted.yaml", workers=2,
                            uid=uid, edit=key_modes(mode))
                hostname_everywhere(job)
                job.remove()


def test_restricted_pods_run_open_mpi():
    """Arbitrary user id, no capability, read-only root, as OpenShift has it:
    Open MPI itself runs there, too."""
    hello = program("hello")
    with cluster("restricted") as c:
        job = apply(c, "openshift-restricted.yaml", workers=2)
        run = launch(job, "-n", "2", "--bootstrap", "mpirun", "--", hello)
        expect(run, 0)
        equal(run.out.count("sum of ranks 1"), 2, "sums", run.out)
        nothing_left(job)


def test_hostfile_swapped_under_a_running_job():
    with cluster("swap") as c:
        job = apply(c, workers=2)
        job.launcher.exec(["cp", "/etc/mpi/hostfile", "/tmp/hosts"],
                          check=True)
        for bootstrap in ("pmix", "mpirun"):
            run = Launch(job, ["muster", "launch", "--hostfile", "/tmp/hosts",
                               "--bootstrap", bootstrap, "--", "sh", "-c",
                               "echo up; sleep 1; hostname"])
            run.until("up", count=2)
            job.launcher.exec(["sh", "-c", "echo nobody slots=9 > /tmp/hosts"])
            run.wait()
            expect(run, 0)
            equal([x for x in hosts_of(run) if x != "up"], names(job),
                  "hosts", run.out)
            job.launcher.exec(["cp", "/etc/mpi/hostfile", "/tmp/hosts"])


def test_only_the_first_launcher_launches():
    with cluster("spare") as c:
        job = apply(c, "trainjob-deepspeed.yaml", workers=2, launchers=2)
        check(job.wait_ready(60), "workers are not ready")
        spare = [p for p in job.launchers if p.index == 1][0]
        run = Launch(job, ["muster", "launch", "--", "hostname"],
                     pod=spare).wait()
        equal(run.code, 0, "exit code", run.err)
        equal(run.out, "", "output of the spare launcher")
        contains(run.err, "another pod of this Job launches", "stderr")


def test_port_that_is_taken():
    """Two workers on one host network: the second says what is wrong."""
    with cluster("port") as c:
        job = apply(c, workers=1)
        listening(job.workers)
        second = job.workers[0].exec(["muster", "worker"])
        equal(second.returncode, 100, "exit code", second.stderr)
        contains(second.stderr, "2222", "stderr")
        # On a port of its own it is no trouble, and a launcher finds it.
        other = job.workers[0].popen(["muster", "worker", "--port", "2223"])
        try:
            hostname_everywhere(job, "--ssh-port", "2223")
        finally:
            other.terminate()
            other.wait(60)


def test_stock_mpirun_against_our_workers():
    """No muster in the launcher: ORTE's daemons, started over OpenSSH, live
    on after their channel is closed, and die with the job."""
    hello = program("hello")
    with cluster("stock") as c:
        job = apply(c, workers=3, mpirun_dropin=False)
        listening(job.workers)  # OpenSSH does not wait for a worker
        for extra in ([], ["--mca", "plm_rsh_no_tree_spawn", "1"]):
            done = job.launcher.exec(
                ["/usr/bin/mpirun.openmpi", *extra, "-np", "3", hello],
                timeout=60)
            equal(done.returncode, 0, f"exit code {extra}", done.stdout,
                  done.stderr, job.workers[0].stderr())
            equal(done.stdout.count("sum of ranks 3"), 3, "sums",
                  done.stdout)
            nothing_left(job, job.workers)
        # Variables that pid 1 sets for its agents do not reach other ranks.
        done = job.launcher.exec(["/usr/bin/mpirun.openmpi", "-np", "3",
                                  "env"], timeout=60)
        equal({line.split("=")[0] for line in done.stdout.splitlines()
               if line.startswith("MUSTER_")}, {"MUSTER_AGENT_TAG"},
              "our variables", done.stdout, done.stderr)


WAIT_LOOPS = ("exit", "exit 0", "true", ":", "/bin/true", "date", "hostname",
              "uptime", "whoami", "echo ok", "test -d /tmp", "[ -d /tmp ]")


def test_wait_loops_over_ssh_and_what_is_refused():
    """`until ssh HOST exit; do sleep 2; done`, as manifests have it, with
    OpenSSH's client; a refused command says why on its stderr."""
    with cluster("refused") as c:
        job = apply(c, workers=1, mpirun_dropin=False,
                    extra_env={"MUSTER_ALLOW_MPI_DAEMONS": "0"})
        listening(job.workers)  # OpenSSH does not wait for a worker

        def ssh(*words):
            return job.launcher.exec(
                ["ssh", "-o", "BatchMode=yes", "pi-worker-0.pi.default.svc",
                 *words], timeout=30)
        for question in WAIT_LOOPS:
            done = ssh(question)
            equal(done.returncode, 0, question, done.stderr)
        equal(ssh("echo", "a b").stdout, "a b\n", "echo")
        equal(ssh("exit", "3").returncode, 3, "exit 3")
        equal(ssh("test", "-f", "/nonexistent").returncode, 1, "test -f")
        for command, reason in (("cat /etc/passwd", "starts only"),
                                ("sh -c id", "starts only"),
                                ("orted --version", "refuses MPI daemons")):
            done = ssh(command)
            equal(done.returncode, 255, command, done.stdout, done.stderr)
            contains(done.stderr, reason, "stderr of " + command)
            equal(done.stdout, "", "stdout of " + command)


def test_a_login_shell_that_finds_the_real_mpirun():
    """PATH is reset, so neither mpirun nor ssh is muster's: the job runs."""
    with cluster("login") as c:
        job = apply(c, workers=2)
        listening(job.workers)
        done = job.launcher.exec(
            ["env", "PATH=/usr/bin:/bin", "mpirun.openmpi", "-np", "2", "-H",
             "pi-worker-0.pi.default.svc,pi-worker-1.pi.default.svc",
             program("hello")], timeout=60)
        equal(done.returncode, 0, "exit code", done.stdout, done.stderr)
        equal(done.stdout.count("sum of ranks 1"), 2, "sums", done.stdout)


def test_ipv6_only():
    with cluster("six", ipv="6") as c:
        job = apply(c, workers=2)
        hostname_everywhere(job)


def test_dual_stack_with_dead_aaaa_answers():
    with cluster("dual", ipv="dual-dead6") as c:
        job = apply(c, workers=2)
        hostname_everywhere(job)


def test_memory_kill_is_told_from_other_kills():
    """On cgroup v1 the kernel kills one process of the pod, on v2 all."""
    hog = "b=bytearray(1)\nwhile True: b += bytes(4000000)"
    with cluster("memory") as c:
        job = apply(c, "pi-mpich.yaml", workers=2, memory="128Mi")
        check(job.wait_ready(60), "workers are not ready")
        run = launch(job, "--", "mpirun.mpich", "-n", "2", "sh", "-c",
                     f"[ $PMI_RANK = 1 ] && exec python3 -c '{hog}';"
                     "sleep 60")
        check(run.code in (137, 204), f"exit code {run.code}", run.err)
        contains(run.err, "pi-mpich-worker-1", "stderr")
        contains(run.err, "memory", "stderr")
        # Hydra itself reports all of these alike, or not at all.
        for end, code, words in (("kill -TERM $$", 143, "SIGTERM"),
                                 ("kill -KILL $$", 137, "SIGKILL"),
                                 ("exit 9", 9, "code 9")):
            run = launch(job, "--", "mpirun.mpich", "-n", "2", "sh", "-c",
                         f"[ $PMI_RANK = 1 ] && {end}; sleep 60")
            equal(run.code, code, f"exit code after {end}", run.err)
            contains(run.err, "rank 1 on pi-mpich-worker-1", "stderr")
            contains(run.err, words, "stderr")
            check("out of memory" not in run.err,
                  f"{end} was taken for a memory kill", run.err)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
