# SPDX-License-Identifier: Apache-2.0
"""What an installation asks of an image: which glibc, by scripts/check-glibc,
how scripts/weaken-need lowers that, and what scripts/bundle-libs brings along.
test_kit.py PREFIX; prints "N passed, N failed". Needs readelf and nm.
"""
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
WEAKEN = os.path.join(ROOT, "scripts", "weaken-need")
BUNDLE = os.path.join(ROOT, "scripts", "bundle-libs")
CHECK = os.path.join(ROOT, "scripts", "check-glibc")
OURS = ["arc4random", "arc4random_buf"]


def need(condition, text):
    if not condition:
        raise AssertionError(text)


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def needs_of(path, version):
    """The lines of readelf about what a file needs of one version."""
    shown = run("readelf", "--version-info", "--wide", path).stdout
    return [line for line in shown.splitlines() if f"Name: {version} " in line]


def newer_than_the_platform_has():
    """A library of this machine, and a version that it needs."""
    for path in sorted(glob.glob("/usr/lib/*/libevent_core-2*.so*")):
        if needs_of(path, "GLIBC_2.36"):
            return path
    return None


def test_a_build_from_debian_12_runs_from_glibc_2_34(prefix):
    built_on = tuple(map(int, platform.libc_ver()[1].split(".")))
    if built_on > (2, 36):
        return f"built with glibc {'.'.join(map(str, built_on))}"
    done = run(CHECK, prefix, "--max", "2.34")
    need(done.returncode == 0, done.stdout + done.stderr)
    need("GLIBC 2." in done.stdout, done.stdout)
    return None


def test_a_need_that_we_meet_is_weakened(prefix):
    source = newer_than_the_platform_has()
    if source is None:
        return "no libevent here that needs glibc 2.36"
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(source, folder)
        need("Flags: none" in needs_of(copy, "GLIBC_2.36")[0], "before")
        done = run(WEAKEN, copy, "GLIBC_2.36", *OURS)
        need(done.returncode == 0 and not done.stderr, done.stderr)
        need("Flags: WEAK" in needs_of(copy, "GLIBC_2.36")[0],
             str(needs_of(copy, "GLIBC_2.36")))
        need("Flags: none" in needs_of(copy, "GLIBC_2.14")[0], "others")
        above = run(CHECK, folder, "--max", "2.35")
        need(above.returncode == 0, above.stdout + above.stderr)
        # It still loads and finds what it wants.
        loaded = run(sys.executable, "-c",
                     f"import ctypes; ctypes.CDLL({copy!r})")
        need(loaded.returncode == 0, loaded.stderr)
    return None


def test_a_need_that_nobody_meets_stays(prefix):
    source = newer_than_the_platform_has()
    if source is None:
        return "no libevent here that needs glibc 2.36"
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(source, folder)
        done = run(WEAKEN, copy, "GLIBC_2.36", "arc4random")
        need("arc4random_buf" in done.stderr, done.stderr)
        with open(source, "rb") as old, open(copy, "rb") as new:
            need(old.read() == new.read(), "it was changed")
        need(run(CHECK, folder, "--max", "2.35").returncode == 1,
             "check-glibc is content with it")
    return None


def test_what_is_no_library_is_refused(prefix):
    done = run(WEAKEN, __file__, "GLIBC_2.36")
    need(done.returncode == 2 and __file__ in done.stderr, done.stderr)
    return None


def test_the_agent_loads_the_c_library_alone(prefix):
    """Each further one is some 0.1 ms of CPU in every pod of a launch."""
    shown = run("readelf", "-d", prefix + "/libexec/muster/muster-agent").stdout
    needed = re.findall(r"NEEDED.*\[(.*)\]", shown)
    need("libc.so.6" in needed, shown)
    if any(name.startswith(("libstdc++", "libasan", "libubsan")) for name in needed):
        return "built with the platform's C++ runtime"
    more = [x for x in needed if not x.startswith(("libc.so.", "ld-linux"))]
    need(not more, str(more))
    return None


def test_no_kerberos_comes_along(prefix):
    own = os.path.join(prefix, "lib", "muster")
    for name in ("krb5.", "krb5support.", "k5crypto.", "com_err.", "keyutils."):
        need(not glob.glob(f"{own}/lib{name}*"), name)
    if not glob.glob(own + "/libgssapi_krb5*"):
        return "this platform's libssh has no Kerberos"
    program = os.path.join(prefix, "bin", "muster")
    loaded = run("ldd", program).stdout
    need("libgssapi_krb5.so.2 => " + os.path.join(prefix, "bin") in loaded, loaded)
    need("libkrb5" not in loaded and "not found" not in loaded, loaded)
    need(run(program, "ssh", "-V").returncode == 0, "muster ssh -V")
    return None


def test_a_libssh_without_kerberos_gets_none(prefix):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/bin")
        library, program = folder + "/libssh.so.4", folder + "/bin/muster"
        with open(folder + "/main.c", "w", encoding="ascii") as file:
            file.write("int main(void) { return 0; }\n")
        run("cc", "-shared", "-Wl,-soname,libssh.so.4", "-o", library, "-xc", os.devnull)
        run("cc", "-o", program, folder + "/main.c", "-Wl,--no-as-needed", "-Wl,-rpath," + folder, library)
        need("libssh.so.4 => " + folder in run("ldd", program).stdout, "no libssh in the test's program")
        # It has nothing of GSS-API, and none of that is wanted.
        done = run(BUNDLE, folder, glob.glob(prefix + "/lib/muster/libz.so*")[0])
        need(done.returncode == 0 and not done.stderr, done.stderr)
        need(not glob.glob(folder + "/lib/muster/libgssapi*"), "a libgssapi for nobody")
    return None


def test_kerberos_stays_where_libssh_wants_more_of_it(prefix):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/bin")
        shutil.copy(prefix + "/bin/muster", folder + "/bin")
        loaded = run("ldd", folder + "/bin/muster").stdout
        if "libkrb5.so" not in loaded:
            return "this platform's libssh has no Kerberos"
        # Some library that has nothing of GSS-API.
        other = glob.glob(prefix + "/lib/muster/libz.so*")[0]
        done = run(BUNDLE, folder, other)
        need(done.returncode == 0, done.stderr)
        need("Kerberos stays with libssh, which asks for GSS_C" in done.stderr, done.stderr)
        need(glob.glob(folder + "/lib/muster/libkrb5.so*"), "no libkrb5")
        need("libkrb5" in run("ldd", folder + "/bin/muster").stdout, "not loaded")
    return None


def test_version_names_what_came_along(prefix):
    done = run(prefix + "/bin/muster", "version", "--verbose", "-o", "json")
    need(done.returncode == 0, done.stderr)
    said = json.loads(done.stdout)
    glibc = re.search(r"^GLIBC (\S+)", run(CHECK, prefix).stdout, re.M)[1]
    need(said["glibc_needed"] == glibc, f"{said['glibc_needed']}, not {glibc}")
    need([one["file"] for one in said["libraries"]] == sorted(
        os.path.basename(x) for x in glob.glob(prefix + "/lib/muster/*.so*")),
         done.stdout)
    need(all(one["soname"] for one in said["libraries"]), done.stdout)
    if not (shutil.which("dpkg-query") or shutil.which("rpm")):
        return "no dpkg and no rpm here"
    for one in said["libraries"]:
        need(one["package"] and (one["version"] or one["package"] == "muster"),
             f"{one['file']} comes from nowhere")
    return None


def main():
    failed = passed = 0
    for name, test in sorted(globals().items()):
        if not name.startswith("test_"):
            continue
        try:
            skipped = test(sys.argv[1])
        except AssertionError as error:
            failed += 1
            print(f"{name}: FAILED: {error}")
            continue
        passed += skipped is None
        print(f"{name}: {'ok' if skipped is None else 'skipped: ' + skipped}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
