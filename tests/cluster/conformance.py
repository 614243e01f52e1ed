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
import base64
import json
import os
import shlex
import struct
import sys

from harness import Launch, cluster, EXAMPLES, PREFIX

LIMIT = 30  # seconds for one program; its list may say more
# Ranks and arguments of the folder that has no list.
BASIC = {
    "self": "1", "simple": "4", "sendrecv": "4", "srtest": "4", "wtime": "4",
    "patterns": "4", "netpipe": "2 -reps 1 -end 1 -out /tmp/netpipe.out",
    "adapt": "3 -reps 1 -end 1 -out /tmp/adapt.out",
}
# Of pmix_client: the lines of OpenPMIx's own run_tests that one namespace can
# do, and what it knows beside. Always 4 ranks: mpirun's universe.
CLIENT = """
--fence '[db | 0:0-2]'
--fence '[db | 0:]'
--fence '[0:]'
--fence '[b | 0:]'
--fence '[d | 0:]' --noise '[0:0,1]'
--fence '[db | 0:][db | 0:0,1][d | 0:1-3][b | 0:0,3]'
--fence '[db | 0:][db | 0:]' --use-same-keys
--job-fence
--job-fence -c
--job-fence -nb
--job-fence -nb -c
--job-fence --collect-corrupt
--job-fence -c --gds hash
--job-fence -c --gds ds12
--test-publish
--test-spawn
--test-connect
--test-resolve-peers
--test-error
--test-replace 100:0,1,10,50,99
--test-internal 10
--early-fail
"""
CLIENT_JUDGED = {"--early-fail": "TestStatus",  # must fail
                 "--test-error": "exit"}        # prints each event as ERROR
TEST_V2 = {  # and arguments; -r: ranks' own measurements may differ by 1/10
    "test_init_fin": [], "test_helloworld": [], "test_get_basic": [],
    "test_get_peers": [], "test_fence_basic": [],
    "test_fence_wildcard": ["-r", "10"], "test_fence_partial": ["-r", "10"],
}


def mpich_list(directory, folder):
    """(name, ranks, arguments, seconds) of a testlist."""
    for name in ("testlist", "testlist.in"):
        path = os.path.join(directory, folder, name)
        if os.path.exists(path):
            break
    else:  # the suite itself does not run this folder
        for name, line in BASIC.items() if folder == "basic" else ():
            ranks, *arguments = line.split()
            yield folder, name, int(ranks), arguments, [], 60, "basic"
        return
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


def client_programs(path):
    """pmix_client knows its rank from its own server only."""
    for line in CLIENT.strip().splitlines():
        arguments = shlex.split(line)
        words = ["sh", "-c", 'exec "$0" --rank "$PMIX_RANK" "$@"', path,
                 "-n", "4", "--ns-size", "4", "--ns-id", "0", *arguments]
        # It wants all of its peers on its own host.
        where = " --map-by ppr:4:node" if "resolve-peers" in line else ""
        yield (f"pmix_client {line}", "4" + where, words, LIMIT,
               CLIENT_JUDGED.get(arguments[0], "pmix"))


def told(rank, ranks):
    """What test_v2's server tells a client of itself: validation_params in
    base64. The namespace is left to PMIX_NAMESPACE."""
    each = ranks // 2
    node, local = divmod(rank, each)
    peers = ",".join(str(node * each + i) for i in range(each)).encode()
    data = struct.pack("I??511sI256sII511sIHI511s511sIH0I",
                       1, True, False, b"", rank, b"", ranks, ranks, b"",
                       each, local, node, peers, b"", 2, local)
    return base64.b64encode(data).decode().replace("=", " ")


def v2_program(path, arguments, ranks=4):
    words = ["sh", "-c", 'eval "told=\\${$((PMIX_RANK + 1))}"; shift 4; '
             'exec "$0" "$@" --validate-params "$told"', path,
             *(told(rank, ranks) for rank in range(ranks)),
             "-n", str(ranks), "--ns-size", str(ranks), "--ns-id", "0",
             *arguments]
    return os.path.basename(path), ranks, words, 120, "pmix"


def pmix_programs(directory):
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if name == "pmix_client":
            yield from client_programs(path)
        elif name in TEST_V2:
            yield v2_program(path, TEST_V2[name])
        else:
            yield name, 4, [path], LIMIT, "pmix"


def judge(run, how):
    """"" if it passed, else why not, in a few words."""
    said = run.out + run.err
    if run.code is None:
        return "hangs"
    if how == "TestStatus":          # must fail with a code of its own
        return "" if run.code != 0 else "exit 0"
    if how == "TestErrFatal":
        return "" if run.code != 0 else "exit 0"
    if how == "pmix":
        bad = [line for line in run.out.splitlines()
               if ("failed" in line.lower() or "error" in line.lower())
               and "plm:rsh" not in line]  # mpirun's own
        if bad:
            return bad[0][-90:]
    if run.code != 0:
        return f"exit {run.code}"
    if how == "basic":  # only one of them says how it went
        return "FAILURE" if "FAILURE" in said else ""
    if how in ("pmix", "exit"):
        return ""
    return "" if "No Errors" in said else "does not say No Errors"


def once(job, way, compiler, ranks, words, limit, how):
    options = ["--timeout", f"{limit}s", "--grace", "1s", "--oversubscribe"]
    ranks = str(ranks).split()  # with where they go, perhaps
    if way == "native":
        command = ["-n", *ranks, "--bootstrap", "pmix", *options, "--",
                   "env", *words]
    else:
        # Debian has the mpirun of both MPIs.
        more = ["--oversubscribe"] if compiler == "openmpi" else []
        command = [*options, "--", f"mpirun.{compiler}", *more, "-n",
                   *ranks, "env", *words]
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
