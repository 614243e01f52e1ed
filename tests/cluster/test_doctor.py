# SPDX-License-Identifier: Apache-2.0
"""`muster doctor` on pods in which one thing is wrong, each seeded here and to
be found with its code and the YAML to add; with --job over all pods. Paths and
programs: test_doctor_files.py."""
import json
import os
import subprocess
import sys

from doctors import Folders, absent, bind, both, doctor, found, pods_of
from harness import HERE, apply, cluster, check, contains, equal, listening, main

ODD = os.path.join(HERE, "programs", "odd_servers.py")


def odd_files():
    with open(ODD, encoding="utf-8") as f:
        return {"/opt/odd.py": f.read()}


def listeners(pod, ports):
    for port in ports:
        pod.popen(["/usr/bin/python3", "/opt/odd.py", "closes", str(port)])
    for port in ports:
        listening([pod], port)


def test_healthy_pods():
    with cluster("dr-well") as c:
        job = apply(c, workers=3, shm_size="512m")
        listening(job.workers)
        report = doctor(job.launcher, "--job", code=0)
        equal([p["answered"] for p in report["pods"]], [True] * 4, "pods",
              report)
        for finding in report["findings"]:
            equal(finding["severity"], "info", "severity", finding)
        # All pods of podnet are on one kernel.
        one = found(report, "launcher_beside_worker")
        equal(pods_of(one), [f"pi-worker-{i}" for i in range(3)], "pods")
        contains(one["yaml"], "podAntiAffinity", "YAML")
        text = job.launcher.exec(["muster", "doctor", "--job"]).stdout
        contains(text, "4 of 4 pods examined")


def test_mesh_sidecar():
    """Envoy's listeners in one worker; another that takes connections and
    says nothing, as behind a sidecar."""
    with cluster("dr-mesh") as c:
        job = apply(c, workers=2, files=odd_files())
        listening(job.workers)
        listeners(job.workers[0], (15001, 15006, 15020, 15021))
        one = found(doctor(job.workers[0], code=101), "mesh_sidecar")
        contains(one["yaml"], "sidecar.istio.io/inject", "YAML")
        one = found(doctor(job.launcher, "--job", code=101), "mesh_sidecar")
        equal(pods_of(one), ["pi-worker-0"], "pods", one)
        job.remove()
        job = apply(c, workers=1, files=odd_files(), worker_command=[
            "/usr/bin/python3", "/opt/odd.py", "silent", "2222"])
        listening(job.workers)
        one = found(doctor(job.launcher, "--job", code=101),
                    "banner_swallowed")
        contains(one["yaml"], "sidecar.istio.io/inject", "YAML")


def test_worker_that_is_not_there():
    with cluster("dr-gone") as c:
        job = apply(c, workers=2, start={"worker-1": "never"})
        listening(job.workers[:1])
        report = doctor(job.launcher, "--job", code=101)
        one = found(report, "worker_unreachable")
        equal(pods_of(one), ["pi-worker-1"], "pods", one)


def test_small_shared_memory():
    with cluster("dr-shm") as c:
        job = apply(c, workers=1, shm_size="32m")
        one = found(doctor(job.workers[0], "--slots", "4"), "shm_small")
        equal(one["severity"], "warning", "severity", one)
        contains(one["yaml"], "medium: Memory", "YAML")
        job.remove()
        job = apply(c, workers=1, shm_size="512m")
        absent(doctor(job.workers[0], "--slots", "4"), "shm_small")


def test_slots_against_gpus_and_cpus():
    """Device nodes are what a pod sees of GPUs; any file does for that."""
    with cluster("dr-slots") as c:
        job = apply(c, workers=1, cpu="1", binds=[
            ("/dev/null", f"/dev/nvidia{i}", True) for i in range(2)])
        report = doctor(job.workers[0], "--slots", "4")
        contains(found(report, "slots_not_gpus")["yaml"], "slotsPerWorker: 2")
        found(report, "slots_over_cpus")
        absent(doctor(job.workers[0], "--slots", "2"), "slots_not_gpus")


def test_driver_without_gpu_and_too_old():
    """What the NVIDIA driver shows of itself in /proc, and its runtime."""
    with Folders() as folders, cluster("dr-nv") as c:
        proc = folders.new()
        os.mkdir(f"{proc}/nvidia")
        with open(f"{proc}/nvidia/version", "w", encoding="ascii") as f:
            f.write("NVRM version: NVIDIA UNIX x86_64 Kernel Module  "
                    "535.183.01  Sun May 12 19:39:15 UTC 2024\n")

        def pod(cuda, **options):
            job = apply(c, workers=1, edit=bind("/proc/driver", proc), files={
                f"/usr/local/cuda/lib64/libcudart.so.{cuda}": ""}, **options)
            return job, job.workers[0]
        job, worker = pod("13.0.48")
        report = doctor(worker, code=101)
        one = found(report, "driver_too_old")
        contains(one["yaml"], 'nvidia.com/cuda.driver.major: "580"', "YAML")
        one = found(report, "no_gpu_given")
        contains(one["evidence"], "535.183.01")
        contains(one["yaml"], "nvidia.com/gpu", "YAML")
        absent(doctor(job.launcher), "no_gpu_given")
        job.remove()
        job, worker = pod("12.4.127", binds=[
            ("/dev/null", "/dev/nvidia0", True)])
        report = doctor(worker, code=0)
        absent(report, "driver_too_old")
        absent(report, "no_gpu_given")


def test_huge_pages_denied():
    """The node's count and the pod's limit are files of the test: a machine
    gives up memory for real ones. As cgroup v1 and v2 have them."""
    with Folders() as folders, cluster("dr-huge") as c:
        def seed(limit):
            group = folders.new()
            os.mkdir(f"{group}/hugetlb")
            for name in ("hugetlb/hugetlb.2MB.limit_in_bytes",
                         "hugetlb.2MB.max"):
                with open(f"{group}/{name}", "w", encoding="ascii") as f:
                    f.write(f"{limit}\n")
            return bind("/sys/fs/cgroup", group)
        memory = f"{folders.new()}/meminfo"
        with open(memory, "w", encoding="ascii") as f:
            f.write("MemTotal:       16384000 kB\nHugePages_Total:     512\n"
                    "Hugepagesize:       2048 kB\n")
        node = bind("/proc/meminfo", memory)
        job = apply(c, workers=1, edit=both(node, seed(0)))
        one = found(doctor(job.workers[0]), "huge_pages_denied")
        contains(one["evidence"], "512")
        contains(one["yaml"], "hugepages-2Mi", "YAML")
        job.remove()
        job = apply(c, workers=1, edit=both(node, seed(512 << 20)))
        absent(doctor(job.workers[0]), "huge_pages_denied")


def test_memlock_and_buffers():
    """Adapter and sysctl from a recorded system; the limit is the pod's."""
    with cluster("dr-lock") as c:
        pod = apply(c, workers=1).workers[0]
        pod.exec(["sh", "-c", "mkdir -p /tmp/s/proc/sys/net/core /tmp/s/sys/"
                  "class/infiniband; echo 212992 > "
                  "/tmp/s/proc/sys/net/core/rmem_max"], check=True)
        report = doctor(pod, "--sysroot", "/tmp/s")
        contains(found(report, "small_socket_buffers")["yaml"], "rmem_max")
        pod.exec(["mkdir", "/tmp/s/sys/class/infiniband/mlx5_0"], check=True)
        words = ["sh", "-c", "ulimit -l 64; exec muster doctor -o json "
                 "--sysroot /tmp/s"]
        report = json.loads(pod.exec(words, timeout=60).stdout)
        contains(found(report, "memlock_small")["yaml"], "IPC_LOCK")


def test_port_clash():
    """What a second pod on one host network sees: the port is taken, and by
    no muster of its own."""
    with cluster("dr-port") as c:
        job = apply(c, workers=1, files=odd_files(),
                    worker_command=["sleep", "infinity"])
        absent(doctor(job.workers[0]), "port_taken")
        listeners(job.workers[0], (2222,))
        one = found(doctor(job.workers[0]), "port_taken")
        contains(one["yaml"], "MUSTER_PORT", "YAML")


def test_host_network():
    """An interface that network plugins make on nodes and in no pod."""
    with cluster("dr-host") as c:
        pod = apply(c, workers=1).workers[0]
        listening([pod])
        absent(doctor(pod), "host_network")
        subprocess.run(["nsenter", "-n", "-t", str(pod.pid), "ip", "link",
                        "add", "cni0", "type", "bridge"], check=True,
                       timeout=60)
        one = found(doctor(pod), "host_network")
        contains(one["yaml"], "podAntiAffinity", "YAML")


def test_names_both_ways():
    with cluster("dr-dns") as c:
        job = apply(c, workers=2)
        listening(job.workers)
        c.dns.nxdomain("pi-worker-1")
        one = found(doctor(job.launcher), "dns_unresolved")
        contains(one["evidence"], "pi-worker-1")
        contains(one["yaml"], "publishNotReadyAddresses", "YAML")
        c.dns.clear()
        # The launcher's name, as seen from the workers.
        c.dns.nxdomain("pi-launcher")
        report = doctor(job.launcher, "--job")
        seen = [f for f in report["findings"] if f["code"] == "dns_unresolved"]
        hosts = {h.split(".")[0] for f in seen for h in f["hosts"]}
        check({"pi-worker-0", "pi-worker-1"} <= hosts, "workers", report)


def test_object_store_endpoint():
    with cluster("dr-s3") as c:
        job = apply(c, workers=1, files=odd_files())
        pod = job.workers[0]
        listeners(pod, (9000,))
        near = {"AWS_ENDPOINT_URL": f"http://{pod.ip}:9000"}
        absent(doctor(job.launcher, env=near), "endpoint_unreachable")
        one = found(doctor(job.launcher, env={
            "AWS_ENDPOINT_URL": f"http://{pod.ip}:9001"}),
            "endpoint_unreachable")
        contains(one["evidence"], "AWS_ENDPOINT_URL")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
