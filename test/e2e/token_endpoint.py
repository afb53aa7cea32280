"""A token endpoint that gives everyone a token, without a stream.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import http.server
import json
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # pylint: disable=invalid-name
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.meanwhile()
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def do_GET(self):  # pylint: disable=invalid-name
        self.server.upgrades.append(self.path)
        self.send_error(501)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


@contextlib.contextmanager
def token_endpoint(tls=None, meanwhile=lambda: None, upgrades=None, **fields):
    """Yields its port on loopback. tls: an ssl.SSLContext; None: plain.
    meanwhile() is called before each response; fields are added to the
    response; the paths of other requests are appended to upgrades."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.meanwhile = meanwhile
        server.upgrades = [] if upgrades is None else upgrades
        server.body = json.dumps({
            "access_token": "token", "token_type": "bearer",
            "expires_in": 3600, **fields}).encode()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
