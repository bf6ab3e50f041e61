# SPDX-License-Identifier: MIT
"""A copy of the voice with what sherpa-onnx wants: facts in the graph's metadata, and tokens.txt."""
import json
import shutil


def voice_copy(model, work):
    """Writes the copy of `model` into the folder `work`, where it is not there yet. Returns its path."""
    work.mkdir(parents=True, exist_ok=True)
    copy = work / model.name
    with open(f"{model}.json", encoding="utf-8") as file:
        config = json.load(file)
    if not copy.exists():
        import onnx

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
