#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""lapi.py PORT DIR: answers like CrowdSec's stream of decisions with the file DIR/all to startup=true, and with DIR/new
otherwise, once. For answers that the real one gives by chance alone."""
import http.server
import os
import sys


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = sys.argv[2] + ('/all' if 'startup=true' in self.path else '/new')
        try:
            with open(name, 'rb') as file:
                body = file.read()
        except FileNotFoundError:
            body = b'{"new": null, "deleted": null}'
        if name.endswith('/new') and os.path.exists(name):
            os.unlink(name)
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Answers).serve_forever()
