"""How soon the page answers, beside an empty Gradio app, and what it weighs.

A and B alternate, each in a process of its own, medians of the pairs. Goals: first answer at most
1.25 times that of the empty app; under 350 MB before the first run.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import psutil

EMPTY = """
import gradio as gr
with gr.Blocks(analytics_enabled=False) as demo:
    with gr.Tabs():
        for name in "abcde":
            with gr.Tab(name):
                gr.Textbox(label=name)
demo.launch(server_port={port}, ssr_mode=False, run_history=False, quiet=True)
"""
PAIRS = 3


def first_answer(command: list[str], port: int, home: str) -> tuple[float, float]:
    """Return the seconds to the first answer and the process's memory in MB."""
    env = {**os.environ, "GLASSWORK_HOME": home, "GLASSWORK_PORT": str(port), "HF_HUB_OFFLINE": "1"}
    began = time.perf_counter()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=env, stdout=quiet, stderr=quiet)
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).read()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.02)
        seconds = time.perf_counter() - began
        return seconds, psutil.Process(process.pid).memory_info().rss / 1e6
    finally:
        process.kill()
        process.wait()


def main() -> None:
    """Print the ratio."""
    with tempfile.TemporaryDirectory() as home:
        ours, empty = [], []
        for pair in range(PAIRS + 1):
            port = 7950 + 2 * pair
            empty.append(first_answer([sys.executable, "-c", EMPTY.format(port=port)], port, home))
            ours.append(first_answer([sys.executable, "launch.py"], port + 1, home))
    seconds = [statistics.median(s for s, _ in rows[1:]) for rows in (ours, empty)]
    memory = [statistics.median(m for _, m in rows[1:]) for rows in (ours, empty)]
    print(f"first answer: {seconds[0]:.2f} s, empty app {seconds[1]:.2f} s, N = {PAIRS} pairs")
    print(f"ratio {seconds[0] / seconds[1]:.2f} (goal 1.25)")
    print(f"memory: {memory[0]:.0f} MB (goal 350), empty app {memory[1]:.0f} MB")


if __name__ == "__main__":
    main()
