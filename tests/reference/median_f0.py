#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pitch of a recording: the median fundamental frequency of its voiced frames, by autocorrelation. Needs numpy only.

usage: median_f0.py FILE.wav ...        prints Hz per file

A frame of 40 ms is voiced if it is not quiet against the recording and its normalised autocorrelation has a peak above
0.6 between 50 and 500 Hz. Among peaks nearly as high the shortest period wins, which avoids octave errors downwards.
"""

import sys
import wave

import numpy as np

LOWEST_HZ, HIGHEST_HZ = 50.0, 500.0
FRAME_S, STEP_S = 0.040, 0.010
VOICED, NEARLY = 0.6, 0.9


def frame_f0(frame, rate):
    """Hz, or None when the frame is not voiced."""
    longest, shortest = int(rate / LOWEST_HZ), int(rate / HIGHEST_HZ)
    frame = frame - frame.mean()
    spectrum = np.fft.rfft(frame, 2 * len(frame))
    correlation = np.fft.irfft(np.abs(spectrum) ** 2)[:longest + 2]
    power = np.cumsum(frame**2)
    lags = np.arange(longest + 2)
    head, tail = power[len(frame) - 1 - lags], power[-1] - np.concatenate([[0.0], power])[lags]
    score = correlation / np.maximum(np.sqrt(head * tail), 1e-12)
    peaks = [lag for lag in range(shortest, longest + 1) if score[lag] >= max(score[lag - 1], score[lag + 1])]
    best = max((score[lag] for lag in peaks), default=0.0)
    if best < VOICED:
        return None
    lag = next(lag for lag in peaks if score[lag] >= NEARLY * best)
    before, at, after = score[lag - 1:lag + 2]
    return rate / (lag + 0.5 * (before - after) / min(before - 2 * at + after, -1e-12))


def median_f0(samples, rate):
    """Hz; NaN when nothing is voiced. `samples` is mono float."""
    samples = np.asarray(samples, np.float64)
    size, step = int(FRAME_S * rate), int(STEP_S * rate)
    frames = [samples[start:start + size] for start in range(0, len(samples) - size + 1, step)]
    levels = np.array([np.sqrt((frame**2).mean()) for frame in frames])
    loud = [frame for frame, level in zip(frames, levels) if level > 0.1 * levels.max()]
    pitches = [pitch for pitch in (frame_f0(frame, rate) for frame in loud) if pitch is not None]
    return float(np.median(pitches)) if pitches else float("nan")


def read_wav(path):
    """(float samples, rate) of a mono 16-bit file."""
    with wave.open(str(path)) as file:
        assert file.getnchannels() == 1 and file.getsampwidth() == 2, f"{path}: not mono 16-bit"
        return np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768.0, file.getframerate()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        print(f"{median_f0(*read_wav(name)):7.1f} Hz  {name}")
