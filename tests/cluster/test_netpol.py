# SPDX-License-Identifier: Apache-2.0
"""The policy that `muster netpol --port-range` prints against the sockets of
real runs: with its settings no rank and no daemon tries another port, and with
its ports enforced between the pods the job runs; without them it cannot."""
import re
import subprocess
import sys

import yaml

from harness import (PREFIX, apply, check, cluster, contains, equal, launch,
                     main, program, trixie)

RANGE = "40000-40199"
TRY = ("import socket, sys\n"
       "s = socket.socket(); s.settimeout(2)\n"
       "try: s.connect((sys.argv[1], int(sys.argv[2]))); print('open')\n"
       "except OSError as e: print(type(e).__name__)\n")


def netpol(*words):
    """The policy as a value, and the settings that its comments ask for."""
    text = subprocess.run(
        [f"{PREFIX}/bin/muster", "netpol", "--job", "pi", *words],
        capture_output=True, text=True, check=True, timeout=30).stdout
    settings = dict(re.findall(r"^#   ([A-Z]\w+)=(\S+)", text, re.M))
    return yaml.safe_load(text), settings


def ports_of(policy):
    """The TCP ports of the one ingress rule, as nftables says them."""
    (rule,) = policy["spec"]["ingress"]
    return ", ".join(
        f"{p['port']}-{p['endPort']}" if "endPort" in p else str(p["port"])
        for p in rule["ports"] if p["protocol"] == "TCP")


def refused(job, port):
    done = job.workers[0].exec(["/usr/bin/python3", "-c", TRY,
                                job.workers[1].ip, str(port)])
    return done.stdout.strip()


def runs_inside(c, compiler, bootstrap, root=None):
    policy, settings = netpol("--posture", "restricted", "--port-range", RANGE)
    path = program("pi", compiler, root=root)
    manifest = "pi-mpich.yaml" if "mpich" in compiler else "pi-openmpi.yaml"
    job = apply(c, manifest, workers=3, root=root, extra_env=settings)
    check(job.wait_ready(60), "workers are not ready")
    rule = c.only(ports_of(policy))
    words = ["-n", "3", "--bootstrap", bootstrap, "--", path]
    run = launch(job, *words)
    equal(run.code, 0, "exit code", run.out, run.err)
    contains(run.out, "pi of 3 ranks is 3.1")
    equal(rule.packets(), 0, "packets outside of the policy")
    return job, rule


def test_open_mpi_4_stays_inside():
    with cluster("np-ompi4") as c:
        job, rule = runs_inside(c, "mpicc.openmpi", "mpirun")
        # The rule is real: what it does not name does not open.
        equal(refused(job, 50000), "TimeoutError", "port 50000")
        check(rule.packets() > 0, "nothing was dropped")
        equal(refused(job, 40000), "ConnectionRefusedError", "port 40000")
        equal(refused(job, 2222), "open", "port 2222")


def test_native_start_stays_inside():
    with cluster("np-native") as c:
        runs_inside(c, "mpicc.openmpi", "pmix")


def test_open_mpi_5_stays_inside():
    with cluster("np-ompi5") as c:
        runs_inside(c, "mpicc.openmpi", "mpirun", trixie())


def test_mpich_4_2_stays_inside():
    with cluster("np-mpich") as c:
        runs_inside(c, "mpicc.mpich", "pmix", trixie())


def test_without_its_settings_open_mpi_leaves_the_range():
    policy, _ = netpol("--posture", "restricted", "--port-range", RANGE)
    with cluster("np-none") as c:
        job = apply(c, workers=2)
        check(job.wait_ready(60), "workers are not ready")
        rule = c.only(ports_of(policy))
        run = launch(job, "-n", "2", "--bootstrap", "mpirun", "--no-prove",
                     "--start-timeout", "4s", "--", program("pi"))
        check(run.code != 0 and rule.packets() > 0,
              f"exit code {run.code}, {rule.packets()} packets dropped",
              run.err)


def test_postures():
    default, _ = netpol()
    check("ports" not in default["spec"]["ingress"][0], "ports", default)
    isolated, _ = netpol("--posture", "isolated", "--port-range", RANGE,
                         "--egress", "10.0.0.0/8:443")
    equal(isolated["spec"]["policyTypes"], ["Ingress", "Egress"], "types")
    equal(len(isolated["spec"]["egress"]), 3, "pods, names, one other")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
