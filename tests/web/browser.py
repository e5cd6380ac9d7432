"""A headless Chromium that is driven as a person would: by mouse and keyboard events, over its debugging pipe."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

PATIENCE = float(os.environ.get("PATIENCE", 60))  # seconds until something that should happen counts as not happening
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --disable-dev-shm-usage --disable-extensions --hide-scrollbars
    --force-color-profile=srgb --remote-debugging-pipe""".split()
KEYS = {
    "Enter": 13, "Escape": 27, "Backspace": 8, "Tab": 9, "Home": 36,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="pyprof-web.")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def pipes():
            # The browser reads commands from 3 and writes answers to 4; one of the pipes may have these numbers now.
            command, answer = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser))
            os.dup2(command, 3)
            os.dup2(answer, 4)

        self.process = subprocess.Popen(
            [find_chromium(), *FLAGS, f"--user-data-dir={self.directory}/user", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=pipes, close_fds=False, start_new_session=True,
            env=dict(os.environ, HOME=self.directory, XDG_CONFIG_HOME=self.directory, XDG_CACHE_HOME=self.directory))
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.complaints = []  # what the page's scripts and its policy had to say
        self.requests = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        with contextlib.suppress(OSError):
            os.close(self.write_end)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.read_end)
        shutil.rmtree(self.directory, ignore_errors=True)

    def message(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.read_end, 1 << 20)
            if not part:
                raise EOFError("the browser has ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        while True:
            answer = self.message()
            self.note(answer)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def note(self, event):
        method, values = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(values["exceptionDetails"].get("exception", values["exceptionDetails"])))
        elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.complaints.append(values["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, what=None):
        """Until the expression is true; gives its value."""
        end = time.monotonic() + PATIENCE
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain for: {what or expression}")
            time.sleep(0.02)

    @staticmethod
    def until(condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain for: {what}")
            time.sleep(0.02)

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path, fragment="", width=1280, height=800, dark=False):
        self.size(width, height, dark)
        self.call("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank'")
        del self.complaints[:], self.requests[:]
        self.call("Page.navigate", url="file://" + os.path.realpath(path) + fragment)
        self.wait("document.documentElement && document.documentElement.dataset.ready", "the page to be shown")

    def frames(self, count=2):
        """So many pictures later: what was asked for is painted."""
        self.evaluate(f"""new Promise((done) => {{
            let left = {count};
            const next = () => left-- ? requestAnimationFrame(next) : done(true);
            next();
        }})""")

    def mouse(self, kind, x, y, buttons=0, clicks=0):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, buttons=buttons, clickCount=clicks,
                  button="left" if buttons or kind == "mouseReleased" else "none")

    def click(self, x, y, clicks=1):
        self.mouse("mouseMoved", x, y)
        for i in range(1, clicks + 1):
            self.mouse("mousePressed", x, y, 1, i)
            self.mouse("mouseReleased", x, y, 0, i)

    def drag(self, x, y, to_x, to_y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, 1, 1)
        for step in range(1, 6):
            self.mouse("mouseMoved", x + (to_x - x) * step / 5, y + (to_y - y) * step / 5, 1)
        self.mouse("mouseReleased", to_x, to_y, 0, 1)

    def click_on(self, selector, clicks=1):
        box = self.evaluate(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "nearest"}});
            const box = element.getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2];
        }})()""")
        self.click(*box, clicks)

    def key(self, name, shift=False):
        values = {"key": name, "code": name, "modifiers": 8 if shift else 0}
        if name in KEYS:
            values["windowsVirtualKeyCode"] = KEYS[name]
        text = "\r" if name == "Enter" else name if len(name) == 1 else None
        if text:
            self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **values)
        else:
            self.call("Input.dispatchKeyEvent", type="rawKeyDown", **values)
        self.call("Input.dispatchKeyEvent", type="keyUp", **values)

    def type(self, text):
        for letter in text:
            self.key(letter)

    def screenshot(self, path):
        self.frames()
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def downloads_to(self, directory):
        self.call("Page.setDownloadBehavior", behavior="allow", downloadPath=directory)
