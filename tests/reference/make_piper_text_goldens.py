#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What piper-tts makes of texts: the token ids of each sentence, for the front end's parity test.

usage: make_piper_text_goldens.py VOICE.onnx [OUT_DIR]        default: tests/data/golden

Writes piper_text.json. Needs piper-tts 1.8.0, whose own espeak-ng is newer than Debian's 1.51: vowels and links between
words differ here and there, the structure (sentences, punctuation, spaces at clauses) does not. `phonemes` holds the
phonemes as one string per sentence, for people; `phoneme_id_map` is the voice's.
"""

import importlib.metadata
import json
import pathlib
import sys

from piper import PiperVoice

ROOT = pathlib.Path(__file__).resolve().parents[2]

TEXTS = [
    "Hello there, traveller.",
    "The quick brown fox jumps over the lazy dog.",
    "Mr. Smith went to Washington, D.C. yesterday.",
    "It costs $3.50, or 1,234 euros.",
    "Call 555-1234 now!",
    "What?! No way!? Really...",
    "\"Yes,\" she said. \"No.\"",
    "He said 'hello' and left.",
    "Wait... what?",
    "Wait… What?",
    "A dash - here, an em—dash — and an en–dash – done.",
    "First line.\nSecond line",
    "First paragraph.\n\nSecond paragraph",
    "See https://example.com/a?b=c for more.",
    "E-mail me@example.com, please.",
    "Dr. Who, Ph.D., met Mrs. Jones at 5 p.m. on Jan. 3rd.",
    "U.S.A. and NATO are acronyms.",
    "I've got 2/3 of it: 66.7% (roughly).",
    "Is it 10:30 a.m.? Yes; it is.",
    "No punctuation at all",
    "   leading and trailing   ",
    "¿Qué tal? ¡Hola!",
    "naïve café résumé",
    "One. Two! Three? Four: five; six, seven.",
    "Read the book. I read it yesterday.",
    "The wind will wind the rope.",
    "#1 fan & co. + more = 100%",
    "Chapter IV, King George III.",
    "snake_case and CamelCase words",
    "Hi!!! Are you there???",
    "(Parenthetical remark.) Then more.",
    "He was born in 1984; she, in 2001.",
    "Let's go, y'all — it's 9 o'clock!",
    "Over the sea, under the tree; in the air.",
    "One。Two、three？",
    "Say [[həlˈoʊ]] to [[ðə wˈɜːld]]. Then stop.",
    "[[həlˈoʊ]]",
    "Hello. [[ðə]] end.",
    "Yes!\n\nNo?\n\n\nMaybe,\n\nperhaps",
    "a",
]


def main(arguments):
    voice = PiperVoice.load(arguments[0])
    out = pathlib.Path(arguments[1]) if len(arguments) > 1 else ROOT / "tests/data/golden"
    lines = []
    for text in TEXTS:
        sentences = [sentence for sentence in voice.phonemize(text) if sentence]
        record = {
            "text": text,
            "ids": [voice.phonemes_to_ids(sentence) for sentence in sentences],
            "phonemes": ["".join(sentence) for sentence in sentences],
        }
        lines.append("  " + json.dumps(record, ensure_ascii=False))
    header = json.dumps(f"piper-tts {importlib.metadata.version('piper-tts')}")
    id_map = json.dumps({symbol: list(ids) for symbol, ids in voice.config.phoneme_id_map.items()}, ensure_ascii=False)
    body = ",\n".join(lines)
    text = f'{{\n "made_with": {header},\n "phoneme_id_map": {id_map},\n "texts": [\n{body}\n ]\n}}\n'
    (out / "piper_text.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
