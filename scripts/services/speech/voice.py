"""A voice for Piper, cut from what espeak-ng says.

No package registry carries a trained voice. This one is a table of pairs of sounds, each from the
middle of one to the middle of the next, out of words (`words.txt`) that no test says; its graph looks
up the pairs of a sentence and joins them. It has the inputs and the output of a trained voice, so
that everything but the weights is real, and what Piper says with it can be understood.

    voice.py FILE.onnx
"""

import collections
import ctypes
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RATE = 22050
# Signs that are no sounds: passed over, or silence.
PASSED, SILENT = "_ˈˌ ", "^$.,;:?!"
PHONEME = 7


class Event(ctypes.Structure):
    """`espeak_EVENT`."""

    _fields_ = [
        ("type", ctypes.c_int), ("unique", ctypes.c_uint), ("text", ctypes.c_int),
        ("length", ctypes.c_int), ("audio", ctypes.c_int), ("sample", ctypes.c_int),
        ("user", ctypes.c_void_p), ("name", ctypes.c_char * 8),
    ]


Hearing = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(Event)
)


class Speaker:
    """espeak-ng, which also says where each sound begins."""

    def __init__(self):
        self.espeak = ctypes.CDLL("libespeak-ng.so.1")
        if self.espeak.espeak_Initialize(2, 0, None, 3) != RATE:
            sys.exit("espeak-ng has another rate")
        self.espeak.espeak_SetVoiceByName(b"en-us")
        # Slow, and almost on one note: what is joined later fits better.
        for parameter, value in ((1, 115), (4, 8)):
            self.espeak.espeak_SetParameter(parameter, value, 0)
        self.hearing = Hearing(self.hear)
        self.espeak.espeak_SetSynthCallback(self.hearing)

    def hear(self, wave, count, events):
        if wave and count:
            self.wave.append(np.ctypeslib.as_array(wave, (count,)).astype(np.float32))
        at = 0
        while events[at].type:
            if events[at].type == PHONEME:
                self.sounds.append((events[at].sample, events[at].name.decode("utf-8", "ignore")))
            at += 1
        return 0

    def say(self, text):
        """The samples, and each letter of the phonetic text with where it begins and ends."""
        self.wave, self.sounds = [], []
        data = text.encode() + b"\0"
        self.espeak.espeak_Synth(data, len(data), 0, 1, 0, 1, None, None)
        self.espeak.espeak_Synchronize()
        wave = np.concatenate(self.wave) / 32768
        ends = [at for at, _ in self.sounds[1:]] + [len(wave)]
        letters = [("^", 0, 0)]
        for (start, name), end in zip(self.sounds, ends):
            name = [letter for letter in name if letter not in PASSED] or ["^"]
            step = (end - start) / len(name)
            for at, letter in enumerate(name):
                letter = "^" if letter in SILENT else letter
                letters.append((letter, int(start + at * step), int(start + (at + 1) * step)))
        return wave, letters + [("^", len(wave), len(wave))]


def crossing(wave, at):
    """The nearest place where the wave rises through nothing: joins there do not click."""
    low, high = max(at - 150, 1), min(at + 150, len(wave) - 1)
    if high <= low:
        return at
    rises = np.where((wave[low - 1:high - 1] <= 0) & (wave[low:high] > 0))[0]
    return at if len(rises) == 0 else low + int(rises[np.argmin(abs(rises + low - at))])


def middle(pool):
    return sorted(pool, key=len)[len(pool) // 2]


def units():
    """The letters, and the samples of every pair of them in turn."""
    speaker, words = Speaker(), (pathlib.Path(__file__).parent / "words.txt").read_text().split()
    found, first, second = (collections.defaultdict(list) for _ in range(3))
    for at in range(0, len(words), 5):
        wave, letters = speaker.say(" ".join(words[at:at + 5]))
        for (a, a0, a1), (b, b0, b1) in zip(letters, letters[1:]):
            start, end = crossing(wave, (a0 + a1) // 2), crossing(wave, (b0 + b1) // 2)
            found[a, b].append(wave[start:end])
            first[a].append(wave[start:max(start, b0)])
            second[b].append(wave[b0:max(b0, end)])
    letters = ["_", "^"] + sorted(set(first) - {"^"})
    silence = [np.zeros(0, np.float32)]
    pair = lambda a, b: np.concatenate([middle(first[a] or silence), middle(second[b] or silence)])
    return letters, [middle(found[a, b]) if found[a, b] else pair(a, b) for a in letters for b in letters]


def graph(many, pieces):
    longest = max(map(len, pieces))
    table = np.zeros((len(pieces), longest), np.float16)
    for row, piece in zip(table, pieces):
        row[:len(piece)] = piece * 0.9
    number = lambda *values: np.array(values, np.int64)
    known = {
        "table": table, "lengths": number(*map(len, pieces)), "many": number(many),
        "clock": np.arange(longest, dtype=np.int64).reshape(1, longest), "flat": number(-1),
        "zero": number(0), "one": number(1), "last": number(-1), "end": number(2**31),
        "column": number(-1, 1), "shape": number(1, 1, 1, -1),
    }
    node = helper.make_node
    nodes = [
        # What is passed over has number 0.
        node("Reshape", ["input", "flat"], ["all"]),
        node("Equal", ["all", "zero"], ["is_passed"]),
        node("Not", ["is_passed"], ["is_said"]),
        node("Compress", ["all", "is_said"], ["said"], axis=0),
        node("Slice", ["said", "zero", "last"], ["first"]),
        node("Slice", ["said", "one", "end"], ["second"]),
        node("Mul", ["first", "many"], ["row"]),
        node("Add", ["row", "second"], ["pair"]),
        node("Gather", ["table", "pair"], ["waves"], axis=0),
        node("Gather", ["lengths", "pair"], ["long"], axis=0),
        node("Reshape", ["long", "column"], ["longs"]),
        node("Less", ["clock", "longs"], ["is_wave"]),
        node("Reshape", ["is_wave", "flat"], ["kept"]),
        node("Reshape", ["waves", "flat"], ["samples"]),
        node("Compress", ["samples", "kept"], ["joined"], axis=0),
        node("Cast", ["joined"], ["speech"], to=TensorProto.FLOAT),
        node("Reshape", ["speech", "shape"], ["output"]),
    ]
    info = helper.make_tensor_value_info
    given = [
        info("input", TensorProto.INT64, [1, "phonemes"]),
        info("input_lengths", TensorProto.INT64, [1]),
        info("scales", TensorProto.FLOAT, [3]),
    ]
    made = [info("output", TensorProto.FLOAT, [1, 1, 1, "length"])]
    constants = [numpy_helper.from_array(value, name) for name, value in known.items()]
    return helper.make_graph(nodes, "pairs", given, made, constants)


def main():
    path = sys.argv[1]
    letters, pieces = units()
    model = helper.make_model(
        graph(len(letters), pieces), opset_imports=[helper.make_opsetid("", 17)]
    )
    model.ir_version = 9
    onnx.checker.check_model(model)
    onnx.save(model, path)
    numbers = {letter: [at] for at, letter in enumerate(letters)}
    numbers |= {sign: [0] for sign in PASSED} | {sign: [1] for sign in SILENT}
    config = {
        "audio": {"sample_rate": RATE, "quality": "low"},
        "espeak": {"voice": "en-us"},
        "phoneme_type": "espeak",
        "inference": {"noise_scale": 0.667, "length_scale": 1, "noise_w": 0.8},
        "phoneme_id_map": numbers,
        "num_symbols": len(letters),
        "num_speakers": 1,
        "speaker_id_map": {},
    }
    with open(path + ".json", "w", encoding="utf-8") as out:
        json.dump(config, out)


main()
