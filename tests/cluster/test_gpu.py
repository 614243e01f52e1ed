# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's driver tells of GPUs, from pods with a stand-in for its library
(tests/unit/fabric/fake_gpu.cc, which is NOT a GPU): Xids while a job runs, and
facts that are known before it."""
import json
import os
import subprocess
import sys

from harness import (PROGRAMS, ROOT, Launch, apply, check, cluster, contains,
                     equal, main, until)

EVENTS = "/tmp/gpu-events"
LIBRARIES = "/opt/gpu/lib"
STARTS = "/tmp/gpu-starts"


def stand_in():
    """A folder with the libraries of the driver."""
    folder = os.path.join(PROGRAMS, "gpu")
    source = os.path.join(ROOT, "tests", "unit", "fabric", "fake_gpu.cc")
    library = os.path.join(folder, "libnvidia-ml.so.1")
    os.makedirs(folder, mode=0o755, exist_ok=True)
    if (not os.path.exists(library)
            or os.path.getmtime(library) < os.path.getmtime(source)):
        subprocess.run(["g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o",
                        library + ".new", source], check=True, timeout=120)
        os.replace(library + ".new", library)
    cuda = os.path.join(folder, "libcuda.so.1")
    if not os.path.lexists(cuda):
        os.symlink("libnvidia-ml.so.1", cuda)
    return folder


def gpu_job(c, workers=1, env=None, launcher=False):
    """Workers with one GPU each; the launcher has none unless it is said."""
    folder = stand_in()

    def give_gpus(specs):
        for spec in specs:
            if spec["role"] == "launcher" and not launcher:
                continue
            spec["binds"] += [[folder, LIBRARIES, True],
                              ["/dev/null", "/dev/nvidiactl", True],
                              ["/dev/null", "/dev/nvidia0", True]]
            spec["env"].update(LD_LIBRARY_PATH=LIBRARIES,
                               FAKE_GPU_EVENTS=EVENTS, **(env or {}))
    job = apply(c, workers=workers, edit=give_gpus)
    job.wait_ready(60)
    return job


def says(pod, line):
    pod.exec(["sh", "-c", f"echo '{line}' >> {EVENTS}"], check=True)


def metrics(job, port=9400):
    return job.launcher.exec(
        ["python3", "-c", "import urllib.request as u; print(u.urlopen("
         f"'http://127.0.0.1:{port}/metrics').read().decode())"]).stdout


def watched(job, run):
    """Waits until the driver's events are heard on all workers."""
    check(until(lambda: metrics(job).count("muster_worker_gpus{")
                == len(job.workers) or run.process.poll() is not None),
          "nobody watches the GPUs", metrics(job))
    check(run.process.poll() is None, "the job has ended", run.err)


# Ranks wait for the test; the one whose file is there fails with its code.
RANK = ("import os, sys, time\n"
        "mine = '/tmp/fail-' + os.environ['PMIX_RANK']\n"
        "for _ in range(1200):\n"
        "    if os.path.exists(mine):\n"
        "        sys.exit(int(open(mine).read() or 1))\n"
        "    if os.path.exists('/tmp/end'):\n"
        "        sys.exit(0)\n"
        "    time.sleep(0.1)\n")


def start(job, ranks_each=1):
    ranks = ranks_each * len(job.workers)
    hosts = ",".join(f"{w.name}:{ranks_each}" for w in job.workers)
    run = Launch(job, ["muster", "launch", "-H", hosts, "-n", str(ranks),
                       "--bootstrap", "pmix", "--metrics-port", "9400", "--",
                       "python3", "-c", RANK])
    watched(job, run)
    return run


def fail(pod, rank, code):
    pod.exec(["sh", "-c", f"echo {code} > /tmp/f && mv /tmp/f /tmp/fail-{rank}"],
             check=True)


def test_a_gpu_that_falls_off_the_bus_is_the_cause():
    with cluster("gpu-79") as c:
        job = gpu_job(c, workers=2)
        says(job.workers[0], "0 79")  # before the job: nobody's business
        run = start(job)
        check("Xid" not in run.err, "an Xid of before the job", run.err)
        says(job.workers[1], "0 79")
        run.until("GPU 0 (GPU-fa4e-0): Xid 79: the GPU has fallen off the bus")
        contains(metrics(job), 'muster_worker_gpu_xid_total{worker="'
                 + job.workers[1].name)
        check(until(lambda: "Xid 79: the GPU has fallen off the bus"
                    in job.launcher.exec(["muster", "status"]).stdout),
              "muster status does not tell of it")
        top = json.loads(job.launcher.exec(["muster", "top", "-o",
                                            "json"]).stdout)
        equal([r["gpus"] for r in top["ranks"]], [["GPU-fa4e-0"]] * 2,
              "the ranks' GPUs", top["ranks"])
        shown = job.launcher.exec(["muster", "top"]).stdout
        contains(shown, f"! {job.workers[1].name}: GPU 0: Xid 79: ")
        contains(shown, "GPU MEM")
        fail(job.workers[1], 1, 3)
        run.wait(60)
        equal(run.code, 3, "the rank's own code", run.err)
        verdict = run.verdict()
        equal(verdict["code"], "gpu_hardware", "code", run.err)
        equal(verdict["class"], "rank_failed", "class", run.err)
        equal(verdict["rank"], 1, "rank", run.err)
        contains(verdict["summary"], "Xid 79")
        contains(verdict["cause"], "fallen off the bus")
        contains(verdict["cause"], "leave the node out")
        contains(" ".join(verdict["remedies"]), "kubectl")
        xids = run.report["xids"]
        equal([(x["worker"], x["xid"], x["count"]) for x in xids],
              [(verdict["host"], 79, 1)], "xids of the report")


def test_a_program_that_faults_is_told_so():
    """Two ranks on one GPU: the driver does not say which of them it was."""
    with cluster("gpu-43") as c:
        job = gpu_job(c)
        run = start(job, ranks_each=2)
        for _ in range(50):
            says(job.workers[0], "0 43")
        run.until("Xid 43: ")
        check(until(lambda: 'xid="43"} 50' in metrics(job)), "50 of them",
              metrics(job))
        fail(job.workers[0], 0, 1)
        run.wait(60)
        verdict = run.verdict()
        equal(verdict["code"], "cuda_illegal_access", "code", run.err)
        equal(run.code, 1, "the rank's own code", run.err)
        contains(verdict["cause"], "fault: the program")
        contains(" ".join(verdict["evidence"]),
                 "the driver does not say whose work it was: ranks 0, 1")
        equal(sum("Xid 43: " in line and "verdict" not in line
                  for line in run.err.splitlines() if " GPU 0 (" in line), 1,
              "warnings of 50 alike", run.err)


def test_a_job_that_ends_well_tells_what_the_driver_told():
    with cluster("gpu-63") as c:
        job = gpu_job(c)
        run = start(job)
        says(job.workers[0], "0 63")
        run.until("Xid 63: ")
        job.workers[0].exec(["touch", "/tmp/end"], check=True)
        run.wait(60)
        equal(run.code, 0, "exit code", run.err)
        equal(run.verdict()["code"], "no_failure", "code", run.err)
        equal([x["xid"] for x in run.report["xids"]], [63], "xids")


def starts(pod, what):
    return pod.exec(["sh", "-c", f"grep -c {what} {STARTS} || :"]).stdout


def test_a_launch_does_not_wait_for_drivers():
    """They take 1.5 s to start, NVML and CUDA each. The worker starts them when
    it starts; the launch learns what they said, and how long ago. No rank will
    use the GPU that the launcher's pod sees: nobody asks about that one."""
    with cluster("gpu-facts") as c:
        job = gpu_job(c, env={"FAKE_GPU_SLOW": "1500",
                              "FAKE_GPU_STARTS": STARTS}, launcher=True)
        worker = job.workers[0]

        def launched():
            run = Launch(job, ["muster", "launch", "-n", "1", "--bootstrap",
                               "pmix", "--bundle", "/tmp/bundle", "--",
                               "true"]).wait(60)
            equal(run.code, 0, "exit code", run.err)
            return run, run.report["workers"][0].get("drivers_age_ms", -1)
        check(until(lambda: worker.exec(
            ["sh", "-c", "ls /tmp/muster-gpu-facts-*/gpus"]).returncode == 0),
            "nobody serves the facts", worker.stderr())
        before = starts(worker, "cuInit")
        run, age = launched()
        check(0 <= age < 70_000, f"age {age}", run.err)
        equal(starts(worker, "cuInit"), before, "starts of the CUDA driver")
        equal(starts(job.launcher, "cuInit").strip() or "0", "0",
              "starts in the launcher's pod")
        print(f"inspect {run.phase_ms('inspect')} ms with known facts")
        # Nobody answers any more: the launch finds out by itself.
        worker.exec(["sh", "-c", "rm -r /tmp/muster-gpu-facts-*"])
        run, age = launched()
        equal(age, -1, "age", run.err)
        check(int(starts(worker, "cuInit")) > int(before),
              "the drivers were not asked")
        print(f"inspect {run.phase_ms('inspect')} ms without")


def test_files_that_variables_name_are_looked_for_in_each_pod():
    with cluster("gpu-named") as c:
        job = gpu_job(c, workers=2)
        first, second = job.workers
        first.exec(["sh", "-c", "echo NCCL_DEBUG=WARN > /tmp/nccl.conf"],
                   check=True)
        run = Launch(job, ["muster", "launch", "-n", "2", "--bootstrap", "pmix",
                           "-x", "NCCL_CONF_FILE=/tmp/nccl.conf",
                           "-x", "NCCL_TUNER_PLUGIN=ours",
                           "-x", "NCCL_PROFILER_PLUGIN=none",
                           "-x", "NCCL_P2P_DISABLE=1",
                           "-x", "NCCL_P2P_LEVEL=NVL",
                           "--", "sh", "-c", "echo began"]).wait(60)
        equal(run.code, 0, "exit code", run.err)

        def told(code, words):
            all_ = [f for f in run.report["findings"]
                    if f["code"] == code and words in f["text"]]
            equal(len(all_), 1, f"{code} of {words}", run.err)
            return all_[0]["text"]
        conf = told("lint_missing_file", "NCCL_CONF_FILE=/tmp/nccl.conf")
        contains(conf, second.name)
        check(first.name not in conf, "the pod that has it is named", conf)
        plugin = told("lint_missing_file", "NCCL_TUNER_PLUGIN=ours")
        contains(plugin, "all pods: ")
        contains(plugin, "ours or libnccl-tuner-ours.so")
        check("NCCL_PROFILER_PLUGIN=none" not in run.err, "none is no plugin",
              run.err)
        told("lint_contradiction",
             "NCCL_P2P_DISABLE=1 and NCCL_P2P_LEVEL=NVL")
        contains(run.err, "does not read the level")


def test_fabric_nccl_opens_the_library_that_is_asked_for():
    """The stand-in has NCCL's functions, too, under a name that no search for
    NCCL finds."""
    with cluster("gpu-nccl") as c:
        job = gpu_job(c, workers=2)
        library = LIBRARIES + "/libnvidia-ml.so.1"
        done = job.launcher.exec(["muster", "fabric", "nccl", "--nccl", library],
                                 timeout=90)
        shown = done.stdout + done.stderr
        equal(done.returncode, 0, "exit code", shown)
        contains(done.stdout, f"({library})", "the library")
        contains(done.stdout, "2 nodes, 2 ranks", "steps")
        done = job.launcher.exec(["muster", "fabric", "nccl", "--nccl",
                                  "/no/libnccl.so.2"], timeout=90)
        contains(done.stdout + done.stderr, "there is no such file in this pod")


def test_a_local_launch_leaves_the_drivers_alone():
    """Its checks of users' variables need nothing of them; who asks for a
    profile gets the whole look."""
    with cluster("gpu-local") as c:
        job = gpu_job(c, env={"FAKE_GPU_SLOW": "1500",
                              "FAKE_GPU_STARTS": STARTS}, launcher=True)

        def launched(*words):
            run = Launch(job, ["muster", "launch", "--local", "2x1", *words,
                               "--bootstrap", "pmix", "--", "true"]).wait(60)
            equal(run.code, 0, "exit code", run.err)
            print(f"inspect {run.phase_ms('inspect')} ms with {words}")
            return starts(job.launcher, "cuInit").strip() or "0"
        equal(launched(), "0", "starts of the CUDA driver")
        check(int(launched("--profile", "tcp")) > 0, "nobody asked the driver")


def test_facts_are_objects():
    with cluster("gpu-doctor") as c:
        job = gpu_job(c)
        report = json.loads(job.workers[0].exec(
            ["muster", "doctor", "-o", "json"]).stdout)
        gpus = report["facts"]["fabric"]["pods"][0]["gpus"]
        equal([g["memory_used_bytes"] for g in gpus], [409 << 20], "GPUs")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
