# SPDX-License-Identifier: MIT
"""One trial of compare-peers' measure "live": readers in real time on one engine, in a process of its own.

usage: live_worker.py piper-tts|timbre MODEL THREADS READERS SECONDS ahead|talk

Every reader plays sentences of about 5 s for so many seconds. When what it has played is over, it takes what is ready,
at most 100 ms.
  ahead  a stream: the next sentence is asked for when one begins to play, and has to be there when that one ends.
  talk   a conversation: a sentence is asked for, played, and the next one follows after up to a second of silence.
A read is starved when less than 10 ms are ready then (a sentence's end aside); the reader waits, and its clock with it.
Prints one line of JSON: reads, starved reads, sentences, and how long each first audio (50 ms) took from its request.

piper-tts gives whole sentences, one after another in the order of the requests: two at once would be slower for both.
"""
import queue
import random
import sys
import threading
import time
from pathlib import Path

import worker

BLOCK_S = 0.1
LEAST_S = 0.01
SENTENCES = [
    f"The {number} traveller came down from the hills at night, and asked the keeper of the gate for the way."
    for number in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
]


class TimbreUtterance:
    """A sentence that is being spoken, read in blocks."""

    def __init__(self, speech, rate):
        self._speech, self._rate = speech, rate

    def is_ready(self, seconds):
        """Whether so much can be read without waiting; also at the end of the sentence, where less is left."""
        info = self._speech.info()
        return info.samples_ready >= seconds * self._rate or info.state != timbre.Status.PENDING

    def play(self, seconds):
        """Reads what is ready, at most so much; waits where nothing is. Returns seconds of audio, 0 at the end."""
        return self._speech.read(round(seconds * self._rate)).size / self._rate

    def close(self):
        self._speech.close()


class Timbre:
    def __init__(self, path, threads):
        self._engine = timbre.Engine(threads=threads)
        self._model = self._engine.load_model(path)

    def speak(self, text):
        return TimbreUtterance(self._model.stream(text), self._model.sample_rate)


class PiperUtterance:
    """A sentence that waits for its turn, is made, and then plays from memory."""

    def __init__(self):
        self.made = threading.Event()
        self.left_s = 0.0

    def is_ready(self, _seconds):
        return self.made.is_set()

    def play(self, seconds):
        self.made.wait()
        played = min(seconds, self.left_s)
        self.left_s -= played
        return played if played > 1e-6 else 0.0

    def close(self):
        pass


class Piper:
    def __init__(self, path, threads):
        self._voice = piper_voice.load(path, threads)
        self._requests = queue.Queue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self):
        while True:
            text, utterance = self._requests.get()
            samples = sum(chunk.audio_float_array.size for chunk in self._voice.synthesize(text, piper_voice.MANNER))
            utterance.left_s = samples / self._voice.config.sample_rate
            utterance.made.set()

    def speak(self, text):
        utterance = PiperUtterance()
        self._requests.put((text, utterance))
        return utterance


class Reader:
    """One listener: a thread that plays sentences until its time is over."""

    def __init__(self, engine, number, seconds, ahead):
        self._engine, self._seconds, self._ahead = engine, seconds, ahead
        self._random = random.Random(number)
        self._number, self._spoken = number, 0
        self.reads = self.starved = 0
        self.first_audio_s = []
        self.failure = None
        self.thread = threading.Thread(target=self._run)

    def _request(self):
        text = SENTENCES[(self._number + self._spoken) % len(SENTENCES)]
        self._spoken += 1
        return self._engine.speak(text), time.monotonic()

    def _wait_for_first(self, utterance, asked):
        """Until 50 ms can be played; its time is known to 2 ms, and to 0 where it was already there."""
        while not utterance.is_ready(worker.FIRST_AUDIO_S):
            time.sleep(0.002)
        self.first_audio_s.append(time.monotonic() - asked)

    def _play(self, utterance, begin):
        """Plays all of a sentence from `begin` on. Returns when its last sample has sounded."""
        due = begin
        while True:
            time.sleep(max(0.0, due - time.monotonic()))
            late = not utterance.is_ready(LEAST_S)
            played = utterance.play(BLOCK_S)
            self.reads += 1
            if late:
                self.starved += 1
                due = time.monotonic()
            if played == 0.0:
                return due
            due += played

    def _run(self):
        try:
            time.sleep(self._random.uniform(0, min(5.0, self._seconds / 4)))
            end = time.monotonic() + self._seconds
            (self._stream if self._ahead else self._talk)(end)
        except Exception as error:  # a thread's failure must not look like a quiet reader
            self.failure = f"{type(error).__name__}: {error}"

    def _stream(self, end):
        utterance, asked = self._request()
        self._wait_for_first(utterance, asked)
        begin = time.monotonic()
        while begin < end:
            following, asked = self._request()
            ended = self._play(utterance, begin)
            utterance.close()
            time.sleep(max(0.0, ended - time.monotonic()))
            self.reads += 1
            if not following.is_ready(worker.FIRST_AUDIO_S):
                self.starved += 1
                self._wait_for_first(following, asked)
            begin = max(ended, time.monotonic())
            utterance = following
        utterance.close()

    def _talk(self, end):
        while time.monotonic() < end:
            utterance, asked = self._request()
            self._wait_for_first(utterance, asked)
            ended = self._play(utterance, time.monotonic())
            utterance.close()
            time.sleep(max(0.0, ended + self._random.uniform(0, 1) - time.monotonic()))


def main():
    name, path, threads, count, seconds, manner = sys.argv[1:]
    engine = (Timbre if name == "timbre" else Piper)(path, int(threads))
    warm = engine.speak(SENTENCES[0])
    while warm.play(1.0):
        pass
    warm.close()
    readers = [Reader(engine, number, float(seconds), manner == "ahead") for number in range(int(count))]
    for reader in readers:
        reader.thread.start()
    for reader in readers:
        reader.thread.join()
    failures = [reader.failure for reader in readers if reader.failure]
    if failures:
        sys.exit(f"live_worker: {failures[0]}")
    worker.say({
        "reads": sum(reader.reads for reader in readers),
        "starved": sum(reader.starved for reader in readers),
        "sentences": sum(reader._spoken for reader in readers),
        "first_audio_s": sorted(first for reader in readers for first in reader.first_audio_s),
    })


if __name__ == "__main__":
    if len(sys.argv) != 7 or sys.argv[1] not in ("timbre", "piper-tts") or sys.argv[6] not in ("ahead", "talk"):
        sys.exit(__doc__)
    if sys.argv[1] == "timbre":
        sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "python"))
        import timbre
    else:
        import piper_voice
    main()
