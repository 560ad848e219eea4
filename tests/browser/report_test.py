"""Opens the pages of heed in a headless Chromium: report_test.py HEED [--pictures FOLDER] [--run FOLDER].

Without --run, heed makes a small run first. Exit status 77 where there is no Chromium."""

import argparse
import base64
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from chromium import Browser, find_chromium  # noqa: E402

TEXT = "".join(f"</script><b>caf\u00e9 & 'tea' {i}\n" for i in range(40))
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
    titles = browser.run("""[...document.querySelectorAll("svg.map")].every((e) => e.getBoundingClientRect().width > 200)""")
    check(titles, "the picture of a head is too small")


def check_row(browser, row, how):
    check_equal(browser.run("[...document.querySelectorAll('.map .row.lit')].map((e) => e.dataset.row)"), [str(row)],
                f"highlighted rows after {how}")
    check_equal(browser.run("[...document.querySelectorAll('.token[aria-pressed=true]')].map((e) => e.ariaLabel)"),
                [browser.run(f"document.querySelectorAll('.token')[{row}].ariaLabel")], f"chosen tokens after {how}")
    check(f" at {row} looks at " in browser.run("document.querySelector('.readout').textContent"),
          f"what is read out after {how}")
    # The ink on the tokens is that row's: each weight's square root.
    check(browser.run(f"""(() => {{
        const data = JSON.parse(document.getElementById("data").textContent).attention;
        const head = [...document.querySelectorAll(".heads button")].findIndex((b) => b.ariaPressed === "true");
        return [...document.querySelectorAll(".token")].every((token, j) => {{
            const weight = data.maps[head][{row} * data.tokens.length + j];
            return Math.abs(Number(token.style.getPropertyValue("--w")) - Math.sqrt(weight / 1000)) < 1e-3;
        }});
    }})()"""), f"ink of the tokens after {how}")


def check_attention(browser):
    count = browser.run("document.querySelectorAll('.token').length")
    heads = browser.run("document.querySelectorAll('.heads button').length")
    check(heads >= 2 and count >= 5, f"{heads} heads, {count} tokens")
    chosen = "[...document.querySelectorAll('.heads button')].findIndex((b) => b.ariaPressed === 'true')"
    other = "last" if browser.run(chosen) == 0 else "first"
    before = browser.run("document.querySelector('.map').innerHTML")
    browser.click(f".heads button:{other}-of-type")
    check_equal(browser.run(chosen), 0 if other == "first" else heads - 1, "the chosen head")
    check(browser.run("document.querySelector('.map').innerHTML") != before, "another head has the same picture")
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
    browser.hover(".map .left text:nth-of-type(2)")
    check_row(browser, 1, "hovering over the picture")


def check_report(browser, path):
    browser.open(path)
    titles = browser.run("[...document.querySelectorAll('h2')].map((e) => e.textContent)")
    for title in ("Loss", "What the model writes", "Where the heads look", "How sharply the heads look",
                  "Gradient norms", "Learning rate", "Time by operation", "Tape memory by operation", "Settings"):
        check(any(found.startswith(title) for found in titles), f"there is no section '{title}' in {titles}")
    check_equal(browser.run("[...document.querySelectorAll('.chart svg')].filter((e) => !e.querySelector('.curve')).length"),
                0, "charts without a curve")
    check(browser.run("document.querySelectorAll('.bars .bar i').length") > 5, "there are no bars")
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
        try:
            for dark in (False, True):
                browser.size(1280, 900, dark)
                check_report(browser, report)
                check_fits(browser, 1280)
                check_contrast(browser, "dark" if dark else "light")
            browser.open(attention)
            check_attention(browser)
            check_quiet(browser, attention)
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
