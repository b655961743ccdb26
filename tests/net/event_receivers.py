# SPDX-License-Identifier: GPL-2.0-only
"""Receivers of what programs for events send: an SMTP server (aiosmtpd) on port 2525 and an HTTP server on port 8080 of
127.0.0.1. Each writes what it got, one JSON document a line, to mail.jsonl and web.jsonl in the folder that is its
argument. The path /slow is answered after a minute, /refuse with an error.
"""
import email
import email.policy
import http.server
import json
import os
import sys
import time

from aiosmtpd.controller import Controller

FOLDER = sys.argv[1]


def note(name, document):
    with open(os.path.join(FOLDER, name), 'a', encoding='utf-8') as file:
        file.write(json.dumps(document) + '\n')


class Mail:
    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        note('mail.jsonl', {'to': envelope.rcpt_tos, 'from': envelope.mail_from, 'subject': mail['Subject'],
                            'header': mail['To'], 'auto': mail['Auto-Submitted'],
                            'text': mail.get_body(('plain',)).get_content(),
                            'event': [json.loads(part.get_content()) for part in mail.iter_attachments()],
                            'longest': max(map(len, envelope.content.splitlines()))})
        return '250 accepted'


class Web(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        note('web.jsonl', {'path': self.path, 'type': self.headers['Content-Type'],
                           'authorization': self.headers['Authorization'], 'body': body.decode()})
        if self.path == '/slow':
            time.sleep(60)
        self.send_response(500 if self.path == '/refuse' else 204)
        self.end_headers()

    def log_message(self, format, *args):
        pass


Controller(Mail(), hostname='127.0.0.1', port=2525).start()
http.server.ThreadingHTTPServer(('127.0.0.1', 8080), Web).serve_forever()
