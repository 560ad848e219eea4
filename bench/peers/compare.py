"""Runs heed and other frameworks in turn and prints one table of ratios: `./dev bench peers --peers DIR`.

DIR holds the peers' programs: tagged.py, pingpong.cpp, torch_*.py, libtorch_*.cpp, ort_attention.js and
make_attention_onnx.py. A peer whose framework is not installed is named and left out. The commands alternate
(A B, B A, ...); with several threads results count beside each other only where the two cores lay alike, which
tagged.py says. Each peer gets its best: the OpenMP build of OpenBLAS, told which CPU it runs on, since Debian's
takes a CPU newer than itself for a Prescott, and once more with an allocator that keeps its pages ("tuned").
"""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

PYTHON = "/usr/bin/python3"
OPENMP_BLAS = Path("/usr/lib/x86_64-linux-gnu/openblas-openmp")
TUNED = {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=68719476736"}
SUITES = ["train", "train-big", "decode", "attention", "elementwise", "overhead"]
TRAIN_ARGS = {
    "train": ["--config", "small", "--steps", "150", "--no-eval"],
    "train-big": ["--config", "big", "--steps", "15", "--no-eval"],
    "decode": ["--config", "big", "--generate", "512", "--context", "1024"],
}


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench peers", description=__doc__.splitlines()[0])
    parser.add_argument("--peers", required=True, type=Path, metavar="DIR", help="folder of the peers' programs")
    parser.add_argument("--heed", required=True, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--build", required=True, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help="text that the peers train on (default: DIR/../data/*.txt)")
    parser.add_argument("--suite", action="append", choices=SUITES, help="only this one; may be repeated")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=4)
    a = parser.parse_args()
    if not (a.peers / "tagged.py").is_file():
        parser.error(f"{a.peers} has no tagged.py")
    texts = sorted((a.peers / ".." / "data").glob("*.txt"))
    a.data = a.data or (texts[0] if texts else None)
    return a


class Peers:
    """The frameworks that this machine has."""

    def __init__(self, a):
        self.a = a
        self.absent = {}
        # The peers' programs ask for one OpenBLAS or another; loading torch at all needs neither.
        if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
            self.absent["PyTorch"] = "Debian's python3-torch is not installed"
        if not Path("/usr/include/torch/csrc/api/include/torch/torch.h").is_file():
            self.absent["libtorch"] = "Debian's libtorch-dev is not installed"
        found = shutil.which("node") and not subprocess.run(
            ["node", "-e", "require('onnxruntime-node')"], capture_output=True).returncode
        if not found:
            self.absent["onnxruntime-node"] = "npm's package is not where node looks (NODE_PATH)"

    def compiled(self, name, *flags):
        program = self.a.build / name
        source = self.a.peers / f"{name}.cpp"
        if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
            subprocess.run(["g++", "-O3", "-march=native", str(source), "-o", str(program), *flags], check=True)
        return str(program)

    def libtorch(self, name, *arguments):
        program = self.compiled(name, "-std=c++17", "-I/usr/include/torch/csrc/api/include", "-ltorch",
                                "-ltorch_cpu", "-lc10")
        return ["env", f"LD_LIBRARY_PATH={OPENMP_BLAS}", program, *arguments]

    def torch(self, name, *arguments, tuned=False):
        prefix = ["env", *[f"{k}={v}" for k, v in TUNED.items()]] if tuned else []
        return [*prefix, PYTHON, str(self.a.peers / name), *arguments]

    def commands(self, suite, threads):
        """Name of the peer → its command."""
        t = ["--threads", str(threads)]
        result = {}
        if suite in TRAIN_ARGS:
            words = ["--data", str(self.a.data), *t, *TRAIN_ARGS[suite]]
            if "PyTorch" not in self.absent:
                result["PyTorch"] = [self.torch("torch_train_lm.py", *words)]
                result["PyTorch, tuned"] = [self.torch("torch_train_lm.py", *words, tuned=True)]
            if "libtorch" not in self.absent:
                result["libtorch"] = [self.libtorch("libtorch_train_lm", *words)]
        elif suite == "attention":
            shapes = ["4,8,256,64", "4,8,1024,64", "1,8,4096,64"]
            if "PyTorch" not in self.absent:
                for impl, name in (("naive", "PyTorch, textbook"), ("blocked", "PyTorch, blocked")):
                    result[name] = [self.torch("torch_attention.py", "--impl", impl, "--shape", s, "--mode", mode, *t)
                                    for s in shapes for mode in ("fwd", "fwdbwd")]
            if "onnxruntime-node" not in self.absent:
                folder = self.a.build / "onnx"
                subprocess.run([PYTHON, str(self.a.peers / "make_attention_onnx.py"), str(folder)], check=True)
                result["onnxruntime"] = [["node", str(self.a.peers / "ort_attention.js"),
                                          str(folder / f"attention23_causal_{s.replace(',', '_')}.onnx"),
                                          str(threads)] for s in shapes]
        elif suite == "elementwise" and "PyTorch" not in self.absent:
            result["PyTorch"] = [self.torch("torch_elementwise.py", *t)]
            result["PyTorch, tuned"] = [self.torch("torch_elementwise.py", *t, tuned=True)]
        elif suite == "overhead":
            if "PyTorch" not in self.absent:
                result["PyTorch"] = [self.torch("torch_overhead.py", *t)]
            if "libtorch" not in self.absent:
                result["libtorch"] = [self.libtorch("libtorch_overhead")]
        return result


FIGURES = {"ms_per_step": "ms", "ms": "ms", "tokens_per_s": "tokens/s", "fwd_ns": "ns forward", "bwd_ns": "ns backward",
           "tape_bytes_per_op": "tape bytes", "rss_mib": "MiB"}
WITH_MEMORY = ("train_lm", "cross_entropy_fwd_bwd_8192x50304")


def figures(line):
    """(what, where the cores were) → value, of one JSON line."""
    what = [line["bench"]] + [str(line[k]) for k in ("shape", "config") if k in line]
    for key, unit in FIGURES.items():
        memory = key == "rss_mib"
        if key in line and (not memory or line["bench"] in WITH_MEMORY) and line.get("impl") != "recompute":
            yield (" ".join(what), unit), line["cores"], line[key]


def run_in_turn(a, pingpong, ours, theirs, threads):
    words = [PYTHON, str(a.peers / "tagged.py"), "--rounds", str(a.rounds), "--pingpong", pingpong, "--"]
    for command in (*theirs, ours):
        words += [*command, "---"]
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads),
               OPENBLAS_CORETYPE=core_type())
    results = {}  # (what, unit) → cores → "heed" or "peer" → values
    output = subprocess.run(words[:-1], env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in map(json.loads, output.splitlines()):
        if "failed" in line:
            sys.exit(f"failed: {' '.join(line['failed'])}\n{line['stderr']}")
        who = "heed" if line["peer"] == "heed" else "peer"
        for what, cores, value in figures(line):
            cores = cores if threads > 1 else "any"
            results.setdefault(what, {}).setdefault(cores, {}).setdefault(who, []).append(value)
    return results


def spread(values):
    middle = statistics.median(values)
    return f"{middle:.4g} ({min(values):.4g}–{max(values):.4g})"


def print_rows(results, peer, threads):
    for (what, unit), by_cores in results.items():
        for cores, sides in by_cores.items():
            if len(sides) == 2:
                ratio = statistics.median(sides["heed"]) / statistics.median(sides["peer"])
                print(f"| {what}, {unit} | {threads} | {cores} | {spread(sides['heed'])} | {peer} | "
                      f"{spread(sides['peer'])} | {ratio:.2f} |", flush=True)


def core_type():
    """What OpenBLAS is told that the CPU is."""
    flags = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
    return os.environ.get("OPENBLAS_CORETYPE", "SkylakeX" if "avx512bw" in flags else "Haswell" if "avx2" in flags
                          else "")


def machine():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return f"{line.split(':', 1)[1].strip()}, {os.cpu_count()} cores"
    return f"{platform.machine()}, {os.cpu_count()} cores"


def main():
    a = arguments()
    a.build.mkdir(parents=True, exist_ok=True)
    peers = Peers(a)
    pingpong = peers.compiled("pingpong", "-std=c++20", "-pthread")
    print(f"Machine: {machine()}. Medians, and least and most in brackets; {a.rounds} rounds in turn. "
          f"Peers multiply with OpenMP's OpenBLAS as {core_type() or 'it detects itself'}.\n")
    for name, reason in peers.absent.items():
        print(f"{name} is absent: {reason}.")
    print("\n| work | threads | cores | heed | peer | its figure | heed ÷ peer |\n| --- | --- | --- | --- | --- | --- | --- |",
          flush=True)
    for suite in a.suite or SUITES:
        if suite in TRAIN_ARGS and not a.data:
            print(f"| {suite}: no text to train on, see --data | | | | | | |")
            continue
        for threads in a.threads:
            for peer, commands in peers.commands(suite, threads).items():
                print_rows(run_in_turn(a, pingpong, [str(a.heed), suite], commands, threads), peer, threads)


if __name__ == "__main__":
    main()
