#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Looks at a page in a real browser without a screen, as it is on a desk and on a telephone, in the light, in the dark, and
without colours: browser.py PAGE DIRECTORY. Screenshots go into the directory; what was found is printed as one JSON object.
Without a DIRECTORY only the page is read:

    requests   addresses that were asked for, beside the page itself
    messages   what the browser complained about
    views      for each view: the width of the window and of the page, words that hardly differ from their ground
    grey       how many shades of grey are in a piece of what passed and of what was dropped
    page       figures and facts of the document
"""
import base64
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

BROWSERS = ['chromium-headless-shell', 'headless_shell', 'chromium-browser', 'chromium']
FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--no-first-run',
         '--disable-background-networking', '--remote-debugging-pipe', 'about:blank']
# name: width, height, telephone, scheme, how it is seen. For the last two the browser loads filters of its own.
VIEWS = {
    'desk-light': (1280, 900, False, 'light', 'none'),
    'desk-dark': (1280, 900, False, 'dark', 'none'),
    'phone-light': (360, 740, True, 'light', 'none'),
    'phone-dark': (360, 740, True, 'dark', 'none'),
    'phone-red-green': (360, 740, True, 'light', 'deuteranopia'),
    'desk-grey': (1280, 900, False, 'light', 'achromatopsia'),
}
MEASURE = pathlib.Path(__file__).with_name('browser.js').read_text()


class Browser:
    """Speaks the DevTools protocol over a pair of pipes: messages end with a NUL."""

    def __init__(self):
        name = next((n for n in BROWSERS if any(os.access(os.path.join(d, n), os.X_OK) for d in os.environ['PATH'].split(':'))), None)
        if not name:
            sys.exit('browser.py: no browser: install chromium-headless-shell, with ./scripts/deps.sh on Debian')
        self.home = tempfile.mkdtemp()
        theirs, self.out = os.pipe()
        self.inn, answers = os.pipe()
        # They are descriptors 3 and 4 there.
        words = [name, *FLAGS[:-1], '--user-data-dir=' + self.home, FLAGS[-1]]
        self.process = subprocess.Popen(['bash', '-c', f'exec 3<&{theirs} 4>&{answers} "$@"', 'bash', *words],
                                        pass_fds=(theirs, answers), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(theirs)
        os.close(answers)
        self.number, self.rest, self.events, self.session = 0, b'', [], None

    def read(self):
        while b'\0' not in self.rest:
            data = os.read(self.inn, 1 << 16)
            if not data:
                sys.exit('browser.py: the browser ended')
            self.rest += data
        message, self.rest = self.rest.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.out, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.read()
            if answer.get('id') == self.number:
                if 'error' in answer:
                    sys.exit(f'browser.py: {method}: {answer["error"]["message"]}')
                return answer['result']
            self.events.append(answer)

    def wait_for(self, method):
        while not any(e.get('method') == method for e in self.events):
            self.events.append(self.read())

    def ask(self, expression):
        result = self.call('Runtime.evaluate', expression='(() => {' + MEASURE + 'return ' + expression + '})()', returnByValue=True)
        if 'exceptionDetails' in result:
            sys.exit('browser.py: ' + json.dumps(result['exceptionDetails'])[:500])
        return result['result'].get('value')

    def close(self):
        """Its processes end one after the other, and write until they do."""
        self.session = None
        self.call('Browser.close')
        self.process.wait()
        for _ in range(100):
            shutil.rmtree(self.home, ignore_errors=True)
            if not os.path.exists(self.home):
                return
            time.sleep(0.05)
        sys.exit(f'browser.py: {self.home} cannot be removed')


def page_open(browser, page):
    target = browser.call('Target.createTarget', url='about:blank')['targetId']
    browser.session = browser.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
    for domain in 'Page', 'Network', 'Log', 'Runtime', 'DOM':
        browser.call(domain + '.enable')
    browser.events.clear()
    browser.call('Page.navigate', url=page)
    browser.wait_for('Page.loadEventFired')


def view_set(browser, view):
    width, height, telephone, scheme, seen = view
    browser.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=telephone)
    browser.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])
    browser.call('Emulation.setEmulatedVisionDeficiency', type=seen)


def screenshot(browser, **params):
    return base64.b64decode(browser.call('Page.captureScreenshot', format='png', captureBeyondViewport=True, **params)['data'])


def unfilter(kind, line, before, size):
    """A line of a PNG as it was: its specification, chapter 9."""
    for i in range(len(line)):
        left, up, corner = line[i - size] if i >= size else 0, before[i], before[i - size] if i >= size else 0
        nearest = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
        line[i] = line[i] + (0, left, up, (left + up) // 2, nearest)[kind] & 255
    return line


def shades(png):
    """How many brightnesses, in steps of a sixteenth, are in the picture."""
    width, height, _, colour = struct.unpack('>IIBB', png[16:26])
    size, data, at = {2: 3, 6: 4}[colour], b'', 8
    while at < len(png):
        length, kind = struct.unpack('>I4s', png[at:at + 8])
        data += png[at + 8:at + 8 + length] if kind == b'IDAT' else b''
        at += 12 + length
    data, found, line = zlib.decompress(data), set(), bytes(width * size)
    for y in range(height):
        start = y * (width * size + 1)
        line = unfilter(data[start], bytearray(data[start + 1:start + 1 + width * size]), line, size)
        found |= {sum(line[x * size:x * size + 3]) // 48 for x in range(width)}
    return len(found)


def grey(browser):
    """Without colours, what passed is plain and what was dropped is hatched."""
    browser.ask('veil("hidden")')
    places = browser.ask('places()')
    found = {name: place and shades(screenshot(browser, clip={**place, 'scale': 1})) for name, place in places.items()}
    browser.ask('veil("")')
    return found


def complaints(browser, page):
    events = [(e.get('method'), e.get('params', {})) for e in browser.events]
    asked = [p['request']['url'] for m, p in events if m == 'Network.requestWillBeSent']
    if asked[:1] != [page]:
        sys.exit('browser.py: the page itself was not seen to be asked for')
    return {'requests': asked[1:],
            'messages': [p for m, p in events if m in ('Log.entryAdded', 'Runtime.consoleAPICalled', 'Runtime.exceptionThrown')]}


def main():
    page, directory = pathlib.Path(sys.argv[1]).resolve().as_uri(), sys.argv[2:] and pathlib.Path(sys.argv[2])
    browser, found = Browser(), {'views': {}}
    page_open(browser, page)
    if directory:
        directory.mkdir(parents=True, exist_ok=True)
    for name, view in VIEWS.items() if directory else ():
        if view[-1] != 'none' and 'requests' not in found:
            found.update(complaints(browser, page))
        view_set(browser, view)
        (directory / (name + '.png')).write_bytes(screenshot(browser))
        found['views'][name] = browser.ask('measure()')
        if name == 'desk-grey':
            found['grey'] = grey(browser)
    found['page'] = browser.ask('facts()')
    browser.close()
    json.dump(found, sys.stdout)


main()
