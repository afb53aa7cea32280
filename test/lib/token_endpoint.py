"""A token endpoint that gives everyone a token.

SPDX-License-Identifier: 0BSD
"""
import contextlib
import http.server
import json
import threading

BODY = json.dumps({"access_token": "token", "token_type": "bearer",
                   "expires_in": 3600}).encode()


class Token(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # pylint: disable=invalid-name
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def token_endpoint(tls=None):
    """Its port on loopback; tls: an ssl.SSLContext, without which it is
    plain."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Token) as server:
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
