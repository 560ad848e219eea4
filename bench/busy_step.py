#!/usr/bin/python3
"""A training step on an idle machine and beside one busy process on each core, in turn.

Prints the milliseconds of a step and their ratio; 2 would be each core's fair half. Whatever else runs on the
machine spoils it.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import tempfile
import time


def seconds(program, threads, steps):
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        subprocess.run([program, "train", "--steps", str(steps), "--threads", str(threads), "--eval-every", "0", "--out", folder],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.monotonic() - start


@contextlib.contextmanager
def busy(cores):
    loops = [subprocess.Popen(["taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]) for core in cores]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heed", required=True, help="the program heed")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    start_up = 10  # steps that are taken off, with the start of the program
    rates = {"idle": [], "busy": []}
    for _ in range(given.rounds):
        for name, cores_used in (("idle", []), ("busy", cores)):
            with busy(cores_used):
                taken = seconds(given.heed, given.threads, given.steps + start_up) - seconds(given.heed, given.threads, start_up)
            rates[name].append(1000 * taken / given.steps)
    middle = {name: statistics.median(values) for name, values in rates.items()}
    for name, values in rates.items():
        print(f"{name}  {middle[name]:.1f} ms a step ({min(values):.1f} to {max(values):.1f})")
    print(f"busy / idle  {middle['busy'] / middle['idle']:.2f}")


if __name__ == "__main__":
    main()
