# SPDX-License-Identifier: Apache-2.0
"""The way to the workers: names and addresses that come late, vanish, move or
lead to somebody else. Whoever keeps the job waiting is named, with the step
that it is stuck at and the likely cause outside of muster."""
import os
import sys
import time

from harness import (HERE, Launch, apply, check, cluster, contains, equal,
                     expect, launch, listening, main, nothing_left,
                     sentences_only, until)

ODD = "/opt/odd_servers.py"
OPENSSH_BIND = ("/usr/sbin/sshd", "/opt/openssh/sshd", True)
PORT = 2222


def odd_files():
    with open(os.path.join(HERE, "programs", "odd_servers.py"),
              encoding="utf-8") as f:
        return {ODD: f.read()}


def odd(kind):
    return ["/usr/bin/python3", ODD, kind, str(PORT)]


def commands(by_index):
    """edit= of apply(): another command for some workers."""
    def edit(specs):
        for spec in specs:
            if spec["role"] == "worker" and spec["index"] in by_index:
                spec["argv"] = by_index[spec["index"]]
    return edit


def worker(run, index):
    """The entry of worker-INDEX in report.json."""
    check(run.report, "no report.json", run.err)
    for entry in run.report["workers"]:
        if f"worker-{index}." in entry["name"]:
            return entry
    raise AssertionError(f"no worker-{index} in {run.report['workers']}")


def hello(job, *options, **more):
    return launch(job, "-n", str(len(job.workers)), "--bootstrap", "pmix",
                  *options, "--", "true", **more)


def test_each_laggard_is_named_with_its_step():
    """One launch, a different trouble in each worker but the first."""
    kinds = {2: ["sleep", "infinity"],
             3: odd("silent"), 4: odd("closes"), 5: odd("http"),
             6: ["/opt/openssh/sshd", "-D", "-e", "-p", str(PORT),
                 "-h", "/tmp/foreign", "-f", "/dev/null"],
             7: ["sh", "-c", "mkdir -m 700 /tmp/keys; cd /tmp/keys;"
                 "cp /home/mpiuser/.ssh/id_rsa . ; chmod 600 id_rsa;"
                 "ssh-keygen -q -t ed25519 -N '' -f other;"
                 "cp other.pub authorized_keys; rm other*;"
                 "exec muster worker --key-dir /tmp/keys"],
             10: odd("version")}
    kinds[6] = ["sh", "-c", "ssh-keygen -q -t ed25519 -N '' -f /tmp/foreign;"
                "exec " + " ".join(kinds[6])]
    wanted = {1: ("resolve", "dns_unresolved"), 2: ("tcp", "refused"),
              3: ("ssh", "banner"), 4: ("ssh", "clos"), 5: ("ssh", "SSH"),
              6: ("ssh", "key"), 7: ("ssh", "key"), 8: ("tcp", ""),
              9: ("resolve", ""), 10: ("ssh", "")}
    with cluster("laggards") as c:
        job = apply(c, workers=11, binds=[OPENSSH_BIND], files=odd_files(),
                    edit=commands(kinds))
        c.dns.nxdomain("pi-worker-1")
        c.dns.servfail("pi-worker-9")
        c.drop(job.launcher, job.workers[8], port=PORT)
        listening([w for w in job.workers if w.index != 2], PORT)
        run = hello(job, "--connect-timeout", "14s")
        # A wrong key among them: the next attempt meets it again.
        equal(run.code, 100, "exit code", run.out, run.err)
        sentences_only(run)
        equal(worker(run, 0)["state"], "ready", "worker-0", run.report)
        for index, (step, _) in wanted.items():
            entry = worker(run, index)
            equal(entry["state"], "not_ready", f"worker-{index}", entry)
            equal(entry["step"], step, f"step of worker-{index}", entry)
            contains(run.err, f"worker-{index}", "stderr")
        reasons = [worker(run, i)["reason"] for i in wanted]
        what = {r.replace(worker(run, i)["name"], "")
                for i, r in zip(wanted, reasons)}
        check(len(what) >= 8, "causes are not told apart", what)
        contains(job.launcher.exec(
            ["cat", "/dev/termination-log"]).stdout, "worker-",
            "termination log")
        nothing_left(job, [job.workers[0], job.launcher])


def test_a_late_name_is_asked_for_in_the_form_that_can_be():
    """The hostfile says NAME.SERVICE.NAMESPACE.svc, the pod's search list ends
    in the cluster's domain: NAME.SERVICE.NAMESPACE.svc in a namespace cannot
    be, and another form is asked for now and then only. The line of who is
    awaited has the commands for what only the API server knows."""
    with cluster("late-form") as c:
        job = apply(c, workers=2)
        listening(job.workers, PORT)
        for pod in job.workers:
            c.dns.nxdomain(pod.name)
        run = Launch(job, ["muster", "launch", "-n", "2", "--bootstrap",
                           "pmix", "--", "true"])
        run.until("waiting for 2 of 2 workers")
        contains(run.err, "pi-worker-0.pi.default.svc, pi-worker-1.pi.default."
                 "svc: its name is not in DNS", "stderr")
        contains(run.err, "`kubectl get pods -n default -o wide`, `kubectl "
                 "describe pod pi-worker-0 -n default`", "stderr")
        c.dns.clear()
        expect(run.wait(), 0)
        asked = [q.name for q in c.dns.queries(pod=job.launcher)
                 if q.name.startswith("pi-worker-")]
        check(len(asked) >= 32, "hardly asked", asked)
        right = [n for n in asked if n.endswith(".default.svc.cluster.local")
                 and n.count(".svc") == 1]
        check(not any(n.count(".svc") > 1 for n in asked),
              "names that cannot be", asked)
        check(len(asked) - len(right) <= len(asked) / 8, "other forms", asked)
        nothing_left(job)


def test_a_misspelt_name_and_an_address_of_another_family():
    def tried(job, host, seconds):
        names = [f"pi-worker-{i}.pi.default.svc" for i in range(2)] + [host]
        job.launcher.exec(["sh", "-c", "cat > /tmp/hosts"], check=True,
                          input="".join(f"{n} slots=1\n" for n in names))
        run = launch(job, "--hostfile", "/tmp/hosts", "--bootstrap", "pmix",
                     "--connect-timeout", seconds, "--", "true")
        equal(run.code, 200, "exit code", run.out, run.err)
        sentences_only(run)
        return run

    with cluster("typo") as c:
        job = apply(c, workers=2)
        check(job.wait_ready(), "workers are not ready")
        typo = "pi-wrker-1.pi.default.svc"
        run = tried(job, typo, "15s")
        contains(run.err, f"{typo}: not in DNS, though all other workers are",
                 "stderr")
        run = tried(job, "fd00::7", "4s")
        contains(run.err, "fd00::7: it is an address of IPv6, and this pod "
                 "has no IPv6", "stderr")
        check("not in DNS" not in run.err, "stderr", run.err)
        nothing_left(job)


def test_late_vanishing_and_moving_workers_all_join():
    """Whatever changes while the launcher connects, it starts once all are
    there: none is skipped, none is asked at an old address."""
    with cluster("moving") as c:
        job = apply(c, workers=5, start={"worker-1": 2.5})
        c.dns.late("pi-worker-2", 3)
        # A stale record: the address of another worker, then the right one.
        c.dns.set("pi-worker-3", [job.workers[0].ip], seconds=2.5)
        c.dns.silent("pi-worker-0", seconds=1)
        job.workers[4].kill()
        run = Launch(job, ["muster", "launch", "-n", "5", "--bootstrap",
                           "pmix", "--", "hostname"])
        time.sleep(1)
        job.workers[4].restart()
        run.wait()
        expect(run, 0)
        hosts = sorted(line for lines in run.lines().values()
                       for line in lines)
        equal(hosts, [f"pi-worker-{i}" for i in range(5)], "hosts", run.out)
        nothing_left(job)


def test_worker_that_restarts_while_the_launcher_connects():
    with cluster("restarts") as c:
        job = apply(c, workers=3, start={"worker-2": "never"})
        run = Launch(job, ["muster", "launch", "-n", "3", "--bootstrap",
                           "pmix", "--", "hostname"])
        until(lambda: any("muster-agent agent" in line for line in
                          job.workers[1].processes().values()))
        job.workers[1].restart()  # was ready; its agent is gone now
        job.workers[2].start()
        run.wait()
        expect(run, 0)
        equal(len(run.lines()), 3, "ranks", run.out, run.err)
        nothing_left(job)


def test_dns_that_never_answers():
    with cluster("silence") as c:
        job = apply(c, workers=2)
        c.dns.silent("*")
        run = hello(job, "--connect-timeout", "7s")
        expect(run, 200, "pi-worker-0", "pi-worker-1", "DNS")
        c.dns.clear()
        expect(hello(job), 0)


def test_hostfile_that_is_filled_late():
    with cluster("late-hostfile") as c:
        job = apply(c, workers=2)
        job.launcher.exec(["sh", "-c", ": > /tmp/hosts"], check=True)
        run = Launch(job, ["muster", "launch", "--hostfile", "/tmp/hosts",
                           "--bootstrap", "pmix", "--", "hostname"])
        time.sleep(1.5)
        check(run.process.poll() is None, "it did not wait", run.err)
        job.launcher.exec(["sh", "-c", "cat /etc/mpi/hostfile > /tmp/hosts"], check=True)
        expect(run.wait(), 0)
        equal(len(run.lines()), 2, "ranks", run.out)
        job.launcher.exec(["sh", "-c", ": > /tmp/hosts"], check=True)
        run = launch(job, "--hostfile", "/tmp/hosts", "--connect-timeout",
                     "2s", "--", "true")
        expect(run, 200, "/tmp/hosts", "empty")
        job.launcher.exec(["sh", "-c", "rm /tmp/hosts; mkfifo /tmp/hosts"],
                          check=True)
        run = launch(job, "--hostfile", "/tmp/hosts", "--connect-timeout",
                     "2s", "--", "true")
        expect(run, 200, "/tmp/hosts", "empty")


def test_keys_that_are_missing_or_another_jobs():
    with cluster("keys") as c:
        job = apply(c, workers=2)
        job.launcher.exec(["mkdir", "/tmp/none"], check=True)
        run = hello(job, "--key-dir", "/tmp/none")
        expect(run, 100, "/tmp/none")
        # Another job's key: nobody is trusted, nothing is started.
        job.launcher.exec(["sh", "-c", "mkdir /tmp/other; ssh-keygen -q -t "
                           "ecdsa -b 521 -N '' -f /tmp/other/id_rsa"],
                          check=True)
        listening(job.workers)
        run = hello(job, "--key-dir", "/tmp/other", "--connect-timeout", "3s")
        expect(run, 100, "pi-worker-0", "key")
        contains(worker(run, 0)["reason"], "host key", "reason")
        # A worker without any key says so and ends; it never runs open.
        bare = c.pod("keyless", command=["muster", "worker"],
                     prefix=os.environ.get("MUSTER_PREFIX"))
        status = bare.wait(60)
        equal(status.code, 100, "exit code", bare.stderr())
        contains(bare.stderr(), "key", "stderr of the worker")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
