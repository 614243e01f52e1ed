# SPDX-License-Identifier: Apache-2.0
"""What ranks find in their environment: whose value wins, that odd values
arrive byte for byte, and the rank variables that frameworks read."""
import json
import sys

from harness import (Launch, apply, check, cluster, contains, equal, launch, main)

ODD = "two  words 'single' \"double\" $HOME `id` \\ ;&|*\nsecond line\ttab é"
SHOW = ("import os, json; print(json.dumps(dict(os.environ)))")
BOTH = ("pmix", "mpirun")


def edit(specs):
    for spec in specs:
        own = spec["env"]
        if spec["role"] == "worker":
            own.update({"BOTH_HAVE": "worker", "WORKER_ONLY": "worker",
                        "ALL_HAVE": "worker", "NVIDIA_VISIBLE_DEVICES": "0",
                        "CUDA_VISIBLE_DEVICES": "3", "ODD_WORKER": ODD})
        else:
            own.update({"BOTH_HAVE": "launcher", "LAUNCHER_ONLY": "launcher",
                        "ALL_HAVE": "launcher", "ODD_LAUNCHER": ODD,
                        "CUDA_VISIBLE_DEVICES": "", "NODE_NAME": "node-l",
                        "REDIS_SERVICE_HOST": "10.1.2.3",
                        "REDIS_PORT": "tcp://10.1.2.3:6379",
                        "MASTER_PORT_X": "29500", "EMPTY": ""})


def environments(run):
    found = {}
    for rank, lines in run.lines().items():
        for line in lines:
            if line.startswith("{"):
                found[rank] = json.loads(line)
    return found


def test_precedence_and_odd_values():
    with cluster("env") as c:
        job = apply(c, workers=2, edit=edit)
        for bootstrap in BOTH:
            run = launch(job, "-n", "2", "--bootstrap", bootstrap, "-x",
                         "ALL_HAVE=line", "-x", "ODD_LINE=" + ODD, "--",
                         "/usr/bin/python3", "-c", SHOW)
            equal(run.code, 0, "exit code", run.out, run.err)
            seen = environments(run)
            equal(sorted(seen), [0, 1], f"ranks ({bootstrap})", run.out)
            for rank, env in seen.items():
                where = f"{bootstrap}, rank {rank}: "
                for name, value in {
                        "BOTH_HAVE": "launcher", "WORKER_ONLY": "worker",
                        "LAUNCHER_ONLY": "launcher", "ALL_HAVE": "line",
                        "CUDA_VISIBLE_DEVICES": "3", "ODD_WORKER": ODD,
                        "NVIDIA_VISIBLE_DEVICES": "0", "ODD_LAUNCHER": ODD,
                        "ODD_LINE": ODD, "MASTER_PORT_X": "29500",
                        "EMPTY": "", "HOSTNAME": f"pi-worker-{rank}",
                        }.items():
                    equal(env.get(name), value, where + name)
                for name in ("NODE_NAME", "REDIS_SERVICE_HOST", "REDIS_PORT"):
                    check(name not in env, f"{where}{name} travelled")


def test_explain_env_lists_conflicts():
    with cluster("explain") as c:
        job = apply(c, workers=2, edit=edit)
        run = launch(job, "-n", "2", "--bootstrap", "pmix", "--explain-env",
                     "--dry-run", "-x", "ALL_HAVE=line", "--", "true")
        equal(run.code, 0, "exit code", run.out, run.err)
        text = run.out + run.err
        for line in text.splitlines():
            if "ALL_HAVE" in line:
                contains(line, "line", "the line of ALL_HAVE")
                break
        else:
            raise AssertionError("ALL_HAVE is not explained\n" + text)
        contains(text, "BOTH_HAVE")
        check("SSH_AUTH" not in text, "leak", text)


def test_rank_variables_in_both_backends():
    """torchrun's and Open MPI's names, whoever starts the ranks."""
    with cluster("rankvars") as c:
        job = apply(c, workers=2)
        for bootstrap in BOTH:
            run = launch(job, "-n", "4", "--slots-per-node", "2",
                         "--bootstrap", bootstrap, "--", "/usr/bin/python3",
                         "-c", SHOW)
            equal(run.code, 0, "exit code", run.out, run.err)
            seen = environments(run)
            equal(sorted(seen), [0, 1, 2, 3], "ranks", run.out, run.err)
            for rank, env in seen.items():
                for name, value in {
                        "RANK": rank, "WORLD_SIZE": 4, "LOCAL_RANK": rank % 2,
                        "LOCAL_WORLD_SIZE": 2, "NODE_RANK": rank // 2,
                        "GROUP_RANK": rank // 2,
                        "OMPI_COMM_WORLD_RANK": rank,
                        "OMPI_COMM_WORLD_SIZE": 4,
                        "OMPI_COMM_WORLD_LOCAL_RANK": rank % 2,
                        "OMPI_COMM_WORLD_LOCAL_SIZE": 2,
                        "OMPI_COMM_WORLD_NODE_RANK": rank % 2}.items():
                    equal(env.get(name), str(value),
                          f"{bootstrap}, rank {rank}: {name}")
                contains(env.get("MASTER_ADDR", ""), "pi-worker-0",
                         "MASTER_ADDR")
                check(env.get("MASTER_PORT"), "no MASTER_PORT", env)


def fill(specs):
    """What 3,000 services of the namespace put into every container."""
    for spec in specs:
        for i in range(3000):
            name, address = f"SERVICE_{i}", f"10.96.{i // 250}.{i % 250 + 1}"
            spec["env"].update({f"{name}_{key}": value for key, value in (
                ("SERVICE_HOST", address), ("SERVICE_PORT", "80"),
                ("PORT", f"tcp://{address}:80"),
                ("PORT_80_TCP", f"tcp://{address}:80"),
                ("PORT_80_TCP_PROTO", "tcp"), ("PORT_80_TCP_PORT", "80"),
                ("PORT_80_TCP_ADDR", address))})


def test_the_links_of_three_thousand_services():
    """Work that grows with the square of them lets the agents think that the
    launcher is gone."""
    with cluster("links") as c:
        job = apply(c, workers=2, edit=fill)
        for bootstrap in BOTH:
            run = launch(job, "-n", "2", "--bootstrap", bootstrap, "--", "true")
            equal(run.code, 0, f"exit code, {bootstrap}", run.err)


def test_ranks_begin_where_the_launcher_is():
    """Where a worker has the launcher's directory, as under mpirun."""
    here, only = "/tmp/my runs/a", "/tmp/launcher only"
    with cluster("cwd") as c:
        job = apply(c, workers=2)
        for pod in job.pods:
            pod.exec(["sh", "-c", f'mkdir -p "{here}"; printf '
                      f"'#!/bin/sh\\npwd\\n' > \"{here}/show\"; "
                      f'chmod +x "{here}/show"'], check=True)
        job.launcher.exec(["mkdir", only], check=True)
        for bootstrap in BOTH:
            for place, words, wanted in (
                    (here, ["--", "./show"], here),
                    ("/tmp", ["--wdir", "my runs/a", "--", "./show"], here),
                    (only, ["--", "/bin/pwd"], None)):
                run = Launch(job, ["sh", "-c", 'cd "$0" && exec "$@"', place,
                                   "muster", "launch", "-n", "2",
                                   "--bootstrap", bootstrap, *words]).wait()
                equal(run.code, 0, "exit code", run.out, run.err)
                seen = {lines[-1] for lines in run.lines().values()}
                if wanted:
                    equal(seen, {wanted}, f"{bootstrap}: {words}", run.err)
                else:
                    check(only not in seen, "a directory of no worker", seen)


# Rank 0 listens until the ranks 0 of two launches do; `sys.argv[1]` is theirs.
MEET = """
import os, socket, sys, time
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if os.environ["RANK"] == "0":
    door = socket.create_server(place)
    open(f"{sys.argv[1]}/{place[1]}", "w").close()
end = time.monotonic() + 60
while len(os.listdir(sys.argv[1])) < 2 and time.monotonic() < end:
    time.sleep(0.05)
print("port", place[1], len(os.listdir(sys.argv[1])))
"""


def test_two_launches_of_one_machine_meet_apart():
    with cluster("meet") as c:
        job = apply(c, workers=1)
        for bootstrap in BOTH:
            here = "/tmp/doors-" + bootstrap
            job.launcher.exec(["mkdir", here], check=True)
            both = [Launch(job, ["muster", "launch", "--local", "2x1",
                                 "--bootstrap", bootstrap, "--",
                                 "/usr/bin/python3", "-c", MEET, here])
                    for _ in range(2)]
            ports = []
            for run in both:
                equal(run.wait().code, 0, "exit code", run.out, run.err)
                seen = {lines[-1] for lines in run.lines().values()}
                equal(len(seen), 1, "what ranks saw", run.out)
                ports.append(seen.pop())
                contains(ports[-1], " 2", "doors that were open")
            equal(len(set(ports)), 2, "ports of two launches", ports)


def test_a_master_port_of_the_environment_is_the_users():
    with cluster("port") as c:
        job = apply(c, workers=1)
        for bootstrap in BOTH:
            run = Launch(job, ["muster", "launch", "--local", "2x1",
                               "--explain-env", "--bootstrap", bootstrap,
                               "--", "/usr/bin/python3", "-c", SHOW],
                         env={"MASTER_PORT": "31000"}).wait()
            equal(run.code, 0, "exit code", run.out, run.err)
            equal({env["MASTER_PORT"] for env in environments(run).values()},
                  {"31000"}, "MASTER_PORT", run.out)
            contains(run.out, "MASTER_PORT=31000  # the launcher pod has it")
            contains(run.out, "MASTER_ADDR=127.0.0.1  # set for each rank")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
