# SPDX-License-Identifier: MIT
import pytest
import timbre
from conftest import raises
from timbre import Status


def test_an_engine_may_be_closed_again_and_left_twice():
    engine = timbre.Engine()
    with engine:
        with engine:
            pass
        engine.close()
    engine.close()


def test_all_options_reach_the_library():
    with timbre.Engine(
        threads=1,
        store="memory:",
        precision="fp32",
        device="cpu",
        allow_device_fallback=True,
        thread_name="speaker",
        thread_nice=1,
        thread_affinity=[0],
    ) as engine:
        assert engine.load_model("tone:").info.device == "cpu"


@pytest.mark.parametrize("store", ["redis://localhost", "nonsense"])
def test_other_stores_are_unsupported(store):
    with raises(Status.UNSUPPORTED, store.split(":")[0]):
        timbre.Engine(store=store)


def test_bf16_is_unsupported():
    with raises(Status.UNSUPPORTED):
        timbre.Engine(precision="bf16")


def test_a_missing_device_is_an_error_unless_fallback_is_allowed():
    with raises(Status.NO_DEVICE):
        timbre.Engine(device="cuda:63")
    with timbre.Engine(device="cuda:63", allow_device_fallback=True) as engine:
        assert engine.load_model("tone:").info.device == "cpu"


def test_progress_is_told_and_can_cancel(engine):
    stages = []
    engine.load_model("tone:", progress=lambda fraction, stage: stages.append((fraction, stage)))
    assert stages and all(0 <= fraction <= 1 for fraction, _ in stages)
    with raises(Status.CANCELLED):
        engine.load_model("tone:", progress=lambda fraction, stage: False)


def test_an_exception_of_progress_cancels_the_load_and_arrives(engine):
    def progress(fraction, stage):
        raise KeyError(stage)

    with pytest.raises(KeyError):
        engine.load_model("tone:", progress=progress)
    with pytest.raises(KeyboardInterrupt):
        engine.load_model("tone:", progress=lambda fraction, stage: (_ for _ in ()).throw(KeyboardInterrupt()))


def test_an_engine_cannot_be_closed_from_its_own_progress(engine):
    with raises(Status.INVALID_ARGUMENT):
        engine.load_model("tone:", progress=lambda fraction, stage: engine.close())


def test_a_missing_model_is_named(engine, tmp_path):
    with raises(Status.NOT_FOUND, "absent.onnx"):
        engine.load_model(tmp_path / "absent.onnx")


def test_parts_from_memory_are_read(engine):
    with raises(Status.FORMAT, "broken.onnx"):
        engine.load_model({"broken.onnx": b"<!DOCTYPE html>", "broken.onnx.json": bytearray(b"{}")})


def test_the_log_gives_each_line_once(engine):
    engine.load_model("tone:")
    for line in engine.log():
        assert line.level in ("info", "warning", "error") and isinstance(line.text, str)
    assert engine.log() == []
