#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""lapi.py PORT DIR: answers like CrowdSec's stream of decisions with the file DIR/all to startup=true, and with DIR/new
otherwise, once. For answers that the real one gives by chance alone, and for those of a broken or hostile one: while
DIR/redirect exists, each names the URL in it; with DIR/drip a byte comes each half second, with DIR/endless there is no
end. The keys that it is shown are in DIR/keys."""
import http.server
import itertools
import os
import sys
import time

FOLDER = sys.argv[2]


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(FOLDER + '/keys', 'a', encoding='ascii') as keys:
            print(self.headers['X-Api-Key'], file=keys)
        name = FOLDER + ('/all' if 'startup=true' in self.path else '/new')
        try:
            with open(name, 'rb') as file:
                body = file.read()
        except FileNotFoundError:
            body = b'{"new": null, "deleted": null}'
        if name.endswith('/new') and os.path.exists(name):
            os.unlink(name)
        if os.path.exists(FOLDER + '/redirect'):
            self.send_response(302)
            with open(FOLDER + '/redirect', encoding='ascii') as url:
                self.send_header('Location', url.read().strip())
            self.end_headers()
            return
        self.send_response(200)
        try:
            self.answer(body)
        except OSError:
            pass

    def answer(self, body):
        if os.path.exists(FOLDER + '/drip'):
            self.end_headers()
            for byte in body:
                self.wfile.write(bytes([byte]))
                time.sleep(0.5)
        elif os.path.exists(FOLDER + '/endless'):
            self.end_headers()
            for _ in itertools.count():
                self.wfile.write(b' ' * 65536)
        else:
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format, *args):
        pass


http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Answers).serve_forever()
