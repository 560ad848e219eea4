"""Runs the pages of docs/ that a newcomer reads first, block by block and in that order, in one folder that looks like heed's own
with a finished build. Their programs are whole, and say by their exit status whether they did what the page says.

usage: tutorial_test.py HEED_SOURCE HEED_BUILD. What `./dev demo` does after its build is done here with few steps;
the other shell blocks run as they stand. A block whose first line names a file becomes that file.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

PAGES = ("tutorial.md", "attention.md", "writing-a-model.md")

DEMO = """#!/bin/sh
[ "$*" = demo ] || { echo "the tutorial calls ./dev $*" >&2; exit 2; }
exec build/release/bin/heed train --out build/demo --steps 20
"""


def blocks(text):
    """(language, body) of each fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run_page(page, work):
    """Runs the shell blocks of a page as they stand, and writes every other block into the file that its first line names."""
    found = blocks(page.read_text())
    if not any(language == "sh" for language, _ in found):
        sys.exit(f"{page} has no shell blocks")
    for language, body in found:
        if language == "sh":
            print(f"== {body}", flush=True)
            subprocess.run(["bash", "-euo", "pipefail", "-c", body], cwd=work, check=True)
            continue
        path = re.match(r"(?://|#) (\S+)\n", body)
        if not path:
            sys.exit(f"this block of {page} is neither shell nor says which file it is:\n{body}")
        file = work / path.group(1)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body)


def main():
    source, build = Path(sys.argv[1]), Path(sys.argv[2])
    work = build / "tutorial_test"
    shutil.rmtree(work, ignore_errors=True)
    (work / "build").mkdir(parents=True)
    for preset in ("release", "dev"):
        (work / "build" / preset).symlink_to(build)
    for name in ("docs", "README.md"):
        (work / name).symlink_to(source / name)
    (work / "dev").write_text(DEMO)
    (work / "dev").chmod(0o755)

    for page in PAGES:
        run_page(source / "docs" / page, work)
    for result in ("build/mine/report.html", "build/mine/attention.html", "build/cost.svg"):
        if not (work / result).is_file():
            sys.exit(f"the pages did not make {result}")
    # These hold numbers that every machine computes alike, so the figures of the pages are those of the program.
    for figure in ("attention_flow.svg", "attention_query.svg", "attention_recurrent.svg"):
        if (work / "build" / figure).read_text() != (source / "docs" / "figures" / figure).read_text():
            sys.exit(f"docs/figures/{figure} is not what `flow` draws: draw it again by `build/dev/bin/flow docs/figures`")


if __name__ == "__main__":
    main()
