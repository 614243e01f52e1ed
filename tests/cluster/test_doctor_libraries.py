# SPDX-License-Identifier: Apache-2.0
"""`muster doctor --program` finds a program's libraries where the kernel and
the dynamic linker do: programs that are linked here, each in a tree of its own,
with the linker's own list of the program as it is started to compare with; and
muster itself in an image that has no libssh of its own."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

from harness import (PREFIX, apply, check, cluster, contains, equal, main)

MUSTER = os.path.join(PREFIX, "bin", "muster")


def gcc(directory, *words, text=""):
    subprocess.run(["gcc", "-x", "c", "-", "-x", "none", *words], check=True,
                   cwd=directory, input=text, text=True, timeout=60)


def library(directory, name, *words, calls=()):
    os.makedirs(os.path.join(directory, os.path.dirname(name)), exist_ok=True)
    stem = os.path.basename(name)[3:-3]
    gcc(directory, "-shared", "-fPIC", "-o", name, f"-Wl,-soname,lib{stem}.so",
        *words, text="".join(f"void {c}(void);" for c in calls)
        + f"void {stem}(void) {{ {' '.join(c + '();' for c in calls)} }}")


def program(directory, name, *words, calls=("one",)):
    os.makedirs(os.path.join(directory, os.path.dirname(name)), exist_ok=True)
    gcc(directory, "-o", name, *words,
        text="".join(f"void {c}(void);" for c in calls)
        + f"int main(void) {{ {' '.join(c + '();' for c in calls)} return 0; }}")


def started(path, env):
    """Of the program as the kernel starts it: libraries that are not found."""
    done = subprocess.run([path], env={**env, "LD_TRACE_LOADED_OBJECTS": "1"},
                          capture_output=True, text=True, check=False)
    return sorted(line.split(" => ")[0].strip()
                  for line in done.stdout.splitlines() if "not found" in line)


def doctors(path, env):
    done = subprocess.run([MUSTER, "doctor", "-o", "json", "--program", path],
                          env=env, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    return sorted(report["programs"][0]["missing"]), report


def same(path, missing, what, **more):
    env = {"PATH": "/usr/bin:/bin", **more}
    equal(started(path, env), missing, f"{what}: the linker itself")
    equal(doctors(path, env)[0], missing, what)


def test_where_a_program_says_that_its_libraries_are():
    old, new = "-Wl,--disable-new-dtags", "-Wl,--enable-new-dtags"
    with tempfile.TemporaryDirectory() as d:
        for tags, kind in ((old, "rpath"), (new, "runpath")):
            tree = os.path.join(d, kind)
            library(tree, "lib/libtwo.so")
            library(tree, "lib/libone.so", "-Llib", "-ltwo", calls=("two",))
            program(tree, "bin/app", "-L../lib", f"-L{tree}/lib", "-lone",
                    f"-Wl,-rpath-link,{tree}/lib", tags,
                    "-Wl,-rpath,$ORIGIN/../lib")
            # A program's RUNPATH is not its libraries'.
            own = [] if kind == "rpath" else ["libtwo.so"]
            app = os.path.join(tree, "bin", "app")
            same(app, own, kind)
            same(app, [], kind + " and LD_LIBRARY_PATH",
                 LD_LIBRARY_PATH=os.path.join(tree, "lib"))
            # Links: $ORIGIN is of the file.
            other = os.path.join(d, "elsewhere", kind)
            os.makedirs(other)
            os.symlink(app, os.path.join(other, "direct"))
            os.symlink("direct", os.path.join(other, "twice"))
            os.symlink(os.path.join(tree, "bin"), os.path.join(other, "dir"))
            for name in ("direct", "twice", "dir/app"):
                same(os.path.join(other, name), own, f"{kind} by {name}")
            # A copy is a file of its own.
            shutil.copy(app, os.path.join(other, "copy"))
            same(os.path.join(other, "copy"), ["libone.so"], kind + " copied")


def test_libraries_with_a_path_of_their_own():
    with tempfile.TemporaryDirectory() as d:
        library(d, "deep/libtwo.so")
        library(d, "lib/libone.so", f"-L{d}/deep", "-ltwo",
                "-Wl,-rpath,$ORIGIN/../deep", "-Wl,--enable-new-dtags",
                calls=("two",))
        program(d, "bin/app", f"-L{d}/lib", "-lone",
                f"-Wl,-rpath-link,{d}/deep", "-Wl,-rpath,${ORIGIN}/../lib",
                "-Wl,--enable-new-dtags")
        app = os.path.join(d, "bin", "app")
        same(app, [], "both have one")
        os.rename(os.path.join(d, "deep"), os.path.join(d, "gone"))
        same(app, ["libtwo.so"], "the deeper one is gone")
        os.rename(os.path.join(d, "lib"), os.path.join(d, "lib2"))
        same(app, ["libone.so"], "both are gone")
        same(app, [], "LD_LIBRARY_PATH has both",
             LD_LIBRARY_PATH=f"{d}/lib2:{d}/gone")
        # The linker's own words for a directory.
        multiarch = "lib/" + subprocess.run(
            ["gcc", "-print-multiarch"], capture_output=True, text=True,
            check=True).stdout.strip()
        os.makedirs(os.path.join(d, multiarch))
        program(d, "bin/app2", f"-L{d}/lib2", "-lone",
                f"-Wl,-rpath-link,{d}/gone", f"-Wl,-rpath,{d}/$LIB")
        shutil.copy(os.path.join(d, "lib2", "libone.so"),
                    os.path.join(d, multiarch))
        app = os.path.join(d, "bin", "app2")
        env = {"PATH": "/usr/bin:/bin"}
        equal(doctors(app, env)[0], started(app, env), "$LIB")


def test_programs_with_another_linker_or_none():
    with tempfile.TemporaryDirectory() as d:
        program(d, "static", "-static", calls=())
        program(d, "odd", "-Wl,--dynamic-linker=/nowhere/ld-musl.so.1",
                calls=())
        with open(os.path.join(d, "script"), "w", encoding="ascii") as script:
            script.write("#!/bin/sh\n")
        os.chmod(os.path.join(d, "script"), 0o755)
        env = {"PATH": "/usr/bin:/bin"}
        for name, missing in (("static", []), ("script", []),
                              ("odd", ["/nowhere/ld-musl.so.1"])):
            equal(doctors(os.path.join(d, name), env)[0], missing, name)


def test_muster_in_an_image_without_libssh():
    """By each of its names: links, of which one leads to the next."""
    lost = glob.glob("/usr/lib/*/libssh.so*") + glob.glob("/lib/*/libssh.so*")
    kit = glob.glob(os.path.join(PREFIX, "lib", "muster", "libssh.so*"))
    check(kit, f"no libssh in {PREFIX}/lib/muster: -Dbundle=true puts it there")

    def edit(specs):
        for spec in specs:
            spec["removed"] += lost

    with cluster("doctor-kit") as c:
        job = apply(c, workers=1, edit=edit)
        check(job.wait_ready(60), "the worker is not ready")
        for place in lost:
            gone = job.launcher.exec(["test", "-e", place]).returncode
            equal(gone, 1, place + " is hidden")
        for name in ("mpirun", "mpiexec.hydra", "/usr/sbin/sshd",
                     "/opt/muster/bin/muster"):
            done = job.launcher.exec(["muster", "doctor", "--program", name])
            check("library_missing" not in done.stdout + done.stderr
                  and "cannot be loaded" not in done.stdout + done.stderr,
                  f"{name} is there and can be loaded", done.stdout,
                  done.stderr)
            done = job.launcher.exec(["muster", "doctor", "-o", "json",
                                      "--program", name])
            one = json.loads(done.stdout)["programs"][0]
            equal(one["missing"], [], name)
            check(one["path"], "no path", done.stdout)
        contains(job.launcher.exec(["muster", "version"]).stdout, "muster")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
