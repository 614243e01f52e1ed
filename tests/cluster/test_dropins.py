# SPDX-License-Identifier: Apache-2.0
"""The names that muster takes over, called by the programs that call them:
pdsh, DeepSpeed's pdsh line, plain mpirun; and that none calls itself."""
import os
import re
import sys

from harness import (Launch, Skip, apply, check, cluster, contains, equal,
                     main)

ANY = ["muster", "worker", "--allow-any-command"]


def sh(pod, line, code=0, **options):
    done = pod.exec(["sh", "-c", line], **options)
    equal(done.returncode, code, line, done.stdout, done.stderr)
    return done.stdout + done.stderr


def ready(c, **options):
    job = apply(c, workers=2, **options)
    check(job.wait_ready(60), "workers are not ready")
    # A worker without a probe is Ready before it listens.
    end = Launch(job, ["muster", "launch", "--", "true"]).wait(60)
    equal(end.code, 0, "exit code", end.err)
    return job


def test_pdsh():
    if not os.path.exists("/usr/bin/pdsh"):
        raise Skip("no pdsh here")
    with cluster("pdsh") as c:
        job = ready(c, worker_command=ANY)
        out = sh(job.launcher, "pdsh -R ssh -w pi-worker-[0-1].pi hostname")
        for i in range(2):
            contains(out, f"pi-worker-{i}: pi-worker-{i}")
        # As DeepSpeed's PDSHRunner builds it; %n is pdsh's own.
        out = sh(job.launcher, "PDSH_RCMD_TYPE=ssh pdsh -S -f 1024 -w "
                 "pi-worker-0.pi,pi-worker-1.pi 'export PYTHONPATH=/w; cd /tmp;"
                 " /usr/bin/python3 -u -c \"import os,sys; "
                 "print(os.environ[\\\"PYTHONPATH\\\"], sys.argv[1])\" "
                 "--node_rank=%n'")
        for i in range(2):
            contains(out, f"pi-worker-{i}: /w --node_rank={i}")
        sh(job.launcher, "PDSH_RCMD_TYPE=ssh pdsh -S -w "
           "pi-worker-0.pi,pi-worker-1.pi 'exit 3'", code=3)


def test_pdsh_is_refused_by_default():
    if not os.path.exists("/usr/bin/pdsh"):
        raise Skip("no pdsh here")
    with cluster("pdsh-no") as c:
        job = ready(c)
        done = job.launcher.exec(["pdsh", "-R", "ssh", "-w", "pi-worker-0.pi",
                                  "cat /proc/loadavg"])
        contains(done.stdout + done.stderr, "--allow-any-command")


def test_ssh_in_a_job_goes_through_the_launcher():
    """To workers that start nothing for an SSH session."""
    with cluster("ssh-in-job") as c:
        job = ready(c)
        for ssh in ("ssh", "muster ssh"):
            line = f"{ssh} -x pi-worker-1.pi 'hostname; exit 5'"
            refused = sh(job.launcher, line, code=255)
            contains(refused, "--allow-any-command")
            run = Launch(job, ["muster", "launch", "--once", "--", "sh", "-c",
                               line]).wait(60)
            contains(run.out, "pi-worker-1")
            equal(run.code, 5, "exit code", run.err)


def test_names_lead_to_muster_and_on_to_the_mpi():
    with cluster("names") as c:
        job = ready(c)
        for name in ("mpirun", "mpiexec", "orterun", "ssh", "sshd"):
            contains(sh(job.launcher, f"command -v {name}"), "/dropin/bin/")
        # Questions go to the image's own.
        for question in ("mpirun --version", "muster launch -- mpirun -V"):
            contains(sh(job.launcher, question), "Open MPI")
        out = sh(job.launcher, "mpirun -np 2 hostname")
        for i in range(2):
            contains(out, f"pi-worker-{i}")
        # Names of pods, which are not in DNS, are the hostfile's.
        out = sh(job.launcher, "mpirun -host pi-worker-1,pi-worker-0 -np 2 "
                 "sh -c 'echo $OMPI_COMM_WORLD_RANK on $(hostname)'")
        contains(out, "0 on pi-worker-1")
        contains(out, "1 on pi-worker-0")
        # Programs in a file; labels as mpirun's own; files that it would write.
        out = sh(job.launcher, "printf -- '-np 1 echo a\\n-np 1 echo b\\n' "
                 ">/tmp/app; mpirun --app /tmp/app")
        contains(out, "a\n")
        contains(out, "b\n")
        out = sh(job.launcher, "mpirun --tag-output --output-filename /tmp/o "
                 "-np 2 sh -c 'echo o; echo e >&2'")
        contains(out, "[1,1]<stdout>:o\n")
        contains(out, "[1,0]<stderr>:e\n")
        contains(out, "/tmp/o/rank-N.out and rank-N.err")
        for rank in range(2):
            equal(sh(job.launcher, f"cat /tmp/o/rank-{rank}.out"), "o\n",
                  f"stdout of rank {rank}")
            equal(sh(job.launcher, f"cat /tmp/o/rank-{rank}.err"), "e\n",
                  f"stderr of rank {rank}")
        # Natively, in files only; and inside a script, where it is too late.
        for words in ("--output-filename /tmp/p:nocopy", "--output dir=/tmp/q:nocopy"):
            out = sh(job.launcher, f"muster launch --bootstrap pmix -- mpirun {words}"
                     " -np 2 sh -c 'echo only the file has it'")
            check("only the file" not in out, "shown with nocopy", out)
            contains(out, "and not shown here")
            contains(out, "starting 2 ranks (native")
            place = words.split("/")[-1].split(":")[0]
            equal(sh(job.launcher, f"cat /tmp/{place}/rank-1.out"),
                  "only the file has it\n", "stdout of rank 1")
        out = sh(job.launcher, "muster launch --once -- mpirun "
                 "--output-filename /tmp/s -np 2 echo in a script")
        contains(out, "muster launch --once --log-dir /tmp/s")
        # The Kubeflow SDK's line.
        out = sh(job.launcher, "mpirun --hostfile /etc/mpi/hostfile bash -c "
                 "'echo \"a : $(hostname)\"'")
        for i in range(2):
            contains(out, f"a : pi-worker-{i}")


def test_a_pipe_that_has_had_enough_at_a_terminal():
    with cluster("enough") as c:
        job = ready(c)
        out = sh(job.launcher, "timeout 60 script -qec 'mpirun -np 2 yes | "
                 "head -n 2; echo ended ${PIPESTATUS[0]}' /dev/null",
                 env={"SHELL": "/bin/bash"}, timeout=90)
        contains(out, "ended 141")
        contains(out, "stdout has no reader")


def test_without_hosts_the_real_mpirun_runs():
    """In a pod that has no hostfile, mpirun is what it always was."""
    with cluster("alone-dropin") as c:
        pod = c.pod("alone", prefix=os.environ["MUSTER_PREFIX"])
        done = pod.exec(["mpirun", "--oversubscribe", "-np", "2", "sh", "-c",
                         "echo rank $OMPI_COMM_WORLD_RANK ${MUSTER_RANK:-plain}"])
        equal(sorted(done.stdout.split("\n"))[1:],
              ["rank 0 plain", "rank 1 plain"], "ranks", done.stderr)


def test_a_rank_does_not_start_another_job():
    with cluster("recursion") as c:
        job = ready(c)
        run = Launch(job, ["muster", "launch", "-n", "2", "--bootstrap",
                           "pmix", "--", "mpirun", "-np", "2",
                           "sh", "-c", "mpirun -np 2 hostname"]).wait(60)
        check(run.code != 0, "exit code 0", run.out)
        contains(run.err + run.out, "inside rank")


def test_open_mpi_as_root_wants_to_be_told():
    """As the real mpirun, by its option or its two variables; muster launch
    does not mind."""
    with cluster("root") as c:
        job = ready(c, uid=0, profile="kubernetes")
        refused = Launch(job, ["mpirun", "-n", "2", "hostname"]).wait()
        equal(refused.code, 100, "exit code", refused.out, refused.err)
        contains(refused.out + refused.err, "--allow-run-as-root")
        equal(refused.verdict().get("code"), "run_as_root_refused", "verdict",
              refused.err)
        for words, env in (
                (["mpirun", "--allow-run-as-root", "-n", "2", "hostname"], {}),
                (["mpirun", "-n", "2", "hostname"],
                 {"OMPI_ALLOW_RUN_AS_ROOT": "1",
                  "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}),
                (["muster", "launch", "--", "mpirun", "-n", "2", "hostname"],
                 {})):
            run = Launch(job, words, env=env).wait()
            equal(run.code, 0, f"exit code of {words}", run.out, run.err)
            contains(run.out, "pi-worker-1")


def test_what_cannot_be_started_is_named_with_its_host():
    """A file that is missing, one that cannot be executed, a name that is not
    on PATH: as Open MPI's own mpirun says it, in Open MPI's own words."""
    with cluster("drop-missing") as c:
        job = apply(c, workers=2)
        for word, code in (("/no/such/program", 127), ("/etc/hostname", 126),
                           ("nosuchthing", 127)):
            done = job.launcher.exec(["mpirun", "-np", "2", word], timeout=90)
            equal(done.returncode, code, word, done.stderr)
            told = re.search(r"error: (.*cannot start.*)", done.stderr)
            check(told, "no headline", done.stderr)
            contains(told[1], word, "program")
            contains(told[1], "pi-worker-", "host")
            check("said nothing" not in done.stderr, "a rank ended",
                  done.stderr)


def test_who_typed_mpirun_is_told_no_option_of_ours():
    with cluster("drop-words") as c:
        job = apply(c, workers=1)
        done = job.launcher.exec(
            ["env", "MUSTER_CONNECT_TIMEOUT=2s", "mpirun", "-np", "1", "-H",
             "pi-worker-7.pi.default.svc", "hostname"], timeout=90)
        equal(done.returncode, 200, "exit code", done.stderr)
        contains(done.stderr, "MUSTER_CONNECT_TIMEOUT=4s", "what to do")
        contains(done.stderr, "kubectl describe pod pi-worker-7 -n default",
                 "what to do")
        check("--connect-timeout" not in done.stderr, "ours", done.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
