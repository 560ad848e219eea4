"""Opens the pages of heed in a headless Chromium: report_test.py HEED [--pictures FOLDER] [--run FOLDER].

Without --run, heed makes a small run first. Exit status 77 where there is no Chromium."""

import argparse
import base64
import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from chromium import Browser, find_chromium  # noqa: E402

TEXT = "".join(f"</script><b>caf\u00e9 & 'tea' {i}\n" for i in range(40))
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
FLAGS = ("--layers 2 --heads 2 --embd 16 --context 32 --batch 2 --steps 12 --warmup 2 --eval-every 4 "
         "--threads 1").split()


def check(holds, what):
    if not holds:
        raise AssertionError(what)


def check_equal(found, expected, what):
    check(found == expected, f"{what}: {found!r}; expected {expected!r}")


def make_run(heed, folder):
    text, run = os.path.join(folder, "text.txt"), os.path.join(folder, "run")
    with open(text, "w", encoding="utf-8") as file:
        file.write(TEXT)
    for command in (["train", "--data", text, "--out", run, *FLAGS], ["report", run, "--text", "caf\u00e9 & 'tea'"],
                    ["attend", run, "</script>\n", "--page", os.path.join(run, "attention.html")]):
        subprocess.run([heed, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return run


def check_quiet(browser, path):
    check_equal(browser.errors, [], f"errors of {path}")
    foreign = [url for url in browser.requests if url != "file://" + os.path.abspath(path)]
    check_equal(foreign, [], f"requests of {path}")


def check_fits(browser, width):
    check_equal(browser.run("document.documentElement.scrollWidth"), width, "width of the page")
    outside = browser.run("""[...document.querySelectorAll("main *")].filter((e) => {
        const box = e.getBoundingClientRect();
        return box.width > 0 && (box.left < -0.5 || box.right > innerWidth + 0.5);
    }).map((e) => `${e.tagName}.${e.getAttribute("class")}`).slice(0, 5)""")
    check_equal(outside, [], f"elements beyond {width} pixels")
    large = browser.run("""[...document.querySelectorAll("canvas.map")].every((e) => e.getBoundingClientRect().width > 200)""")
    check(large, "the picture of a head is too small")


def check_row(browser, row, how):
    check_equal(browser.run("document.querySelector('.map').dataset.row"), str(row), f"the highlighted row after {how}")
    check_equal(browser.run("[...document.querySelectorAll('.token[aria-pressed=true]')].map((e) => e.ariaLabel)"),
                [browser.run(f"document.querySelectorAll('.token')[{row}].ariaLabel")], f"chosen tokens after {how}")
    check(f" at {row} looks at " in browser.run("document.querySelector('.readout').textContent"),
          f"what is read out after {how}")
    # The ink on the tokens is that row's: each weight's square root.
    head = browser.run("[...document.querySelectorAll('.heads button')].findIndex((b) => b.ariaPressed === 'true')")
    ink = browser.run("[...document.querySelectorAll('.token')].map((e) => Number(e.style.getPropertyValue('--w')))")
    data = json.loads(browser.run("document.getElementById('data').textContent"))["attention"]
    weights = decode_map(data["maps"][head])[row * (row + 1) // 2:][:row + 1] + [0] * (len(ink) - row - 1)
    check(all(abs(a - math.sqrt(w / 4000)) < 1e-3 for a, w in zip(ink, weights, strict=True)), f"ink of the tokens after {how}")


def decode_map(text):
    return [64 * DIGITS.index(a) + DIGITS.index(b) for a, b in zip(text[::2], text[1::2], strict=True)]


def encode_map(weights):
    return "".join(DIGITS[w // 64] + DIGITS[w % 64] for w in weights)


def check_attention(browser):
    count = browser.run("document.querySelectorAll('.token').length")
    heads = browser.run("document.querySelectorAll('.heads button').length")
    check(heads >= 2 and count >= 5, f"{heads} heads, {count} tokens")
    chosen = "[...document.querySelectorAll('.heads button')].findIndex((b) => b.ariaPressed === 'true')"
    other = "last" if browser.run(chosen) == 0 else "first"
    before = browser.run("document.querySelector('.map').toDataURL()")
    browser.click(f".heads button:{other}-of-type")
    check_equal(browser.run(chosen), 0 if other == "first" else heads - 1, "the chosen head")
    check(browser.run("document.querySelector('.map').toDataURL()") != before, "another head has the same picture")
    browser.hover(".token:nth-of-type(3)")
    check_row(browser, 2, "hovering")
    browser.click(".token:nth-of-type(4)")
    check_row(browser, 3, "a click")
    browser.press("ArrowRight")
    check_row(browser, 4, "an arrow key")
    check_equal(browser.run("document.activeElement.ariaLabel"),
                browser.run("document.querySelectorAll('.token')[4].ariaLabel"), "the focused token")
    browser.hover("h1")
    check_row(browser, 4, "leaving")
    check_picture(browser, count)


def check_picture(browser, count):
    """A pointer that moves down the picture meets every row, in order; a frame is around the row it is in."""
    x, top, height = browser.run("""(() => {
        document.querySelector(".map").scrollIntoView({block: "end"});
        const box = document.querySelector(".map").getBoundingClientRect();
        return [box.x + box.width / 2, box.y, box.height];
    })()""")
    rows = {}
    for y in range(0, int(height), 2):
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=top + y)
        rows[y] = int(browser.run("document.querySelector('.map').dataset.row"))
    check_equal([row for y, row in rows.items() if row != rows.get(y - 2)], [4, *range(count), 4], "rows met")
    middle = [y for y, row in rows.items() if row == count // 2]
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=top + middle[0])
    browser.settle()
    colour = colour_of(browser, "--second")
    framed = [y for y, line in enumerate(browser.pixels(".map")) if sum(near(p, colour, 40) for p in line) > count * 2]
    check(framed and middle[0] - 4 <= framed[0] <= middle[0] and middle[-1] <= framed[-1] <= middle[-1] + 4,
          f"the frame of the pixels {middle} is at {framed}")


def colour_of(browser, name):
    text = browser.run(f"getComputedStyle(document.body).getPropertyValue('{name}').trim()")
    return tuple(int(text[i:i + 2], 16) for i in (1, 3, 5)) if text[0] == "#" else tuple(map(int, text.split()))


def near(pixel, colour, most):
    return all(abs(a - b) <= most for a, b in zip(pixel, colour, strict=True))


def check_report(browser, path):
    browser.open(path)
    titles = browser.run("[...document.querySelectorAll('h2')].map((e) => e.textContent)")
    for title in ("Loss", "What the model writes", "Where the heads look", "How sharply the heads look",
                  "Gradient norms", "Learning rate", "Time by operation", "Tape memory by operation", "Settings"):
        check(any(found.startswith(title) for found in titles), f"there is no section '{title}' in {titles}")
    check_equal(browser.run("[...document.querySelectorAll('.chart svg')].filter((e) => !e.querySelector('.curve')).length"),
                0, "charts without a curve")
    check(browser.run("document.querySelectorAll('.bars .bar i').length") > 5, "there are no bars")
    facts = browser.run("document.querySelector('.facts').textContent")
    for fact in ("parameters", "characters of text", "vocabulary", "steps12", "time of the steps"):
        check(fact in facts, f"'{fact}' is not told: {facts}")
    check_charts(browser)
    check_attention(browser)
    # The choice of a head is one for the picture and the curves.
    browser.run("document.querySelector('select').value = '0', document.querySelector('select').dispatchEvent(new Event('change'))")
    check_equal(browser.run("document.querySelector('.heads button').ariaPressed"), "true", "the first head is chosen")
    check("Layer 0, head 0" in browser.run("document.querySelector('.pair .chart').textContent"), "no curve of the head")
    # A chart tells its values where the pointer is.
    last = browser.run("document.querySelector('.chart .legend').textContent")
    browser.hover(".chart svg")
    check(browser.run("document.querySelector('.chart .legend').textContent") != last, "the chart tells no values")
    check_quiet(browser, path)


def check_marks(browser, path, folder):
    """A head that is marked says so and is the one that is shown first."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    check('"marks":[]' in page, "a head is marked already")
    marked = os.path.join(folder, "marked.html")
    with open(marked, "w", encoding="utf-8") as file:
        file.write(page.replace('"marks":[]', '"marks":[[1,"copies"]]'))
    browser.open(marked)
    check_equal(browser.run("document.querySelectorAll('.heads .mark').length"), 1, "number of marks")
    check_equal(browser.run("document.querySelector('.heads button[aria-pressed=true]').ariaLabel"),
                browser.run("document.querySelectorAll('.heads button')[1].ariaLabel"), "the head shown first")
    check("copies" in browser.run("document.querySelector('.heads button[aria-pressed=true]').ariaLabel"), "name of the marked head")
    check("copies" in browser.run("document.querySelector('.attention h3').textContent"), "title of the marked head")
    check_quiet(browser, marked)


def with_data(path, name, change):
    """A copy of a page whose data are changed."""
    with open(path, encoding="utf-8") as file:
        before, data, after = re.split(r'(?<=id="data">)(.*?)(?=</script>)', file.read(), maxsplit=1, flags=re.DOTALL)
    data = json.loads(data)
    change(data)
    other = os.path.join(os.path.dirname(path), name)
    with open(other, "w", encoding="utf-8") as file:
        file.write(before + json.dumps(data).replace("<", "\\u003c") + after)
    return other


def large_page(path, layers, heads, count):
    """Head 0 looks at the previous token, head 1 at token 37 as soon as it is there, the others at all alike."""
    def head(index):
        rows = [[4000 // (query + 1)] * (query + 1) for query in range(count)]
        for query in range(count) if index < 2 else ():
            rows[query] = [0] * (query + 1)
            if index == 0:
                rows[query][max(query - 1, 0)] = 4000
            elif query >= 37:
                rows[query][37] = 4000
        return encode_map(weight for row in rows for weight in row)

    def change(data):
        maps = [head(0), head(1), head(2)]
        data["attention"] = {"tokens": [f"token{i}" for i in range(count)], "layers": layers, "heads": heads,
                             "causal": True, "maps": [maps[min(i, 2)] for i in range(layers * heads)]}
        data["marks"] = []
        if "run" in data:
            data["run"].update(layers=layers, heads=heads)
            for measured in data["run"]["measured"]:
                for name in ("entropy", "saturation", "undivided_entropy", "undivided_saturation"):
                    measured[name] = [0.5] * (layers * heads)

    return with_data(path, f"large-{layers}-{heads}.html", change)


def check_unbroken(browser, selector, column, what, hidden=0):
    """Full ink from the top (a column: from its first row) to the bottom, in each row next to that of the row before."""
    heat = colour_of(browser, "--heat")
    lines = [[x for x, pixel in enumerate(line) if near(pixel, heat, 12)] for line in browser.pixels(selector)]
    inked = [y for y, line in enumerate(lines) if line]
    check(inked, f"{what}: nothing")
    lines = lines[inked[0] + hidden:inked[-1] + 1]
    gaps = [y for y, (above, line) in enumerate(zip(lines, lines[1:]))
            if not any(abs(a - b) <= (0 if column else 1) for a in above for b in line)]
    check_equal(gaps, [], f"{what}: gaps")
    return len(lines)


def check_large(browser, path):
    """256 tokens, with few heads and with many: no head's thumbnail or picture loses a weight."""
    for layers, heads in ((1, 2), (12, 12)):
        page = large_page(path, layers, heads, 256)
        for width, density in ((1280, 1), (390, 1), (390, 2)):
            browser.size(width, 900, density=density)
            browser.open(page)
            for column, name in enumerate(("diagonal", "column")):
                what = f"{name}, {layers} x {heads} heads, width {width}, density {density}"
                thumbnail = f".heads button:nth-of-type({column + 1}) canvas"
                # A row or two of pixels may be lost to the rounding of a corner; a column begins at row 37.
                least = browser.run(f"document.querySelector('{thumbnail}').clientHeight") * density
                found = check_unbroken(browser, thumbnail, column, f"thumbnail of a {what}")
                check(found >= least * (1 - 37 / 256 * column) - 2 * density - 1, f"{what}: {found} of {least} pixels")
                browser.click(f".heads button:nth-of-type({column + 1})")
                browser.run("document.querySelector('.token').focus()")  # its frame hides the first rows
                browser.settle()
                found = check_unbroken(browser, ".map", column, f"picture of a {what}", 6 * density)
                check(found >= 200, f"picture of a {what}: {found} pixels")
            elements = browser.run("document.querySelectorAll('.attention *').length")
            check(elements < 3 * layers * heads + 2 * 256 + 50, f"{elements} elements")
            check_labels(browser, 256)
            check_quiet(browser, page)
            check_fits(browser, width)


def check_many_heads(browser, path):
    """On the page of a run the choice of one of many heads is shown by picture, list and curves."""
    browser.size(1280, 900)
    page = large_page(path, 12, 12, 256)
    browser.open(page)
    browser.click(".heads button:nth-of-type(30)")
    check_equal(browser.run("[...document.querySelectorAll('.heads button[aria-pressed=true]')].map((e) => e.ariaLabel)"),
                ["Layer 2, head 5"], "the chosen head")
    check_equal(browser.run("document.querySelector('.map').ariaLabel"), "Attention of layer 2, head 5", "name of the picture")
    check("Layer 2, head 5" in browser.run("document.querySelector('.pair .chart').textContent"), "no curve of the head")
    check_equal(browser.run("document.querySelectorAll('.pair .chart .curve.faint').length"), 2, "curves of the other heads")
    check_quiet(browser, page)


def check_labels(browser, count):
    """The labels of the last drawing can be read: none is small, none lies on another, the lit ones are large."""
    browser.click(".heads button")
    for row in (0, 100, 101, count - 1):
        browser.run(f"document.activeElement.blur(), document.querySelectorAll('.token')[{row}].focus()")
        browser.settle()
        labels = browser.run("labels")
        check(all(label["size"] >= 7 for label in labels), f"small labels: {labels}")
        for side in ("left", "top"):
            places = sorted((label["at"], label["size"]) for label in labels if label["side"] == side)
            check(len(places) >= 5, f"{len(places)} labels at the {side}")
            check(all(b - a >= (m + n) / 2 - 0.5 for (a, m), (b, n) in zip(places, places[1:])), f"labels overlap: {places}")
        lit = [label for label in labels if label["bold"]]
        check_equal(sorted(label["side"] for label in lit), ["left", "top"], "sides of the lit labels")
        check(all(label["size"] >= 11 for label in lit), f"lit labels: {lit}")
        name = browser.run("document.querySelectorAll('.token')[document.querySelector('.map').dataset.row].textContent")
        written = next(label["text"] for label in lit if label["side"] == "left")
        check(name.startswith(written.removesuffix("\u2026")), f"the lit row is called {written}, not {name}")


# Notes what was last written on the picture of a head: side, place along it and size in CSS pixels.
NOTE_LABELS = """
    window.labels = [];
    const {clearRect, fillText} = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.clearRect = function (...box) {
        labels.length = 0;
        clearRect.apply(this, box);
    };
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        const at = this.getTransform().transformPoint({x, y});
        const side = this.textAlign === "right" ? "left" : "top";
        labels.push({text, side, at: (side === "left" ? at.y : at.x) / devicePixelRatio,
                     size: parseFloat(this.font.match(/([\\d.]+)px/)[1]), bold: /bold|700/.test(this.font)});
        fillText.call(this, text, x, y);
    };
"""


def check_small_labels(browser):
    """Where there is room, every token has its label on both sides."""
    browser.run("document.activeElement.blur(), document.querySelectorAll('.token')[1].focus()")
    browser.settle()
    tokens = browser.run("[...document.querySelectorAll('.token')].map((e) => e.textContent)")
    for side in ("left", "top"):
        found = sorted(browser.run(f"labels.filter((label) => label.side === '{side}').map((label) => label.text)"))
        check_equal(found, sorted(token if len(token) <= 10 else token[:9] + "\u2026" for token in tokens), f"labels at the {side}")


def check_charts(browser):
    """No text of a chart lies on another."""
    overlaps = browser.run("""[...document.querySelectorAll(".chart svg")].flatMap((svg) => {
        const texts = [...svg.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
        return texts.flatMap(([a, p], i) => texts.slice(i + 1)
            .filter(([b, q]) => p.left < q.right && q.left < p.right && p.top + 2 < q.bottom && q.top + 2 < p.bottom)
            .map(([b]) => `${svg.ariaLabel}: ${a} | ${b}`));
    })""")
    check_equal(overlaps, [], "texts that overlap")


def check_floor(browser, path):
    """A loss 0.011 above the floor is a curve of its own, on a logarithmic axis."""
    def change(data):
        run = data["run"]
        run["floor"] = 1.5
        run["curves"]["loss"] = [[step, 1.5 + 2 / step] for step in range(1, 183)]
        run["evaluations"] = [{"step": 182, "loss": 1.511, "sample": ""}]

    page = with_data(path, "floor.html", change)
    browser.open(page)
    chart = "[...document.querySelectorAll('.chart')].find((e) => e.querySelector('svg').ariaLabel.startsWith('Loss above its floor'))"
    check_equal(browser.run(f"[...{chart}.querySelectorAll('.legend b')].map((e) => e.textContent)"), ["0.011", "0.011"], "distance to the floor")
    # 2 / step falls by a decade from step 1 to 10 and by another to 100: by as many pixels.
    heights = browser.run(f"{chart}.querySelector('.curve.c0').getAttribute('d').match(/ [\\d.]+/g).map(Number)")
    check(abs((heights[9] - heights[0]) - (heights[99] - heights[9])) < 1, f"heights {heights[0]}, {heights[9]}, {heights[99]}")
    check(heights[9] - heights[0] > 40, "a decade is not seen")
    check_charts(browser)
    check_quiet(browser, page)


def check_phone(browser, path):
    browser.size(390, 844)
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True)
    browser.open(path)
    check_fits(browser, 390)
    browser.tap(".token:nth-of-type(3)")
    check_row(browser, 2, "a tap")
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    check_quiet(browser, path)


def check_contrast(browser, scheme):
    """Ink and muted text stand out 4.5 to 1 from what they are written on (WCAG AA)."""
    least = browser.run("""(() => {
        const canvas = document.createElement("canvas").getContext("2d");
        const light = (name) => {
            canvas.fillStyle = getComputedStyle(document.body).getPropertyValue(name).trim();
            canvas.fillRect(0, 0, 1, 1);
            const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) =>
                v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
        };
        const ratio = (a, b) => Math.max(light(a), light(b)) / Math.min(light(a), light(b));
        return Math.min(...["--ink", "--muted", "--first", "--second", "--third"].flatMap(
            (name) => ["--paper", "--card"].map((ground) => ratio(name, ground))));
    })()""")
    check(least >= 4.5, f"contrast of {least:.2f} in the {scheme} scheme")


def take_pictures(browser, pages, folder):
    os.makedirs(folder, exist_ok=True)
    for page in pages:
        for width, height in ((1280, 900), (390, 844)):
            for dark in (False, True):
                browser.size(width, height, dark)
                browser.open(page)
                name = f"{os.path.basename(page)[:-5]}-{width}{'-dark' if dark else ''}.png"
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(base64.b64decode(browser.picture()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("heed")
    parser.add_argument("--pictures")
    parser.add_argument("--run")
    options = parser.parse_args()
    program = find_chromium()
    if program is None:
        print("there is no Chromium: the pages are not tested")
        return 77
    with tempfile.TemporaryDirectory(prefix="heed-report-") as folder:
        run = options.run or make_run(options.heed, folder)
        report, attention = os.path.join(run, "report.html"), os.path.join(run, "attention.html")
        browser = Browser(program)
        browser.call("Page.addScriptToEvaluateOnNewDocument", source=NOTE_LABELS)
        try:
            for dark in (False, True):
                browser.size(1280, 900, dark)
                check_report(browser, report)
                check_fits(browser, 1280)
                check_contrast(browser, "dark" if dark else "light")
            browser.open(attention)
            check_attention(browser)
            check_small_labels(browser)
            check_quiet(browser, attention)
            check_floor(browser, report)
            check_large(browser, attention)
            check_many_heads(browser, report)
            check_marks(browser, attention, folder)
            check_phone(browser, report)
            check_phone(browser, attention)
            if options.pictures:
                take_pictures(browser, (report, attention), options.pictures)
        finally:
            browser.close()
    print("the pages are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
