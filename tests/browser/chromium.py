"""A headless Chromium, driven by the DevTools protocol over a pipe. Python's standard library alone."""

import base64
import json
import os
import select
import shutil
import struct
import subprocess
import tempfile
import time
import zlib


def find_chromium():
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for path in map(shutil.which, names) if path), None)


def decode_png(data):
    """The pixels of a PNG as Chromium writes it: 8 bits a channel, RGB or RGBA, not interlaced."""
    width, height, bits, colour = struct.unpack(">IIBB", data[16:26])
    channels = {2: 3, 6: 4}[colour]
    assert bits == 8
    packed, at = b"", 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += length + 12
    raw, stride = zlib.decompress(packed), width * channels
    rows, above = [], bytearray(stride)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left = row[i - channels] if i >= channels else 0
            corner = above[i - channels] if i >= channels else 0
            row[i] = (row[i] + (0, left, above[i], (left + above[i]) // 2, paeth(left, above[i], corner))[kind]) % 256
        rows.append([tuple(row[i:i + 3]) for i in range(0, stride, channels)])
        above = row
    return rows


def paeth(left, above, corner):
    """PNG's guess of a byte: the neighbour that is nearest to left + above - corner."""
    guess = left + above - corner
    return min((left, above, corner), key=lambda byte: abs(guess - byte))


class Browser:
    """One page. Notes what it writes to the console, what it throws and what it asks the network for."""

    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="heed-chromium-")
        command_read, self.commands = os.pipe()
        self.answers, answer_write = os.pipe()

        def place_pipes():  # Chromium reads commands from 3 and writes answers to 4
            read, write = os.dup(command_read), os.dup(answer_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--disable-background-networking", "--disable-component-update", "--no-first-run",
                 "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self.profile}"]
        self.process = subprocess.Popen([program, *flags, "about:blank"], preexec_fn=place_pipes, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_read)
        os.close(answer_write)
        self.buffer = b""
        self.count = 0
        self.session = None
        self.errors, self.requests, self.loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self, seconds=60):
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], seconds)[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError("Chromium has ended")
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, event, data):
        if event == "Runtime.exceptionThrown":
            self.errors.append(data["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif event == "Runtime.consoleAPICalled" and data["type"] in ("error", "warning", "assert"):
            self.errors.append(str([argument.get("value") for argument in data["args"]]))
        elif event == "Log.entryAdded" and data["entry"]["level"] in ("error", "warning"):
            self.errors.append(data["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(data["request"]["url"])
        elif event == "Page.loadEventFired":
            self.loaded = True

    def size(self, width, height, dark=False, density=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=density,
                  mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path):
        self.errors, self.requests, self.loaded = [], [], False
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not self.loaded:
            self.receive()
        self.settle()

    def settle(self):
        """Waits until what was begun is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def run(self, script):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", script))
        return result["result"].get("value")

    def middle_of(self, selector):
        return self.run(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "center"}});
            const box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")

    def hover(self, selector):
        x, y = self.middle_of(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def click(self, selector):
        x, y = self.middle_of(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def tap(self, selector):
        x, y = self.middle_of(selector)
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        time.sleep(0.1)  # the click that follows a touch comes a little later
        self.settle()

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)
        self.settle()

    def picture(self):
        """The whole page as PNG, in base64."""
        return self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]

    def pixels(self, selector):
        """What is seen of an element: rows of pixels, each (red, green, blue)."""
        x, y, right, bottom = self.run(f"""(() => {{
            const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
            return [box.x + scrollX, box.y + scrollY, box.right + scrollX, box.bottom + scrollY].map(Math.round);
        }})()""")
        clip = {"x": x, "y": y, "width": right - x, "height": bottom - y, "scale": 1}
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        return decode_png(base64.b64decode(picture))

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
