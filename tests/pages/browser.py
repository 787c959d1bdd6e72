"""A headless Chromium, driven through a pipe by the DevTools protocol. Only uses the standard library."""
import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ('chromium-headless-shell', 'chrome-headless-shell', 'chromium', 'chromium-browser', 'google-chrome')


def find():
    """Returns the path of a browser, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(prefix='attn-pages-')
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()
        # The browser reads descriptor 3 and writes 4; the originals must not have these numbers.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in (to_read, to_write)]

        def settle():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        # Requests to other machines go to a port without a listener.
        self.process = subprocess.Popen(
            [program, '--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', '--hide-scrollbars',
             '--user-data-dir=' + self.profile.name, '--proxy-server=127.0.0.1:9', '--disable-dev-shm-usage',
             '--no-first-run', 'about:blank'],
            preexec_fn=settle, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in [to_read, to_write] + high:
            os.close(fd)
        self.buffer = b''
        self.number = 0
        self.events = []

    def close(self):
        try:
            self.send('Browser.close')
            self.process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        self.profile.cleanup()

    def receive(self):
        while b'\0' not in self.buffer:
            more = os.read(self.from_browser, 1 << 20)
            if not more:
                raise RuntimeError('the browser ended')
            self.buffer += more
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def send(self, method, session=None, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if session:
            message['sessionId'] = session
        os.write(self.to_browser, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.receive()
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError(f'{method}: {answer["error"]}')
                return answer['result']
            self.events.append(answer)


class Page:
    def __init__(self, browser, path, fragment='', width=1280, height=900, dark=False):
        self.browser = browser
        self.target = browser.send('Target.createTarget', url='about:blank')['targetId']
        self.session = browser.send('Target.attachToTarget', targetId=self.target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.send(domain + '.enable')
        self.size(width, height)
        self.theme(dark)
        self.send('Page.navigate', url='file://' + os.path.abspath(path) + fragment)

    def close(self):
        self.browser.send('Target.closeTarget', targetId=self.target)

    def send(self, method, **parameters):
        return self.browser.send(method, self.session, **parameters)

    def size(self, width, height):
        self.send('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def theme(self, dark):
        self.send('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def run(self, script):
        """Returns the value of a JavaScript expression, after awaiting promises."""
        answer = self.send('Runtime.evaluate', expression=script, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in answer:
            raise RuntimeError(script + ': ' + json.dumps(answer['exceptionDetails']))
        return answer['result'].get('value')

    def wait(self, script='document.documentElement?.dataset.ready === "yes"', seconds=30):
        """Waits until the expression is true; by default, until the page has drawn itself."""
        end = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > end:
                raise RuntimeError('not within %d s: %s' % (seconds, script))
            time.sleep(0.03)

    def settled(self):
        """Waits until pending drawing is done."""
        self.run('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))')

    def press(self, key):
        for kind in ('keyDown', 'keyUp'):
            text = {'text': key} if len(key) == 1 and kind == 'keyDown' else {}
            self.send('Input.dispatchKeyEvent', type=kind, key=key, **text)
        self.settled()

    def move(self, x, y):
        self.send('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)
        self.settled()

    def click(self, selector):
        box = self.run('(() => { const e = document.querySelector(%s); e.scrollIntoView({block: "center"});'
                       'const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()'
                       % json.dumps(selector))
        for kind in ('mousePressed', 'mouseReleased'):
            self.send('Input.dispatchMouseEvent', type=kind, x=box[0], y=box[1], button='left', clickCount=1)
        self.settled()

    def screenshot(self, path, whole=False):
        picture = self.send('Page.captureScreenshot', captureBeyondViewport=whole)['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(picture))

    def events(self, method):
        return [event['params'] for event in self.browser.events
                if event.get('sessionId') == self.session and event['method'] == method]
