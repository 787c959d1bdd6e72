#!/usr/bin/env python3
"""Writes tests/data/audio: sound files, their samples, and what KerasHub's AudioConverters make of a sound.

    python tests/oracle/make_audio_cases.py [FOLDER]

It needs the program `flac`, and writes:

    *.wav, *.flac        readable sounds of every kind
    samples.npz          by the file's name: the samples (N) float32, the mean of the channels; and their rate
    refused/*            files that are no readable sound
    features.npz         `sound` (N) at 16 kHz; `whisper`: what WhisperAudioConverter() makes of it; `moonshine`: the same
                         of MoonshineAudioConverter(do_normalize=True)
    gemma.npz            `sound` (N) at 16 kHz; `gemma3n`: what Gemma3nAudioConverter makes of it with the defaults of its
                         documentation, and `gemma3n_mask`; `gemma4`: the first steps of Gemma4AudioConverter()
    resampled.npz        tones of 440 and 3000 Hz at several rates, `tone_RATE`, and the same tones at 16 kHz, `tone`
"""

import pathlib
import struct
import subprocess
import sys

import numpy as np

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/data/audio")
RNG = np.random.default_rng(0)
PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
GUID = bytes.fromhex("000000001000800000aa00389b71")


def chunk(name, data):
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def wav(frames, tag, bits, rate=16000, extra=b"", extensible=False, size=None, changes=None):
    """A WAV file of frames (N, channels) from -1 to 1. `changes` are other fields of its format."""
    channels = frames.shape[1]
    fields = dict(tag=EXTENSIBLE if extensible else tag, channels=channels, rate=rate, bytes=rate * channels * bits // 8,
                  frame=channels * bits // 8, bits=bits) | (changes or {})
    header = struct.pack("<HHIIHH", *fields.values())
    if extensible:
        header += struct.pack("<HHI", 22, bits, 0) + struct.pack("<H", tag) + GUID
    data = raw(frames, tag, bits)
    body = struct.pack("<I", len(data) if size is None else size) + data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", 0) + b"WAVE" + extra + chunk(b"fmt ", header) + b"data" + body


def raw(frames, tag, bits):
    if tag == FLOAT:
        return frames.astype(f"<f{bits // 8}").tobytes()
    if bits == 8:
        return np.clip(np.round(frames * 128) + 128, 0, 255).astype("uint8").tobytes()
    whole = np.clip(np.round(frames * 2.0 ** (bits - 1)), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1).astype("<i8")
    return whole.reshape(-1, 1).view("uint8")[:, :bits // 8].tobytes()


def samples_of(frames, tag, bits):
    """The samples that a file of these frames holds."""
    if tag == FLOAT:
        return frames.astype(f"f{bits // 8}").astype("f8").mean(1).astype("f4")
    if bits == 8:
        return ((np.clip(np.round(frames * 128) + 128, 0, 255) - 128) / 128).mean(1).astype("f4")
    whole = np.clip(np.round(frames * 2.0 ** (bits - 1)), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return (whole / 2.0 ** (bits - 1)).mean(1).astype("f4")


def noise(count, channels=1):
    return RNG.uniform(-0.9, 0.9, (count, channels))


def readable():
    """Yields the name, the bytes, the samples and the rate of each sound."""
    for tag, bits in [(PCM, 8), (PCM, 16), (PCM, 24), (PCM, 32), (FLOAT, 32), (FLOAT, 64)]:
        for extensible in (False, True):
            frames = noise(21, 2 if extensible else 1)
            name = f"{'float' if tag == FLOAT else 'pcm'}_{bits}{'_extensible' if extensible else ''}.wav"
            yield name, wav(frames, tag, bits, extensible=extensible), samples_of(frames, tag, bits), 16000
    frames = noise(13, 8)
    yield "channels_8.wav", wav(frames, PCM, 16, 192000), samples_of(frames, PCM, 16), 192000
    frames = noise(15)
    yield "chunks.wav", wav(frames, PCM, 16, 44100, chunk(b"LIST", b"odd") + chunk(b"bext", b"")), samples_of(frames, PCM, 16), 44100
    yield "open_size.wav", wav(frames, PCM, 16, 8000, size=0xFFFFFFFF), samples_of(frames, PCM, 16), 8000
    yield "trailing.wav", wav(frames, PCM, 16) + chunk(b"LIST", b"more"), samples_of(frames, PCM, 16), 16000
    for bits, channels, rate in [(8, 1, 8000), (16, 2, 44100), (24, 1, 48000), (16, 8, 96000)]:
        frames = noise(700, channels)
        plain = wav(frames, PCM, bits, rate, extensible=channels > 2)
        yield f"flac_{bits}_{channels}.flac", flac(plain, "--channel-map=none"), samples_of(frames, PCM, bits), rate


def flac(plain, *options):
    return subprocess.run(["flac", "--silent", "--stdout", "--no-padding", *options, "-"], input=plain, stdout=subprocess.PIPE, check=True).stdout


def refused():
    frames = noise(40)
    good = wav(frames, PCM, 16)
    yield "empty.wav", b""
    yield "text.wav", b"This is no sound.\n"
    yield "no_samples.wav", wav(frames[:0], PCM, 16)
    yield "no_data.wav", good[:36]
    yield "no_format.wav", good[:12] + good[36:]
    yield "cut.wav", good[:-9]
    yield "huge.wav", wav(frames, PCM, 16, size=0xFFFFFFF0)
    yield "long_chunk.wav", wav(frames, PCM, 16, extra=b"LIST\xff\xff\xff\x7f")
    yield "no_channels.wav", wav(frames, PCM, 16, changes=dict(channels=0, frame=0))
    yield "many_channels.wav", wav(frames, PCM, 16, changes=dict(channels=65, frame=130))
    yield "no_rate.wav", wav(frames, PCM, 16, changes=dict(rate=0))
    yield "high_rate.wav", wav(frames, PCM, 16, changes=dict(rate=4000000000))
    yield "frame.wav", wav(frames, PCM, 16, changes=dict(frame=3))
    yield "bits.wav", wav(frames, PCM, 16, changes=dict(bits=12))
    yield "law.wav", wav(frames, PCM, 16, changes=dict(tag=7))
    yield "subformat.wav", wav(frames, PCM, 16, extensible=True).replace(GUID, b"x" * 14)
    yield "short_format.wav", good[:12] + chunk(b"fmt ", b"\1\0\1\0") + good[36:]
    yield "nan.wav", wav(np.full((5, 1), np.nan), FLOAT, 32)
    yield "infinite.wav", wav(np.array([[0.0], [np.inf]]), FLOAT, 64)
    sound = flac(wav(noise(3000), PCM, 16))
    yield "cut.flac", sound[:-900]
    yield "header.flac", sound[:30]
    yield "flipped.flac", sound[:1500] + bytes([sound[1500] ^ 16]) + sound[1501:]
    yield "checksum.flac", sound[:26] + bytes([sound[26] ^ 1]) + sound[27:]
    yield "no_samples.flac", sound[:42]
    yield "x.mp3", b"ID3\4\0\0\0\0\0\0"
    yield "x.ogg", b"OggS\0\2"
    yield "x.m4a", b"\0\0\0\x20ftypM4A "
    yield "x.aiff", b"FORM\0\0\0\0AIFF"


def speech():
    """Half a second of a tone with harmonics, a pause, and noise, at 16 kHz."""
    at = np.arange(9000) / 16000
    voice = sum(np.sin(2 * np.pi * 180 * k * at * (1 + 0.05 * at)) / k for k in range(1, 12)) * np.exp(-3 * at)
    pause, hiss = np.zeros(2000), RNG.normal(0, 0.02, 6000)
    return (np.concatenate([voice, pause, hiss]) * 0.3).astype("f4")


def main():
    (FOLDER / "refused").mkdir(parents=True, exist_ok=True)
    samples = {}
    for name, data, expected, rate in readable():
        (FOLDER / name).write_bytes(data)
        samples[name] = expected
        samples[name + ".rate"] = np.array(rate, "i4")
    np.savez(FOLDER / "samples.npz", **samples)
    for name, data in refused():
        (FOLDER / "refused" / name).write_bytes(data)

    from keras_hub import layers

    sound = speech()
    whisper = layers.WhisperAudioConverter()
    features = dict(sound=sound, whisper=np.asarray(whisper(sound)),
                    moonshine=np.asarray(layers.MoonshineAudioConverter(do_normalize=True)(sound[None])))
    features["whisper"] = features["whisper"][:140]  # later frames are as silent
    np.savez_compressed(FOLDER / "features.npz", **features)

    gemma3n = layers.Gemma3nAudioConverter(
        feature_size=128, sampling_rate=16000, padding_value=0.0, return_attention_mask=True, frame_length_ms=32.0, hop_length_ms=10.0,
        min_frequency=125.0, max_frequency=7600.0, preemphasis=0.97, preemphasis_htk_flavor=True, fft_overdrive=True, dither=0.0,
        input_scale_factor=1.0, mel_floor=1e-5, per_bin_mean=None, per_bin_stddev=None, padding_side="right")
    mels, mask = gemma3n(sound[None])
    np.savez_compressed(FOLDER / "gemma.npz", sound=sound, gemma3n=np.asarray(mels)[0], gemma3n_mask=np.asarray(mask)[0],
                        gemma4=np.asarray(layers.Gemma4AudioConverter()(sound))[:len(sound) // 160])

    tone = lambda rate: sum(np.sin(2 * np.pi * f * np.arange(rate // 10) / rate) for f in (440, 3000)).astype("f4") / 2
    np.savez_compressed(FOLDER / "resampled.npz", tone=tone(16000), **{f"tone_{r}": tone(r) for r in (8000, 11025, 44100, 48000, 192000)})


if __name__ == "__main__":
    main()
