#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Phoneme ids of test sentences as piper-tts makes them, so that parity can be tested without its espeak-ng.

usage: make_joe_sentences.py VOICE.onnx [OUT_DIR]       needs piper-tts; default OUT_DIR: tests/data/golden

Writes joe_sentences.json: per sentence `name`, `text`, `phonemes` (one string per clause run) and `ids`.
"""

import pathlib
import sys

import golden_io

SENTENCES = {
    "hello": "Hello there, traveller.",
    "fox": "The quick brown fox jumps over the lazy dog, while seven wizards quietly examine the jagged boxes of blue "
           "vexing quartz near the river.",
    "yes": "Yes.",
    "question": "Did anybody hear the bell ring twice last night?",
    "shout": "Get away from the edge!",
    "bridge": "The old bridge was closed for repairs until the end of October.",
    "bread": "She bought three loaves of bread, a jar of honey and two lemons.",
    "storm": "When the storm arrived, every lamp on the island went out at once.",
    "numbers": "Platform 9 opens at 7:45, and the train leaves at 8.",
    "colon": "There is only one rule here: never feed the dragon after dark.",
    "semicolon": "He counted the coins; not one of them was real.",
    "dash": "Her answer - if it was an answer - surprised nobody.",
    "ellipsis": "I thought I saw something move in the corner...",
    "thin": "Six thin thistles thrive through the thick frost.",
    "judge": "The judge measured the treasure with unusual pleasure.",
    "vowels": "Our loyal boy found a brown towel near the pure cool pool.",
    "names": "Maria and Oliver will meet you in Chicago on Wednesday.",
    "quiet": "Please keep quiet in the reading room.",
    "machine": "A small machine hums softly beneath the wooden floor.",
    "ship": "Our ship reached the harbour just before the tide turned.",
    "garden": "Behind the garden wall, a blackbird was singing to the rain.",
    "letter": "The letter said nothing about the missing key.",
    "soldier": "Forty tired soldiers marched along the frozen shore.",
    "goodbye": "Thank you for listening, and goodbye.",
}


def main(arguments):
    from piper import PiperVoice

    voice = PiperVoice.load(arguments[0])
    out = pathlib.Path(arguments[1]) if len(arguments) > 1 else golden_io.GOLDEN
    lines = []
    for name, text in SENTENCES.items():
        (phonemes,) = voice.phonemize(text)
        lines.append(dict(name=name, text=text, phonemes="".join(phonemes), ids=voice.phonemes_to_ids(phonemes)))
    assert len(lines[1]["ids"]) == 313
    golden_io.write_description(out / "joe_sentences.json", {"voice": "en_US-joe-medium"}, lines)


if __name__ == "__main__":
    main(sys.argv[1:])
