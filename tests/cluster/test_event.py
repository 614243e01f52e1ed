# SPDX-License-Identifier: Apache-2.0
"""A failure's sentence as an Event: a real HTTPS server with an authority of its
own stands for the API server, and a mount namespace has the files that the
kubelet gives a service account. Who may not create events, or does not answer,
costs the job nothing."""
import json
import os
import subprocess
import sys

from harness import PREFIX, check, contains, equal, main
from test_trainer_progress import server

SECRETS = "/run/secrets/kubernetes.io/serviceaccount"
# Everything of it goes with the namespace.
IN_POD = f"""set -e
mount -t tmpfs tmpfs /run
mkdir -p {SECRETS}
[ -z "$TOKEN" ] || cp "$TOKEN" {SECRETS}/token
cp "$AUTHORITY" {SECRETS}/ca.crt
printf ml > {SECRETS}/namespace
exec "$@"
"""


def job(api, *words, code=3, token=True, local=("--local", "1x1"), **changes):
    """`muster launch` as in a pod whose API server is `api`."""
    env = {**os.environ, "KUBERNETES_SERVICE_HOST": "127.0.0.1",
           "KUBERNETES_SERVICE_PORT_HTTPS": str(api.http.server_address[1]),
           "TOKEN": api.file("token") if token else "",
           "AUTHORITY": api.file("ca.crt"), "POD_NAME": "pi-launcher-x7k2p",
           **changes}
    return subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", IN_POD, "sh",
         os.path.join(PREFIX, "bin", "muster"), "launch", *local, "--bootstrap",
         "pmix", "--log-format", "text", *words, "--", "sh",
         "-c", f"exit {code}"],
        env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=90, check=False)


def test_a_failure_is_an_event():
    api, close = server(status=201)
    try:
        run = job(api, "--event", "mpijob/pi/0c9f")
        equal(run.returncode, 3, "exit code", run.stderr)
        equal(len(api.requests), 1, "requests", run.stderr)
        path, headers, body = api.requests[0]
        equal(path, "/api/v1/namespaces/ml/events", "path")
        equal(headers["Authorization"], "Bearer the.jwt.token", "token")
        event = json.loads(body)
        about = event["involvedObject"]
        equal((about["kind"], about["name"], about["uid"]),
              ("MPIJob", "pi", "0c9f"), "what it is about")
        contains(event["message"], "exit code 3")
        contains(run.stderr, event["message"].split(" (")[0][:60], "verdict")
        api.requests.clear()
        run = job(api, MUSTER_EVENT="auto")
        equal(run.returncode, 3, "exit code", run.stderr)
        about = json.loads(api.requests[0][2])["involvedObject"]
        equal((about["kind"], about["name"]), ("Pod", "pi-launcher-x7k2p"),
              "what it is about")
    finally:
        close()


def test_a_launch_that_never_began_has_its_event():
    api, close = server(status=201)
    try:
        run = job(api, "--event", "mpijob/pi", local=("--hostfile", "/no/file"))
        equal(run.returncode, 100, "exit code", run.stderr)
        equal(len(api.requests), 1, "requests", run.stderr)
        equal(json.loads(api.requests[0][2])["reason"], "Configuration",
              "reason")
    finally:
        close()


def test_nobody_is_told_of_what_was_not_asked_for():
    api, close = server(status=201)
    try:
        for words, changes in ((["--event", "mpijob/pi"], {"code": 0}),
                               ([], {}), (["--event", "off"], {}),
                               (["--event", "auto"], {"token": False})):
            run = job(api, *words, **changes)
            equal(run.returncode, changes.get("code", 3), "exit code",
                  run.stderr)
            equal(api.requests, [], "requests", words, changes)
    finally:
        close()


def test_who_may_not_is_silent_and_who_is_mute_is_left():
    api, close = server(status=403)
    try:
        run = job(api, "--event", "auto")
        equal(run.returncode, 3, "exit code", run.stderr)
        check("403" not in run.stderr, "it is told", run.stderr)
        run = job(api, "--event", "auto", "--log-level", "debug")
        contains(run.stderr, "no event was created", "debug")
        contains(run.stderr, "403", "debug")
    finally:
        close()
    api, close = server(mute=True)
    try:
        run = job(api, "--event", "auto", "--log-level", "debug")
        equal(run.returncode, 3, "exit code", run.stderr)
        contains(run.stderr, "did not answer in time", "debug")
    finally:
        close()


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
