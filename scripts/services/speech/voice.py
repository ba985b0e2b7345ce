"""A stand-in for a voice of Piper: the real program runs it, and it hums instead of speaking.

No package registry carries a trained voice. This one has the inputs and the output of a real one
and gives each phoneme a tone of its own, so that everything but the trained weights is real.

    voice.py FILE.onnx
"""

import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES, RATE = 2000, 22050


def graph():
    time = np.arange(SAMPLES, dtype=np.float32).reshape(1, 1, SAMPLES) * np.float32(2 * np.pi / RATE)
    known = {
        "time": time,
        "low": np.array([110.0], dtype=np.float32),
        "step": np.array([4.0], dtype=np.float32),
        "loud": np.array([0.3], dtype=np.float32),
        "axis": np.array([2], dtype=np.int64),
        "shape": np.array([1, 1, 1, -1], dtype=np.int64),
    }
    nodes = [
        helper.make_node("Cast", ["input"], ["ids"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["ids", "step"], ["above"]),
        helper.make_node("Add", ["above", "low"], ["tone"]),
        helper.make_node("Unsqueeze", ["tone", "axis"], ["tones"]),
        helper.make_node("Mul", ["tones", "time"], ["turn"]),
        helper.make_node("Sin", ["turn"], ["wave"]),
        helper.make_node("Mul", ["wave", "loud"], ["soft"]),
        helper.make_node("Reshape", ["soft", "shape"], ["output"]),
    ]
    given = [
        helper.make_tensor_value_info("input", TensorProto.INT64, [1, "phonemes"]),
        helper.make_tensor_value_info("input_lengths", TensorProto.INT64, [1]),
        helper.make_tensor_value_info("scales", TensorProto.FLOAT, [3]),
    ]
    made = [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 1, 1, "samples"])]
    constants = [numpy_helper.from_array(value, name) for name, value in known.items()]
    return helper.make_graph(nodes, "stand_in", given, made, constants)


def main():
    path = sys.argv[1]
    model = helper.make_model(graph(), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.checker.check_model(model)
    onnx.save(model, path)
    signs = "_^$ !'(),-.:;?abcdefghijklmnopqrstuvwxyzæçðøħŋœǀɐɑɒɓɔɕɖɗɘəɚɛɜɞɟɡɣɤɥɦɨɪɬɭɯɰɱɲɳɴɵɶɸɹɺɻɽɾʀʁʂʃʄʈʉʊʋʌʍʎʏʐʑʒʔʝˈˌːˑβθχ"
    config = {
        "audio": {"sample_rate": RATE, "quality": "stand-in"},
        "espeak": {"voice": "en-us"},
        "phoneme_type": "espeak",
        "inference": {"noise_scale": 0.667, "length_scale": 1, "noise_w": 0.8},
        "phoneme_id_map": {sign: [at] for at, sign in enumerate(signs)},
        "num_symbols": len(signs),
        "num_speakers": 1,
        "speaker_id_map": {},
    }
    with open(path + ".json", "w", encoding="utf-8") as out:
        json.dump(config, out)


main()
