"""Runs docs/tutorial.md block by block, in a folder that looks like heed's own with a finished build, and then the programs of
other pages, which are whole and say by their exit status whether they did what the page says.

usage: tutorial_test.py HEED_SOURCE HEED_BUILD. What `./dev demo` does after its build is done here with few steps;
the other shell blocks run as they stand. A block whose first line names a file becomes that file.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

DEMO = """#!/bin/sh
[ "$*" = demo ] || { echo "the tutorial calls ./dev $*" >&2; exit 2; }
exec build/release/bin/heed train --out build/demo --steps 20
"""


def blocks(text):
    """(language, body) of each fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


# Pages whose C++ blocks are programs build/pages/NAME.cpp.
PAGES = ("attention.md", "writing-a-model.md")

PAGES_PROJECT = """cmake_minimum_required(VERSION 3.25)
project(pages CXX)
find_package(heed REQUIRED)
foreach(program IN ITEMS {})
  add_executable(${{program}} ${{program}}.cpp)
  target_link_libraries(${{program}} PRIVATE heed::heed)
endforeach()
"""


def run_pages(source, work):
    folder = work / "build" / "pages"
    folder.mkdir(parents=True)
    names = []
    for page in PAGES:
        programs = [body for language, body in blocks((source / "docs" / page).read_text()) if language == "cpp"]
        if not programs:
            sys.exit(f"docs/{page} has no programs")
        for body in programs:
            path = re.match(r"// build/pages/(\w+)\.cpp\n", body)
            if not path:
                sys.exit(f"this program of docs/{page} does not say which file of build/pages it is:\n{body}")
            names.append(path.group(1))
            (folder / f"{names[-1]}.cpp").write_text(body)
    (folder / "CMakeLists.txt").write_text(PAGES_PROJECT.format(" ".join(names)))
    configure = ["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 f"-DCMAKE_PREFIX_PATH={work / 'build' / 'heed'}"]
    for command in (configure, ["cmake", "--build", folder / "build"], *([folder / "build" / name] for name in names)):
        print(f"== {command[-1]}", flush=True)
        subprocess.run(command, check=True)


def main():
    source, build = Path(sys.argv[1]), Path(sys.argv[2])
    work = build / "tutorial_test"
    shutil.rmtree(work, ignore_errors=True)
    (work / "build").mkdir(parents=True)
    (work / "build" / "release").symlink_to(build)
    for name in ("docs", "README.md"):
        (work / name).symlink_to(source / name)
    (work / "dev").write_text(DEMO)
    (work / "dev").chmod(0o755)

    found = blocks((source / "docs" / "tutorial.md").read_text())
    if not any(language == "sh" for language, _ in found):
        sys.exit("docs/tutorial.md has no shell blocks")
    for language, body in found:
        if language == "sh":
            print(f"== {body}", flush=True)
            subprocess.run(["bash", "-euo", "pipefail", "-c", body], cwd=work, check=True)
            continue
        path = re.match(r"(?://|#) (\S+)\n", body)
        if not path:
            sys.exit(f"this block is neither shell nor says which file it is:\n{body}")
        file = work / path.group(1)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body)
    for result in ("build/mine/report.html", "build/mine/attention.html", "build/own/build/own"):
        if not (work / result).is_file():
            sys.exit(f"the tutorial did not make {result}")
    run_pages(source, work)


if __name__ == "__main__":
    main()
