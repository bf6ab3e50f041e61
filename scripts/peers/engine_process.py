# SPDX-License-Identifier: MIT
"""The engines that are compared, each as a process of its own that speaks a line when asked (worker.py)."""
import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKERS = {
    "piper-tts": "piper_worker.py",
    "sherpa-onnx": "sherpa_worker.py",
    "streaming-vits": "streaming_vits_worker.py",
    "timbre (Python)": "timbre_worker.py",
    "timbre (C)": None,  # a program; --c-worker
}


def is_timbre(name):
    return name.startswith("timbre")


class EngineProcess:
    """A running engine. Ends the whole program where the engine ends."""

    def __init__(self, name, command):
        self.name = name
        self.started = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.facts = {}

    @classmethod
    def start(cls, name, setting):
        """Starts an engine of WORKERS and returns at once; ready() waits for it."""
        worker = WORKERS[name]
        command = [setting.c_worker] if worker is None else [sys.executable, str(HERE / worker)]
        # timbre gets the voice as it is published; the peers get the copy.
        path = setting.model if is_timbre(name) else setting.copy
        return cls(name, command + [str(path), str(setting.threads)])

    def ready(self):
        """Waits until the model is loaded. Returns self."""
        self.facts = self.answer()
        return self

    def answer(self):
        """The next line that the engine says."""
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"compare-peers: {self.name} ended with status {self.process.wait()}; see its words above")
        return json.loads(line)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def speak(self, line):
        """The figures of one utterance; one without audio ends the program."""
        self.ask(line)
        run = self.answer()
        if run["audio_s"] == 0:
            sys.exit(f"compare-peers: {self.name} gave no audio for {line[:60]!r}")
        return run

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def timbre_facts(engines):
    """A sentence that says what timbre used, where one of the engines is its Python package."""
    for engine in engines:
        if "instruction_set" in engine.facts:
            return f"timbre uses {engine.facts['instruction_set']} in {engine.facts['precision']}."
    return ""
