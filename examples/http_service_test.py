#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts http_service, asks it things as other HTTP clients do, and ends it: usage http_service_test.py PROGRAM."""
import http.client
import signal
import socket
import subprocess
import sys
import threading
import time

service = subprocess.Popen([sys.argv[1]], stdout=subprocess.PIPE, text=True)
try:
    host, port = service.stdout.readline().removeprefix("listening on ").strip().rsplit(":", 1)
    port = int(port)

    def talk(raw):
        """All that comes for these bytes, until the service closes."""
        with socket.create_connection((host, port), timeout=10) as connection:
            connection.sendall(raw)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
            return b"".join(parts)

    # One connection for many requests.
    client = http.client.HTTPConnection(host, port, timeout=10)
    for count in range(1, 51):
        client.request("POST", "/orders", body="x" * count * 100)
        answer = client.getresponse()
        assert (answer.status, answer.read()) == (200, f"/orders {count}\n".encode()), count
        own = client.sock.getsockname() if count == 1 else own
        assert client.sock.getsockname() == own, "the connection is kept"

    # Several clients at once, each with its own answers.
    wrong = []

    def visit(name):
        visitor = http.client.HTTPConnection(host, port, timeout=10)
        for count in range(1, 101):
            visitor.request("POST", f"/{name}", body="y")
            answer = visitor.getresponse()
            if (answer.status, answer.read()) != (200, f"/{name} {count}\n".encode()):
                wrong.append((name, count))
        visitor.close()

    visitors = [threading.Thread(target=visit, args=(f"client{number}",)) for number in range(8)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert not wrong, wrong

    # Requests that do not wait for answers; chunks; what is no HTTP; a service behind that takes too long.
    both = talk(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert both.count(b"HTTP/1.1 200 ") == 2 and both.index(b"/a 0\n") < both.index(b"/b 0\n"), both
    chunks = talk(b"POST /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    assert chunks.endswith(b"/c 1\n"), chunks
    assert talk(b"this is no HTTP\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert talk(b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 431 ")
    slow = http.client.HTTPConnection(host, port, timeout=10)
    slow.request("GET", "/slow")
    answer = slow.getresponse()
    assert answer.status == 504, answer.status
    answer.read()
    slow.request("GET", "/a")
    answer = slow.getresponse()
    assert (answer.status, answer.read()) == (200, b"/a 0\n"), "it is not the answer that came too late"

    # The end: idle connections do not hold it up.
    idle = socket.create_connection((host, port), timeout=10)
    begin = time.monotonic()
    service.send_signal(signal.SIGTERM)
    last = service.stdout.read()
    assert service.wait(timeout=10) == 0
    assert time.monotonic() - begin < 5
    assert idle.recv(1) == b"", "it was closed"
    counted = 50 + 8 * 100 + 2 + 1 + 2
    assert last == f"received {counted}, answered {counted}, unanswered 0, refused 2; open 0, leased 0\n", last
finally:
    service.kill()
    service.wait()
print("ok")
