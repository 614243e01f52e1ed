# SPDX-License-Identifier: Apache-2.0
"""`muster doctor` on pods in which one thing is wrong, each seeded here and to
be found with its code and the YAML to add; with --job over all pods."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from harness import (HERE, apply, check, cluster, contains, equal, listening,
                     main)

ODD = os.path.join(HERE, "programs", "odd_servers.py")


def odd_files():
    with open(ODD, encoding="utf-8") as f:
        return {"/opt/odd.py": f.read()}


def doctor(pod, *words, code=None, env=None):
    done = pod.exec(["muster", "doctor", "-o", "json", *words], timeout=120,
                    env=env)
    check(done.returncode in (0, 101), f"exit code {done.returncode}",
          done.stdout, done.stderr)
    report = json.loads(done.stdout)
    if code is not None:
        equal(done.returncode, code, "exit code", done.stdout, done.stderr)
    return report


def found(report, code):
    """The one finding of this code, which must say what to add."""
    all_ = [f for f in report["findings"] if f["code"] == code]
    equal(len(all_), 1, f"findings {code}", json.dumps(report, indent=1))
    check(all_[0]["yaml"], f"{code} has no YAML", all_)
    check(all_[0]["evidence"], f"{code} has no evidence", all_)
    return all_[0]


def absent(report, code):
    check(code not in [f["code"] for f in report["findings"]],
          f"{code} was found", json.dumps(report, indent=1))


def pods_of(one):
    """Short names of the pods that a finding of --job is about."""
    return sorted(h.split(".")[0] for h in one["hosts"])


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


def shared_library(folder, name, text):
    """A library, and a program `app` that wants it from /opt/app."""
    source = os.path.join(folder, name + ".c")
    with open(source, "w", encoding="utf-8") as f:
        f.write(f'const char* {name}(void) {{ return "{text}"; }}\n')
    subprocess.run(["gcc", "-shared", "-fPIC", "-o",
                    f"{folder}/lib{name}.so.1", source, "-Wl,-soname,"
                    f"lib{name}.so.1"], check=True, timeout=60)
    with open(f"{folder}/app.c", "w", encoding="utf-8") as f:
        f.write(f"const char* {name}(void);\n"
                f"int main(void) {{ return {name}()[0] == 0; }}\n")
    subprocess.run(["gcc", "-o", f"{folder}/app", f"{folder}/app.c",
                    f"{folder}/lib{name}.so.1", "-Wl,-rpath,/opt/app"],
                   check=True, timeout=60)


class Folders:
    """Directories that all users may read, gone afterwards."""

    def __enter__(self):
        self.made = []
        return self

    def new(self, mode=0o755):
        path = tempfile.mkdtemp(prefix="muster-doctor-")
        os.chmod(path, mode)
        self.made.append(path)
        return path

    def __exit__(self, *_):
        for path in self.made:
            shutil.rmtree(path, ignore_errors=True)


def bind(path, folder, name=None, readonly=False):
    """An edit of pod specs: `folder` at `path`, in one pod or in all."""
    def edit(specs):
        for spec in specs:
            if name is None or spec["name"] == name:
                spec["binds"] = [b for b in spec["binds"] if b[1] != path]
                spec["binds"].append([folder, path, readonly])
    return edit


def both(*edits):
    def edit(specs):
        for one in edits:
            one(specs)
    return edit


def test_missing_library():
    with Folders() as folders, cluster("dr-elf") as c:
        app = folders.new()
        shared_library(app, "given", "x")
        os.unlink(f"{app}/libgiven.so.1")
        job = apply(c, workers=1, edit=bind("/opt/app", app))
        one = found(doctor(job.workers[0], "--program", "/opt/app/app",
                           code=101), "library_missing")
        contains(one["evidence"], "libgiven.so.1")
        contains(one["yaml"], "LD_LIBRARY_PATH", "YAML")


def test_library_skew_between_pods():
    with Folders() as folders, cluster("dr-skew") as c:
        ours, other = folders.new(), folders.new()
        shared_library(ours, "given", "x")
        shared_library(other, "given", "another" * 4000)
        job = apply(c, workers=3, edit=both(
            bind("/opt/app", ours), bind("/opt/app", other, "pi-worker-2")))
        listening(job.workers)
        report = doctor(job.launcher, "--job", "--program", "/opt/app/app")
        one = found(report, "library_skew")
        contains(one["text"], "libgiven.so.1")
        contains(one["evidence"], "pi-worker-2")


def test_check_path_over_all_pods():
    with Folders() as folders, cluster("dr-path") as c:
        shared, alone = folders.new(0o777), folders.new(0o777)
        everywhere = bind("/data", shared)
        job = apply(c, workers=3, edit=everywhere)
        listening(job.workers)
        report = doctor(job.launcher, "--job", "--check-path", "/data")
        absent(report, "path_not_shared")
        equal(os.listdir(shared), [], "left in the directory")
        job.remove()
        job = apply(c, workers=3, edit=both(
            everywhere, bind("/data", alone, "pi-worker-1"),
            bind("/data", shared, "pi-worker-2", readonly=True)))
        listening(job.workers)
        report = doctor(job.launcher, "--job", "--check-path", "/data",
                        code=101)
        one = found(report, "path_not_shared")
        check("pi-worker-1" in pods_of(one), "the pod with another", one)
        one = found(report, "path_unwritable")
        equal(pods_of(one), ["pi-worker-2"], "the pod that may not write")
        contains(one["yaml"], "fsGroup", "YAML")
        one = found(doctor(job.launcher, "--check-path", "/nowhere",
                           code=101), "path_missing")
        contains(one["yaml"], "/nowhere", "YAML")


def test_check_path_without_room():
    """A directory of a few MiB and a few files, as a full claim is."""
    with cluster("dr-full") as c:
        def small(specs):
            for spec in specs:
                spec["tmpfs"].append({"dest": "/data", "mode": "777",
                                      "gid": 0, "size": 4 << 20})
        job = apply(c, workers=1, edit=small)
        one = found(doctor(job.workers[0], "--check-path", "/data"),
                    "path_full")
        contains(one["evidence"], "MiB free")
        job.workers[0].exec(["sh", "-c", "head -c 8m /dev/zero > /data/x"])
        found(doctor(job.workers[0], "--check-path", "/data", code=101),
              "path_unwritable")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
