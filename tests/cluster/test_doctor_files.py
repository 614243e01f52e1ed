# SPDX-License-Identifier: Apache-2.0
"""`muster doctor` on what it was asked about: paths, programs and libraries;
and on places to write and the user's name. Seeded as in test_doctor.py."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time

from doctors import Folders, absent, bind, both, doctor, found, pods_of
from harness import (Skip, apply, check, cluster, contains, equal, listening,
                     main, until)


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


def test_program_that_is_not_there():
    with cluster("dr-exe") as c:
        pod = apply(c, workers=1).workers[0]
        one = found(doctor(pod, "--program", "no-such-program", code=101),
                    "exe_not_found")
        contains(one["text"], "no-such-program")
        contains(one["yaml"], "name: PATH", "YAML")
        report = doctor(pod, "--program", "/opt/none", "--program", "sh",
                        code=101)
        equal([f["text"] for f in report["findings"]
               if f["code"] == "exe_not_found"],
              ["/opt/none is not in this image"], "findings")


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
        report = doctor(job.workers[0], "--check-path", "/data")
        contains(found(report, "path_full")["evidence"], "MiB free")
        one = found(report, "path_local")
        contains(one["evidence"], "tmpfs")
        contains(one["yaml"], "ReadWriteMany", "YAML")
        job.workers[0].exec(["sh", "-c", "head -c 8m /dev/zero > /data/x"])
        found(doctor(job.workers[0], "--check-path", "/data", code=101),
              "path_unwritable")


@contextlib.contextmanager
def own_filesystem(folder):
    """ext4 on a loop device at `folder`; skips where that cannot be."""
    image = f"{folder}.img"
    with open(image, "wb") as f:
        f.truncate(16 << 20)
    try:
        for words in (["mkfs.ext4", "-q", image],
                      ["mount", "-o", "loop", image, folder]):
            done = subprocess.run(words, capture_output=True, text=True,
                                  check=False, timeout=60)
            if done.returncode != 0:
                raise Skip(f"no file system of its own: {done.stderr}")
        try:
            os.chmod(folder, 0o777)
            yield
        finally:
            subprocess.run(["umount", folder], check=True, timeout=60)
    finally:
        os.unlink(image)


@contextlib.contextmanager
def frozen(folder):
    check(os.path.ismount(folder), f"{folder} is no file system of its own")
    subprocess.run(["fsfreeze", "-f", folder], check=True, timeout=60)
    try:
        yield
    finally:
        subprocess.run(["fsfreeze", "-u", folder], check=True, timeout=60)


def states(pod):
    """State letters of the pod's processes."""
    found_ = ""
    for pid in pod.pids():
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                found_ += f.read().rpartition(")")[2].split()[0]
        except OSError:
            pass
    return found_


def test_check_path_that_is_slow():
    """A file system that stands still for a while, as a server that is away:
    from before the write until doctor waits in it, and 0.6 s more."""
    if not (shutil.which("mkfs.ext4") and shutil.which("fsfreeze")):
        raise Skip("no mkfs.ext4 or fsfreeze")
    with Folders() as folders:
        data = folders.new()
        with own_filesystem(data), cluster("dr-slow") as c:
            pod = apply(c, workers=1, edit=bind("/data", data)).workers[0]
            with frozen(data):
                process = pod.popen(["muster", "doctor", "-o", "json",
                                     "--check-path", "/data"],
                                    stdout=subprocess.PIPE, text=True)
                waits = until(lambda: "D" in states(pod), timeout=30)
                time.sleep(0.6)
            report = json.loads(process.communicate(timeout=60)[0])
            check(waits, "doctor did not wait for the file system", report)
            one = found(report, "path_slow")
            contains(one["evidence"], "4 KiB to the disk took")
            contains(one["yaml"], "emptyDir", "YAML")


def test_nowhere_to_write():
    with Folders() as folders, cluster("dr-ro") as c:
        empty = folders.new()

        def job(*places):
            return apply(c, workers=1, worker_command=["sleep", "infinity"],
                         readonly_root=True, edit=both(*[
                             bind(place, empty, readonly=True)
                             for place in places]))
        first = job("/tmp", "/dev/shm")
        one = found(doctor(first.workers[0], code=101), "no_writable_dir")
        contains(one["yaml"], "emptyDir", "YAML")
        first.remove()
        absent(doctor(job("/tmp").workers[0]), "no_writable_dir")


def test_user_without_a_name():
    with cluster("dr-user") as c:
        pod = apply(c, workers=1, uid=1000680000).workers[0]
        one = found(doctor(pod), "user_unnamed")
        contains(one["text"], "1000680000")
        contains(one["yaml"], "name: USER", "YAML")
        absent(doctor(pod, env={"USER": "job", "LOGNAME": "job"}),
               "user_unnamed")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
