#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Token ids as transformers' VitsTokenizer gives them, for vocabularies that ask one question each.

usage: make_tokenizer_goldens.py [OUT_DIR]        default: tests/data/golden

Writes tokenizer_hf.json; tests/data/golden/README.md tells its format. Needs numpy and transformers (without the
packages uroman and phonemizer, so that nothing is romanised or phonemised behind our back).
"""

import pathlib
import sys
import tempfile

import transformers

import golden_io
import hf_layout
import make_hf_model

MMS = make_hf_model.vocabulary(hf_layout.CONFIGS["mms"])


def numbered(tokens):
    return {token: i for i, token in enumerate(tokens)}


GROUPS = [
    dict(name="mms", vocab=MMS, added={"<unk>": 38}, texts=[
        "hello world", "Hello, World!", "HELLO", "", "   ", "  hello  ", "hello   world", "...", "k", "it's 42 - ok_",
        "naïve café", "hello\tworld\n", "\U0001F600", "x\u0301", "İstanbul", "ẞ", "a<unk>b", "don\u2019t"]),
    dict(name="mms_no_blank", vocab=MMS, added={"<unk>": 38}, config=dict(add_blank=False), texts=[
        "hello world", "", "...", "Hello"]),
    dict(name="mms_not_normalised", vocab=MMS, added={"<unk>": 38}, config=dict(normalize=False), texts=[
        "hello world", "Hello, World!", " hello ", "..."]),
    dict(name="unk_inside", vocab=numbered(["_", "a", "b", "<unk>", "c", " "]), config=dict(normalize=False), texts=[
        "abc", "a?b", "A", "c  a", "a<unk>b"]),
    dict(name="upper_case_letters", vocab=numbered(["_", "a", "b", "B", "C", " ", "é", "É"]), texts=[
        "abc", "ABC", "aBb Bb", "é É", "cC", "ÉB"]),
    dict(name="several_codepoints", vocab=numbered(["_", "a", "b", "t", "h", "th", "TH", "a\u0301", "\u0301", "S",
                                                   "d\u0361ʒ", "d", "ʒ", "\u0361", " "]), texts=[
        "bath", "THAT", "Th", "tH", "a\u0301b", "d\u0361ʒa", "á", "S s"]),
    dict(name="romanian", vocab=numbered(["_", "a", "ţ", "ş", "s", "t", " "]), config=dict(language="ron"), texts=[
        "ța", "ţa", "Țața", "șa", "ţȚ"]),
    dict(name="not_romanian", vocab=numbered(["_", "a", "ţ", "ş", "s", "t", " "]), config=dict(language="eng"), texts=[
        "ța", "ţa"]),
    dict(name="cyrillic", vocab=numbered(["ш", "п", "р", "и", "в", "е", "т", "м", " ", "й", "ё", "-"]), texts=[
        "привет мир", "Привет, Мир!", "ПРИВЕТ", "и\u0306", "Ё", "hello"]),
    dict(name="uroman", vocab=MMS, added={"<unk>": 38}, config=dict(is_uroman=True), texts=[
        "hello world", "Hello, World!", "what's up"]),
    dict(name="uroman_needed", vocab=MMS, added={"<unk>": 38}, config=dict(is_uroman=True), needs_uroman=True, texts=[
        "이봐 무슨 일이야", "naïve", "hello\u2019s"]),
    dict(name="added_above_table", vocab=numbered(["_", "a", "b"]), added={"<unk>": 7, "<pad>": 8},
         config=dict(normalize=False, pad_token="<pad>"), texts=["a?b", "<pad>", "ab"]),
]


def record(group):
    """The group with its texts replaced by {text, prepared, ids}."""
    config = dict(add_blank=True, normalize=True, phonemize=False, is_uroman=False, language="eng", pad_token="<unk>",
                  unk_token="<unk>")
    config.update(group.get("config", {}))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        make_hf_model.write_json(folder / "vocab.json", group["vocab"])
        make_hf_model.write_json(folder / "tokenizer_config.json", {"tokenizer_class": "VitsTokenizer", **config})
        make_hf_model.write_json(folder / "added_tokens.json", group.get("added", {}))
        tokenizer = transformers.VitsTokenizer.from_pretrained(folder)
    lines = []
    for text in group["texts"]:
        prepared, _ = tokenizer.prepare_for_tokenization(text)
        lines.append(dict(text=text, prepared=prepared, ids=[int(i) for i in tokenizer(text)["input_ids"]]))
    return dict(name=group["name"], vocab=group["vocab"], added=group.get("added", {}), config=config,
                needs_uroman=group.get("needs_uroman", False), lines=lines)


def main(arguments):
    transformers.logging.set_verbosity_error()
    out = pathlib.Path(arguments[0]) if arguments else golden_io.GOLDEN
    groups = [record(group) for group in GROUPS]
    hello = next(line for line in groups[0]["lines"] if line["text"] == "hello world")
    assert hello["ids"] == [0, 6, 0, 7, 0, 21, 0, 21, 0, 22, 0, 19, 0, 9, 0, 22, 0, 25, 0, 21, 0, 5, 0]
    golden_io.write_description(out / "tokenizer_hf.json", {"made_with": f"transformers {transformers.__version__}"},
                                groups)


if __name__ == "__main__":
    main(sys.argv[1:])
