# SPDX-License-Identifier: Apache-2.0
"""Kubeflow Trainer is told how far a job is: a real HTTPS server with its own
authority stands for the controller's. A wrong or a mute server costs the job a
sentence and nothing else."""
import http.server
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from harness import PREFIX, check, contains, equal, main

PATH = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/n/trainjobs/t/status"
TRAINING = "for e in 1 2 3; do echo \"epoch $e/4 loss=0.$e\"; done; exit "


class Server:
    """Takes what is posted, with a certificate of an authority of its own."""

    def __init__(self, folder, status=200, mute=False):
        self.requests = []
        self.folder = folder
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=trainer", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", self.file("key"), "-out", self.file("ca.crt")],
            check=True, capture_output=True)
        with open(self.file("token"), "w", encoding="ascii") as file:
            file.write("the.jwt.token\n")
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.requests.append((self.path, dict(self.headers), body))
                if mute:
                    time.sleep(30)
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file("ca.crt"), self.file("key"))
        self.http.socket = context.wrap_socket(self.http.socket,
                                               server_side=True)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def file(self, name):
        return os.path.join(self.folder, name)

    def environment(self, **changes):
        port = self.http.server_address[1]
        return {**os.environ,
                "KUBEFLOW_TRAINER_SERVER_URL":
                    f"https://127.0.0.1:{port}{PATH}",
                "KUBEFLOW_TRAINER_SERVER_CA_CERT": self.file("ca.crt"),
                "KUBEFLOW_TRAINER_SERVER_TOKEN": self.file("token"),
                **changes}


def server(**options):
    folder = tempfile.mkdtemp(prefix="trainer-")
    made = Server(folder, **options)
    return made, lambda: (made.http.shutdown(), made.http.server_close(),
                          shutil.rmtree(folder))


def job(env, code=0, *words):
    return subprocess.run(
        [os.path.join(PREFIX, "bin", "muster"), "launch", "--local", "1x1",
         "--bootstrap", "pmix", "--log-format", "text", *words, "--", "sh",
         "-c", TRAINING + str(code)],
        env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=90, check=False)


def test_a_good_end_and_a_bad_one_are_told():
    trainer, close = server()
    try:
        run = job(trainer.environment())
        equal(run.returncode, 0, "exit code", run.stderr)
        check(trainer.requests, "nothing was posted", run.stderr)
        path, headers, body = trainer.requests[-1]
        equal(path, PATH, "path")
        equal(headers["Authorization"], "Bearer the.jwt.token", "token")
        equal(headers["Content-Type"], "application/json", "type")
        status = json.loads(body)["trainerStatus"]
        equal(status["progressPercentage"], 100, "percentage", status)
        equal(status["estimatedRemainingSeconds"], 0, "time left", status)
        contains(str(status["metrics"]), "{'name': 'epoch', 'value': '3'}")
        check(status["lastUpdatedTime"].endswith("Z"), "no time", status)
        run = job(trainer.environment(), 3)
        equal(run.returncode, 3, "exit code", run.stderr)
        status = json.loads(trainer.requests[-1][2])["trainerStatus"]
        equal(status["progressPercentage"], 75, "percentage", status)
        trainer.requests.clear()
        run = job(trainer.environment(), 0, "--no-post-progress")
        equal((run.returncode, trainer.requests), (0, []), "switched off")
        check("the.jwt.token" not in run.stdout + run.stderr, "token shown")
    finally:
        close()


def test_a_wrong_server_costs_a_sentence():
    trainer, close = server(status=403)
    other, close_other = server()
    try:
        cases = [
            ({}, "403"),
            ({"KUBEFLOW_TRAINER_SERVER_CA_CERT": other.file("ca.crt")},
             "certificate"),
            ({"KUBEFLOW_TRAINER_SERVER_TOKEN": "/no/such/token"},
             "/no/such/token"),
            ({"KUBEFLOW_TRAINER_SERVER_URL": "http://127.0.0.1:1/x"}, "https"),
            ({"KUBEFLOW_TRAINER_SERVER_URL": "https://127.0.0.1:1/x"},
             "refused"),
        ]
        for changes, part in cases:
            run = job(trainer.environment(**changes))
            equal(run.returncode, 0, "exit code", changes, run.stderr)
            equal(run.stderr.count("cannot report progress"), 1,
                  "sentences", run.stderr)
            contains(run.stderr, part, "stderr")
            check(bool(trainer.requests) == (not changes), "who was let pass",
                  changes, trainer.requests)
            trainer.requests.clear()
    finally:
        close()
        close_other()


def test_a_mute_server_does_not_hold_up_the_end():
    trainer, close = server(mute=True)
    try:
        run = job(trainer.environment())
        equal(run.returncode, 0, "exit code", run.stderr)
        check(trainer.requests, "nothing was posted", run.stderr)
    finally:
        close()


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
