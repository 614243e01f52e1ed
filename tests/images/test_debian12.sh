#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the Debian 12 image as strict platforms do: an arbitrary user id with
# group 0, no capability, no_new_privs, a read-only root, the default seccomp
# profile, no network. Prints "N passed, N failed"; exits 1 on a failure.
#
#   tests/images/test_debian12.sh IMAGE [PODMAN-OPTION...]
#
# IMAGE is a target of images/debian12/Containerfile (runtime or later);
# PODMAN-OPTIONs come before `run`, as in --root DIR. Needs podman. Removes the
# containers it starts.
set -u

[ $# -ge 1 ] || { echo "usage: $0 IMAGE [PODMAN-OPTION...]" >&2; exit 2; }
command -v podman >/dev/null || { echo "skip: no podman"; exit 77; }
image=$1
shift
podman="$*"
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Only tests: the limits are for machines that may not raise their own.
strict="--rm --network none --user 123456:0 --cap-drop ALL --read-only
 --security-opt no-new-privileges --ulimit nofile=4096:4096
 --ulimit nproc=4096:4096"

run() {  # options are in $options; the words are the container's args
  # shellcheck disable=SC2086 # lists of words
  timeout 60 podman $podman run $strict ${options:-} "$image" "$@" \
    >"$work/out" 2>"$work/err"
  status=$?
}

check() {  # NAME WANTED-STATUS [TEXT in stdout or stderr]
  if [ "$status" = "$2" ] &&
    { [ $# -lt 3 ] || grep -qF -- "$3" "$work/out" "$work/err"; }; then
    passed=$((passed + 1))
    return
  fi
  failed=$((failed + 1))
  echo "FAILED: $1: exit status $status, wanted $2${3:+ and \"$3\"}"
  sed 's/^/    /' "$work/out" "$work/err" | head -n 20
}

options=''
run
check "neither command nor args" 2 "there is nothing to run"
run -- sh -c 'exit 7'
check "args: exit status" 7
run sh -c 'kill -9 $$'
check "args: killed by a signal" 137
run no-such-program
check "args: no such program" 127 "no-such-program"
run version
check "args: a command of muster" 0 "muster "
run sh -c 'grep NoNewPrivs /proc/self/status; grep CapEff /proc/self/status'
check "no_new_privs holds" 0 "NoNewPrivs:	1"
check "no capability is held" 0 "CapEff:	0000000000000000"
run sh -c 'grep Seccomp: /proc/self/status'
check "the default seccomp filter is on" 0 "Seccomp:	2"
run sh -c 'id -u; id -g; touch /usr/x 2>/dev/null || echo read-only'
check "the root is read-only" 0 "read-only"
check "the user is arbitrary" 0 "123456"
run sh -c 'echo "I am $USER"'
check "a user without a passwd entry has a name" 0 "I am "
# The orphan is reaped: pid 1 has no zombie child left after it.
run sh -c 'sh -c "sleep 0.2 & exit 0"; sleep 1
  grep -l "State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l'
check "orphans are reaped" 0 "0"
run sh -c 'command -v mpirun sshd ssh'
check "drop-ins come first" 0 "/opt/muster/dropin/bin/mpirun"
# shellcheck disable=SC2016 # each rank expands it
run launch --local 2x2 --bootstrap pmix -- sh -c 'echo rank $RANK'
check "a launch on emulated nodes" 0 "rank 3"
# shellcheck disable=SC2016 # each rank expands it
mpi='muster launch --local 2x1 -- mpirun -n 2 sh -c "echo \$OMPI_COMM_WORLD_SIZE"'
run sh -c "! command -v orted || $mpi"
check "a line of the image's own mpirun" 0
run doctor
check "doctor finds the runtime's small /dev/shm" 0 "[shm_small]"
run doctor --check-path /usr /dev/shm
check "doctor finds a read-only path" 101 "/usr cannot be written to"
run doctor --program no-such-program --program sh
check "doctor finds a missing program" 101 "[exe_not_found]"
options='--entrypoint muster'
run version
check "command: replaces the entrypoint" 0 "muster "
options='--entrypoint /usr/sbin/sshd'
run -De
check "command: an operator's sshd without keys" 100
options='-e K_MPI_JOB_ROLE=launcher'
run
check "a launcher without a program" 100 "launcher without a program"

# A worker with a job's keys, its own entry in no file.
keys=$work/keys
mkdir -p "$keys"
# shellcheck disable=SC2086
timeout 60 podman $podman run --rm --network none --user 0 \
  --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 \
  -v "$keys:/keys" "$image" keygen -o /keys/new >"$work/out" 2>"$work/err"
status=$?
check "a job's key" 0
chmod -R a+rX "$keys"
options="-v $keys/new:/etc/mpi-ssh:ro"
run sh -c 'muster worker & sleep 2; muster worker probe ready; s=$?
  muster ssh -p 2222 127.0.0.1 true; kill %1; exit $s'
check "a worker is ready" 0

# Workers on the sidecar's ports look like it.
run sh -c 'muster worker --port 15006 & muster worker --port 15021 & sleep 2
  muster doctor; s=$?; kill %1 %2; exit $s'
check "doctor finds a mesh sidecar" 101 "[mesh_sidecar]"

name=muster-image-test-$$
# shellcheck disable=SC2086
podman $podman run -d --name $name $strict $options \
  -e K_MPI_JOB_ROLE=worker "$image" >"$work/out" 2>"$work/err"
sleep 2
# shellcheck disable=SC2086
podman $podman exec $name muster worker probe ready >"$work/out" 2>"$work/err"
status=$?
check "no args in a worker pod: it is a worker" 0
begin=$(date +%s)
# shellcheck disable=SC2086
podman $podman stop -t 20 $name >"$work/out" 2>"$work/err"
took=$(($(date +%s) - begin))
status=0
[ $took -lt 10 ] || status=1
check "SIGTERM ends an idle worker at once ($took s)" 0

echo "$passed passed, $failed failed"
[ $failed = 0 ]
