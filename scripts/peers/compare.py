# SPDX-License-Identifier: MIT
"""Runs the engines of scripts/compare-peers in turns and prints their medians and ratios as Markdown.

Each engine has a process of its own and stays loaded. Every round asks each engine for each text, engine after engine
(A B C A B C), so that a slow minute of the machine meets them all. The first round is not counted.
"""
import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOX = (
    "The quick brown fox jumps over the lazy dog, while seven wizards quietly examine the jagged boxes of blue vexing "
    "quartz near the river"
)
TEXTS = {"short": "Hello there, traveller.", "8 s": FOX + ".", "30 s": " ".join([FOX] * 4)}
ENGINES = {
    "piper-tts": [sys.executable, str(HERE / "piper_worker.py")],
    "sherpa-onnx": [sys.executable, str(HERE / "sherpa_worker.py")],
    "streaming-vits": [sys.executable, str(HERE / "streaming_vits_worker.py")],
    "timbre (Python)": [sys.executable, str(HERE / "timbre_worker.py")],
    "timbre (C)": [],  # --c-worker
}
PAUSE_S = 0.2  # lets the threads of the engine before fall asleep


class Worker:
    """A running engine."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.facts = self._answer()
        self.runs = {text: [] for text in TEXTS}

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"compare-peers: {self.name} ended with status {self.process.wait()}; see its words above")
        return json.loads(line)

    def speak(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self._answer()

    def median(self, text, value):
        return statistics.median(value(run) for run in self.runs[text])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def prepare(model, work):
    """A copy of the voice with what sherpa-onnx wants: facts in the graph's metadata, and tokens.txt."""
    import onnx

    work.mkdir(parents=True, exist_ok=True)
    copy = work / model.name
    with open(f"{model}.json", encoding="utf-8") as file:
        config = json.load(file)
    if not copy.exists():
        graph = onnx.load(model)
        facts = {
            "model_type": "vits",
            "comment": "piper",
            "language": config.get("language", {}).get("name_english", "English"),
            "voice": config["espeak"]["voice"],
            "has_espeak": 1,
            "n_speakers": config["num_speakers"],
            "sample_rate": config["audio"]["sample_rate"],
        }
        for key, value in facts.items():
            graph.metadata_props.add(key=key, value=str(value))
        onnx.save(graph, copy)
    shutil.copyfile(f"{model}.json", f"{copy}.json")
    tokens = sorted((ids[0], symbol) for symbol, ids in config["phoneme_id_map"].items())
    (work / "tokens.txt").write_text("".join(f"{symbol} {id}\n" for id, symbol in tokens), encoding="utf-8")
    return copy


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        lines = file.read().splitlines()
    name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    flags = next((set(line.split(":", 1)[1].split()) for line in lines if line.startswith("flags")), set())
    known = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in flags]
    cores = sum(line.startswith("processor") for line in lines)
    return f"{name}, {cores} cores, {' '.join(known) or 'no vector flags'}"


COLUMNS = [
    ("first audio, short", "{:.0f} ms", lambda w: 1000 * w.median("short", lambda run: run["first_s"])),
    ("first audio, 8 s", "{:.0f} ms", lambda w: 1000 * w.median("8 s", lambda run: run["first_s"])),
    ("first audio, 30 s", "{:.0f} ms", lambda w: 1000 * w.median("30 s", lambda run: run["first_s"])),
    ("real-time factor, 8 s", "{:.4f}", lambda w: w.median("8 s", lambda run: run["wall_s"] / run["audio_s"])),
    ("real-time factor, 30 s", "{:.4f}", lambda w: w.median("30 s", lambda run: run["wall_s"] / run["audio_s"])),
    ("CPU s per audio s", "{:.4f}", lambda w: w.median("8 s", lambda run: run["cpu_s"] / run["audio_s"])),
    ("peak RSS", "{:.0f} MB", lambda w: max(run["rss_mb"] for runs in w.runs.values() for run in runs)),
]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def report(workers, threads, repetitions):
    timbre = next((worker for worker in workers if worker.name == "timbre (Python)"), None)
    names = [name for name, _, _ in COLUMNS]
    print(f"{time.strftime('%Y-%m-%d')}, {processor()}; {threads} threads each, medians of {repetitions}.\n")
    if timbre:
        print(f"timbre uses {timbre.facts['instruction_set']} in {timbre.facts['precision']}.\n")
    rows = [
        [f"{w.name} {w.facts['version']}"] + [form.format(value(w)) for _, form, value in COLUMNS] for w in workers
    ]
    print(table(["text to samples"] + names, rows))
    rows = [[w.name] + [f"{w.median(text, lambda run: run['audio_s']):.1f} s" for text in TEXTS] for w in workers]
    print("\n" + table(["audio"] + list(TEXTS), rows))
    peers = [worker for worker in workers if not worker.name.startswith("timbre")]
    if timbre and peers:
        rows = [
            [f"timbre / {peer.name}"] + [f"{value(timbre) / value(peer):.2f}" for _, _, value in COLUMNS]
            for peer in peers
        ]
        print("\n" + table(["ratio, both through Python"] + names, rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--c-worker", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--only", default=",".join(ENGINES), help="names, separated by commas")
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    if arguments.repetitions < 1 or not set(names) <= set(ENGINES):
        parser.error(f"--repetitions is at least 1, --only names of {', '.join(ENGINES)}")
    model = prepare(arguments.model, arguments.work)

    workers = []
    for name in names:
        print(f"load {name}", file=sys.stderr)
        command = ENGINES[name] or [arguments.c_worker]
        # timbre gets the voice as it is published; the peers get the copy.
        path = arguments.model if name.startswith("timbre") else model
        workers.append(Worker(name, command + [str(path), str(arguments.threads)]))
    for round_number in range(arguments.repetitions + 1):
        print(f"round {round_number} of {arguments.repetitions}" + (" (not counted)" if round_number == 0 else ""),
              file=sys.stderr)
        for text, words in TEXTS.items():
            for worker in workers:
                time.sleep(PAUSE_S)
                run = worker.speak(words)
                if run["audio_s"] == 0:
                    sys.exit(f"compare-peers: {worker.name} gave no audio for the {text} text")
                if round_number > 0:
                    worker.runs[text].append(run)
    report(workers, arguments.threads, arguments.repetitions)
    for worker in workers:
        worker.close()


if __name__ == "__main__":
    main()
