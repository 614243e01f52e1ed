# SPDX-License-Identifier: Apache-2.0
"""The fabric over pods: which interface ranks are told to use where there are
several, and faults between 16 pods found and named by check and bench."""
import json
import subprocess
import sys
import time

from harness import (NCCL_IN_IMAGE, apply, check, cluster, contains, equal,
                     launch, main, nothing_left)

PORT = 20000  # where check listens in every pod: a rule can name it


def in_netns(pid, *commands):
    for command in commands:
        subprocess.run(["nsenter", "-n", "-t", str(pid), *command.split()],
                       check=True, timeout=20)


def network_pid(c):
    """A process in the namespace that has the pods' bridge."""
    return c._process.pid


def add_interface(c, pod, name, address, bridge):
    """One more interface in a pod, on a bridge of its own in the middle."""
    middle, inside = network_pid(c), pod.pid
    number = pod.ip.rsplit(".", 1)[1]
    in_netns(middle, f"ip link add x{bridge}{number} type veth peer name "
             f"{name} netns {inside}", f"ip link set x{bridge}{number} up")
    in_netns(inside, f"ip link set {name} up",
             f"ip addr add {address} dev {name}")


def socket_interfaces(job, *options):
    """{rank: NCCL_SOCKET_IFNAME} as ranks see it."""
    run = launch(job, "--bootstrap", "pmix", "--no-prove", *options, "--",
                 "sh", "-c", "echo interface=$NCCL_SOCKET_IFNAME.")
    equal(run.code, 0, "exit code", run.out, run.err)
    return {rank: lines[-1] for rank, lines in run.lines().items()}, run.err


def interfaces_of(name, decorate):
    with cluster(name) as c:
        job = apply(c, files=NCCL_IN_IMAGE)
        job.wait_ready()
        for pod in job.workers:
            decorate(c, pod)
        seen, log = socket_interfaces(job)
        equal(sorted(seen), [0, 1], "ranks", log)
        for rank, line in seen.items():
            equal(line, "interface==eth0.", f"interface of rank {rank}", log)
        nothing_left(job)


def test_an_isolated_second_network():
    """Multus-like: net1 in each pod, no way from one to the other."""
    def decorate(c, pod):
        number = pod.ip.rsplit(".", 1)[1]
        add_interface(c, pod, "net1", f"192.168.77.{number}/24", "n")
    interfaces_of("fabnet", decorate)


def test_a_link_local_decoy():
    """An ib* name that NCCL prefers, with an address that leads nowhere."""
    def decorate(c, pod):
        number = pod.ip.rsplit(".", 1)[1]
        add_interface(c, pod, "ib0", f"169.254.7.{number}/16", "l")
    interfaces_of("fablocal", decorate)


def test_a_bridge_decoy():
    def decorate(c, pod):
        in_netns(pod.pid, "ip link add cni0 type bridge",
                 "ip addr add 10.88.0.1/16 dev cni0", "ip link set cni0 up",
                 "ip link add p0 type veth peer name p1",
                 "ip link set p0 master cni0 up", "ip link set p1 up")
    interfaces_of("fabbridge", decorate)


def fabric(job, *words, timeout=60):
    began = time.monotonic()
    done = job.launcher.exec(["muster", "fabric", *words, "-o", "json"],
                             timeout=timeout)
    seconds = time.monotonic() - began
    try:
        report = json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"no JSON, exit {done.returncode}: "
                             f"{done.stdout}\n{done.stderr}") from None
    return done.returncode, report, seconds


def findings(report, code):
    return [f["text"] for f in report["findings"] if f["code"] == code]


def test_a_healthy_job():
    with cluster("fabwell") as c:
        job = apply(c, workers=4)
        job.wait_ready()
        code, report, _ = fabric(job, "check")
        for word in ("connect", "connect_back", "bulk_stalls", "limits",
                     "name_missing", "peer_lost"):
            equal(findings(report, word), [], word)
        # A pair that was slow while others were busy is tested once more.
        tested = {frozenset((pair["from"], pair["to"]))
                  for pair in report["pairs"]}
        equal(len(tested), 10, "pairs of five pods")
        check(code in (0, 37), f"exit code {code}", report)
        nothing_left(job)


def test_a_check_asks_for_what_the_job_will():
    """With profile rdma a job without adapters would not start."""
    with cluster("fabask") as c:
        job = apply(c)
        job.wait_ready()
        code, report, _ = fabric(job, "check", "--profile", "rdma")
        equal(code, 38, "exit code", report)
        contains(findings(report, "rdma_no_hca")[0], "the profile demands it")
        code, report, _ = fabric(job, "check", "--profile", "tcp")
        equal(findings(report, "rdma_no_hca"), [], "profile tcp")
        done = job.launcher.exec(["muster", "fabric", "mpi", "--profile",
                                  "rdma"], timeout=60)
        equal(done.returncode, 101, "exit code of mpi", done.stderr)


def test_nccls_own_words_against_the_plan():
    """A program that prints what NCCL would; no RDMA here, so TCP is planned
    and a rank that says IB is not as planned."""
    says = "echo \"h:1:2 [0] NCCL INFO Using network $NET\" >&2"
    with cluster("fabnccl") as c:
        job = apply(c)
        job.wait_ready()
        words = ("--bootstrap", "pmix", "--profile", "tcp", "--no-prove")
        run = launch(job, *words, "-x", "NET=IB", "--", "sh", "-c", says)
        equal(run.code, 0, "exit code", run.err)
        told = [s for s in run.err.splitlines() if "NCCL uses IB" in s]
        equal(len(told), 1, "warnings", run.err)
        contains(told[0], "although TCP was planned")
        for pod in ("pi-worker-0", "pi-worker-1"):
            contains(told[0], pod)
        run = launch(job, *words, "-x", "NET=Socket", "--", "sh", "-c", says)
        equal(run.code, 0, "exit code", run.err)
        check("NCCL uses" not in run.err, "a warning without cause", run.err)


WHEELS = "/tmp/venv/lib/python3.11/site-packages"
# As a program whose libraries nobody foresees: it maps another NCCL.
MAPS_ANOTHER = f"""
import mmap, os, time
wheels = "{WHEELS}2" if os.environ["RANK"] == "0" else "{WHEELS}"
with open(wheels + "/nvidia/nccl/lib/libnccl.so.2", "rb") as library:
    mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
    time.sleep(6)
"""


def add_wheel(pod, packages, version):
    pod.exec(["sh", "-c", f"mkdir -p {packages}/nvidia/nccl/lib "
              f"{packages}/nvidia_nccl_cu13-{version}.dist-info && "
              f"echo x > {packages}/nvidia/nccl/lib/libnccl.so.2"], check=True)


def add_venv(pod, version):
    pod.exec(["sh", "-c", "mkdir -p /tmp/venv/bin && "
              "ln -s /usr/bin/python3 /tmp/venv/bin/python3 && "
              "printf 'home = /usr/bin\\nversion = 3.11.2\\n' "
              "> /tmp/venv/pyvenv.cfg"], check=True)
    add_wheel(pod, WHEELS, version)


def test_the_nccl_that_the_program_loads():
    """Not the image's: that of the command's virtual environment, compared
    between the pods, and held against what ranks have loaded."""
    with cluster("nccl-own") as c:
        job = apply(c, files=NCCL_IN_IMAGE)
        job.wait_ready()
        for pod in (job.launcher, *job.workers):
            add_venv(pod, "2.28.9")
        words = ["--bootstrap", "pmix", "--no-prove", "--",
                 "/tmp/venv/bin/python3", "-c"]
        run = launch(job, *words, "print('ran')")
        equal(run.code, 0, "exit code", run.out, run.err)
        check("2.28.9" not in run.err, "a difference that is none", run.err)
        add_wheel(job.workers[0], WHEELS + "2", "2.27.3")
        run = launch(job, "-x", "NCCL_ELASTIC_BUFFER_REGISTER=1", *words,
                     MAPS_ANOTHER)
        equal(run.code, 0, "exit code", run.out, run.err)
        contains(run.err, "NCCL_ELASTIC_BUFFER_REGISTER has no effect in NCCL "
                 "2.28.9: it came with 2.30.0")
        contains(run.err, "loaded NCCL 2.27.3")
        contains(run.err, "settings of the network are of 2.28.9")
        equal(run.err.count("of the network are of"), 1, "told", run.err)
        spread = [f for f in run.report["findings"]
                  if f["code"] == "nccl_spread"]
        equal(len(spread), 1, "differences between pods", run.err)
        for part in ("loads NCCL", "2.27.3", "2.28.9",
                     job.workers[0].name, job.workers[1].name):
            contains(spread[0]["text"], part)
        job.workers[1].exec(["sh", "-c", f"rm -r {WHEELS}/nvidia_nccl*"],
                            check=True)
        add_wheel(job.workers[1], WHEELS, "2.27.3")
        run = launch(job, *words, "print('ran')")
        contains(run.err, "2.27.3")
        contains(run.err, "2.28.9")
        nothing_left(job)


def test_mpi_through_the_jobs_own_library():
    with cluster("fabmpi") as c:
        job = apply(c)
        job.wait_ready()
        done = job.launcher.exec(["muster", "fabric", "mpi"], timeout=60)
        shown = done.stdout + done.stderr
        equal(done.returncode, 0, "exit code", shown)
        contains(done.stdout, "Open MPI")
        contains(done.stdout, "ping-pong pi-worker-0 - pi-worker-1")
        contains(done.stdout, "is what TCP gives: < 2 us needs RDMA.")
        done = job.launcher.exec(["muster", "fabric", "mpi", "-o", "json"],
                                 timeout=60)
        figures = json.loads(done.stdout)
        equal([figures["ranks"], figures["host"], figures["partner"]],
              [2, "pi-worker-0", "pi-worker-1"], "JSON", done.stdout)
        check(figures["latency_us"] > 0 and figures["gbps"] > 0, "figures",
              done.stdout)


def test_five_faults_among_16_pods():
    with cluster("fabfault") as c:
        job = apply(c, workers=16)
        job.wait_ready()
        w = job.workers
        c.drop(w[1], w[2], port=PORT, direction="out")
        middle = network_pid(c)
        number = int(w[5].ip.rsplit(".", 1)[1])
        # A network of MTU 1200 below an interface that says 1500.
        in_netns(middle, f"nft add rule bridge podnet after oifname v{number} "
                 "meta length > 1200 drop", "nft add rule bridge podnet before "
                 f"iifname v{number} meta length > 1200 drop")
        in_netns(w[8].pid, "tc qdisc add dev eth0 root tbf rate 30mbit burst "
                 "32kb latency 100ms")
        c.dns.nxdomain("pi-worker-11")
        w[13].exec(["prlimit", "--pid", "1", "--memlock=65536:65536"],
                   check=True)
        code, report, seconds = fabric(job, "check", "--port", str(PORT))
        print(f"  check: {seconds:.1f} s")
        shown = json.dumps(report["findings"], indent=1)
        check(seconds < 60, f"check took {seconds:.1f} s", shown)
        equal(findings(report, "connect_back"),
              ["pi-worker-1.pi.default.svc cannot connect to "
               "pi-worker-2.pi.default.svc"], "one way", shown)
        named(report, "bulk_stalls", "pi-worker-5.")
        named(report, "name_missing", "pi-worker-11.")
        named(report, "limits", "pi-worker-13.")
        sends_slowly(report, "pi-worker-8.")
        check(31 <= code <= 39, f"exit code {code}", shown)
        # The slow link once more, measured, with the others gone.
        c.allow()
        c.dns.clear()
        in_netns(middle, f"nft flush chain bridge podnet after",
                 "nft flush chain bridge podnet before")
        code, report, seconds = fabric(job, "bench", "--megabytes", "4",
                                       "--port", str(PORT))
        print(f"  bench: {seconds:.1f} s")
        check(seconds < 60, f"bench took {seconds:.1f} s")
        for gone in ("connect", "connect_back", "bulk_stalls", "name_missing"):
            equal(findings(report, gone), [], gone)
        sends_slowly(report, "pi-worker-8.")
        nothing_left(job)


def test_a_pod_whose_dns_is_silent():
    """Its look would last for minutes; what else it knows must not be lost."""
    with cluster("fabdns") as c:
        job = apply(c, workers=3)
        job.wait_ready()
        c.drop(job.workers[1], "dns", port=53, proto="udp")
        _, report, _ = fabric(job, "check", "--port", str(PORT))
        shown = json.dumps(report["findings"], indent=1)
        equal(findings(report, "pod_missing"), [], "facts lost", shown)
        first = findings(report, "name_missing")
        check(any(text.startswith("1 of ") for text in first),
              "the pod that finds no name", shown)
        contains(shown, "asked in pi-worker-1.")
        nothing_left(job)


def named(report, code, pod):
    """One finding of this code, and it names the pod."""
    texts = findings(report, code)
    shown = json.dumps(report["findings"], indent=1)
    equal(len(texts), 1, code, shown)
    contains(texts[0], pod, code)


def sends_slowly(report, pod):
    slow = findings(report, "slow")
    check(any(pod in s and "sends slowly" in s for s in slow), "slow link",
          json.dumps(report["findings"], indent=1))


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
