"""A server of the page in a process of its own, as a user has it, and what asks it."""

import http.client
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

PATIENCE = 60  # [s]


class Served:
    """A page that is served, and a browser's share in the conversation."""

    def __init__(self, process, address):
        self.process, self.address = process, address
        self.said = ""  # on stderr, when it has ended
        self.port = int(re.search(r":(\d+)/", address)[1])
        self.token = address.rpartition("=")[2]
        self.cookie = f"parcast-{self.port}={self.token}"

    def ask(self, path, *, method="GET", body=None, **headers):
        """Give the status, the headers and the text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = {"Cookie": self.cookie} | {x.replace("_", "-"): y for x, y in headers.items()}
        sent = {key: value for key, value in sent.items() if value is not None}
        try:
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def add(self, name, content, **headers):
        """Add a file as a form does."""
        body = (
            f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        ).encode() + content
        kind = {"Content_Type": "multipart/form-data; boundary=x"}
        body += b"\r\n--x--\r\n"
        return self.ask("/files", method="POST", body=body, **(kind | headers))


@contextmanager
def serving(*files, folder, temporary=None):
    """Serve a page of some files until the block ends, then end it as Ctrl-C does.

    Its copies are in the folder `temporary`, by default that of the system.
    """
    env = {**os.environ, **({"TMPDIR": str(temporary)} if temporary else {})}
    command = [sys.executable, "-m", "parcast", "web", "--port", "0", *map(str, files)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=env
    )
    served = Served(process, process.stdout.readline().strip())
    try:
        yield served
    finally:
        process.send_signal(signal.SIGINT)
        try:
            served.said = process.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
