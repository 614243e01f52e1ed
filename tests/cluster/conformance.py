# SPDX-License-Identifier: Apache-2.0
"""External test programs, compiled elsewhere, under a native start and under
the image's own mpirun, side by side (docs/conformance.md):

    conformance.py mpich DIR FOLDER...     DIR: a configured and built test/mpi
    conformance.py pmix DIR                DIR: compiled PMIx clients

    --compiler openmpi|mpich   which mpirun to compare with (default openmpi)
    --json FILE                the table as data
    --root DIR                 pods on this root (a Debian 13)

A program passes if it exits with 0 and says what its suite wants to hear.
Needs root, podnet, MUSTER_PREFIX. Two pods; ranks as the suite's list says.
"""
import argparse
import json
import os
import sys

from harness import Launch, cluster, EXAMPLES, PREFIX

LIMIT = 30  # seconds for one program; its list may say more
# Arguments that the PMIx clients need, and ranks other than four.
PMIX_ARGUMENTS = {
    "pmix_client": (4, ["-n", "4", "--ns-size", "4", "--ns-id", "0",
                        "--job-fence", "-c"]),
}


def mpich_list(directory, folder):
    """(name, ranks, arguments, seconds) of a testlist."""
    for name in ("testlist", "testlist.in"):
        path = os.path.join(directory, folder, name)
        if os.path.exists(path):
            break
    else:
        return  # a folder that the suite does not run either
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if len(words) < 2 or "@" in words[0] or not words[1].isdigit():
                continue
            options = dict(w.partition("=")[::2] for w in words[2:])
            arguments = [w[4:] for w in words[2:] if w.startswith("arg=")]
            environment = [w[4:] for w in words[2:] if w.startswith("env=")]
            yield (folder, words[0], int(words[1]), arguments, environment,
                   int(options.get("timeLimit", LIMIT)),
                   options.get("resultTest", ""))


def mpich_programs(directory, folders):
    for folder in folders:
        for _, name, ranks, args, env, limit, how in mpich_list(directory,
                                                              folder):
            path = os.path.join(directory, folder, name)
            built = os.path.join(directory, folder, ".libs", name)
            path = built if os.path.exists(built) else path
            if not os.access(path, os.X_OK):
                continue
            label = " ".join([f"{folder}/{name}", *args])
            yield label, ranks, [*env, path, *args], limit, how


def pmix_programs(directory):
    for name in sorted(os.listdir(directory)):
        ranks, arguments = PMIX_ARGUMENTS.get(name, (4, []))
        environment = ["SLURM_LOCALID=0"] if name == "pmix_client" else []
        yield (name, ranks,
               [*environment, os.path.join(directory, name), *arguments],
               30, "pmix")


def judge(run, how):
    """"" if it passed, else why not, in a few words."""
    said = run.out + run.err
    if run.code is None:
        return "hangs"
    if how == "TestStatus":          # must fail with a code of its own
        return "" if run.code != 0 else "exit 0"
    if how == "TestErrFatal":
        return "" if run.code != 0 else "exit 0"
    if run.code != 0:
        return f"exit {run.code}"
    if how == "pmix":
        bad = [line for line in run.out.splitlines()
               if ("failed" in line.lower() or "error" in line.lower())
               and "plm:rsh" not in line]  # mpirun's own
        return bad[0][-90:] if bad else ""
    return "" if "No Errors" in said else "does not say No Errors"


def once(job, way, compiler, ranks, words, limit, how):
    options = ["--timeout", f"{limit}s", "--grace", "1s", "--oversubscribe"]
    if way == "native":
        command = ["-n", str(ranks), "--bootstrap", "pmix", *options, "--",
                   "env", *words]
    else:
        # Debian has the mpirun of both MPIs.
        more = ["--oversubscribe"] if compiler == "openmpi" else []
        command = [*options, "--", f"mpirun.{compiler}", *more, "-n",
                   str(ranks), "env", *words]
    run = Launch(job, ["muster", "launch", *command])
    try:
        run.wait(limit + 30)
    except AssertionError:
        return "hangs"
    if run.verdict().get("cause") == "time_limit" or run.code == 124:
        return "hangs"
    return judge(run, how)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("suite", choices=["mpich", "pmix"])
    parser.add_argument("directory")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--compiler", default="openmpi")
    parser.add_argument("--root")
    parser.add_argument("--json")
    parser.add_argument("--only", default="native,mpirun")
    options = parser.parse_args()
    programs = list(mpich_programs(options.directory, options.folders)
                    if options.suite == "mpich"
                    else pmix_programs(options.directory))
    ways = options.only.split(",")
    manifest = "pi-openmpi.yaml" if options.compiler == "openmpi" \
        else "pi-mpich.yaml"
    table = {}
    more = {"root": options.root} if options.root else {}
    with cluster("conformance") as c:
        job = c.apply(os.path.join(EXAMPLES, manifest), workers=2,
                      prefix=PREFIX, launcher_command=["sleep", "infinity"],
                      binds=[(options.directory, options.directory, True)],
                      **more)
        job.wait_ready(60)
        for name, ranks, words, limit, how in programs:
            row = {}
            for way in ways:
                row[way] = once(job, way, options.compiler, ranks, words,
                                limit, how)
            table[f"{name} {ranks} #{len(table)}"] = row
            print(name, ranks, "  ".join(
                f"{way}: {why or 'ok'}" for way, why in row.items()),
                flush=True)
    for way in ways:
        passed = sum(1 for row in table.values() if not row[way])
        print(f"{way}: {passed} of {len(table)} pass")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(table, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
