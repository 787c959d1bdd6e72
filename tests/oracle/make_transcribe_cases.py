#!/usr/bin/env python3
"""Writes tests/data/transcribe: a tiny Whisper and a tiny Moonshine with random weights as folders of transformers, a
sound, and the tokens that transformers generates for it.

    python tests/oracle/make_transcribe_cases.py [FOLDER]

It needs `transformers` and `torch`, and writes:

    speech.wav           1.1 seconds at 16 kHz
    long.wav             4.4 seconds at 16 kHz
    whisper, moonshine   folders of transformers; Whisper's windows have 2 seconds, of 100 positions
    expected.json        a list of runs: the folder, the sound, the options of `attn transcribe`, and the tokens after
                         the prompt without the end token. `whole` is false if further windows follow. `words` are
                         the words of the first window, each with its text, its start and its end
"""

import json
import pathlib
import sys
import wave

import numpy as np
import torch
import transformers
from transformers.models.whisper.tokenization_whisper import _combine_tokens_into_words
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/data/transcribe")
LANGUAGES = ("en", "de", "fr")
STEPS = 100
SAMPLES = 17600


def byte_tokenizer(special):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate(alphabet)}
    merges = []
    for pair in ("Ġt", "Ġa", "th", "in", "er", "re", "on", "Ġth"):
        left = "Ġt" if pair == "Ġth" else pair[0]
        merges.append((left, pair[len(left):]))
        vocabulary[pair] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    return tokenizer


def scaled(model, seed):
    """Weights that give varied tokens."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                weight.copy_(torch.randn(weight.shape, generator=generator) * (0.6 if "embed_tokens" in name else 0.35))
            elif "norm" not in name:
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.2)
    return model.eval()


def make_whisper(seed):
    folder = FOLDER / "whisper"
    times = [f"<|{i * 0.02:.2f}|>" for i in range(STEPS + 1)]
    tokenizer = byte_tokenizer(["<|endoftext|>", "<|startoftranscript|>", *(f"<|{x}|>" for x in LANGUAGES), "<|translate|>", "<|transcribe|>",
                                "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"])
    tokenizer.add_tokens([AddedToken(time, special=False, normalized=False) for time in times])
    at = tokenizer.token_to_id
    end = at("<|endoftext|>")
    config = transformers.WhisperConfig(
        vocab_size=tokenizer.get_vocab_size(), num_mel_bins=8, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, d_model=16, max_source_positions=STEPS,
        max_target_positions=40, pad_token_id=end, bos_token_id=end, eos_token_id=end, decoder_start_token_id=at("<|startoftranscript|>"),
        suppress_tokens=None, begin_suppress_tokens=None)
    model = scaled(transformers.WhisperForConditionalGeneration(config), seed)
    with torch.no_grad():  # timestamps are chosen for their sum
        model.model.decoder.embed_tokens.weight[at("<|notimestamps|>"):] *= 0.45
    model.generation_config = transformers.GenerationConfig(
        eos_token_id=end, pad_token_id=end, bos_token_id=end, decoder_start_token_id=at("<|startoftranscript|>"), max_length=40,
        is_multilingual=True, lang_to_id={f"<|{x}|>": at(f"<|{x}|>") for x in LANGUAGES},
        task_to_id={x: at(f"<|{x}|>") for x in ("translate", "transcribe")}, no_timestamps_token_id=at("<|notimestamps|>"),
        max_initial_timestamp_index=20, suppress_tokens=[3, 5, 7, at("<|startofprev|>")], begin_suppress_tokens=[220, end],
        return_timestamps=False, forced_decoder_ids=None, alignment_heads=[[0, 1], [1, 0], [1, 1]])
    save(model, tokenizer, folder, end="<|endoftext|>", start="<|endoftext|>")
    extractor = transformers.WhisperFeatureExtractor(feature_size=8, chunk_length=2)
    extractor.save_pretrained(folder)
    return model, extractor


def make_moonshine():
    folder = FOLDER / "moonshine"
    tokenizer = byte_tokenizer(["<unk>", "<s>", "</s>"])
    start, end = tokenizer.token_to_id("<s>"), tokenizer.token_to_id("</s>")
    config = transformers.MoonshineConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=16, intermediate_size=32, encoder_num_hidden_layers=2,
        decoder_num_hidden_layers=2, encoder_num_attention_heads=2, decoder_num_attention_heads=2, encoder_num_key_value_heads=2,
        decoder_num_key_value_heads=2, max_position_embeddings=64, bos_token_id=start, eos_token_id=end, decoder_start_token_id=start,
        pad_token_id=end)
    model = scaled(transformers.MoonshineForConditionalGeneration(config), 3)
    model.generation_config = transformers.GenerationConfig(bos_token_id=start, eos_token_id=end, decoder_start_token_id=start,
                                                            pad_token_id=end, max_length=24)
    save(model, tokenizer, folder, end="</s>", start="<s>")
    extractor = transformers.Wav2Vec2FeatureExtractor(do_normalize=True)
    extractor.save_pretrained(folder)
    return model, extractor


def save(model, tokenizer, folder, start, end):
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": start, "eos_token": end, "pad_token": end}))


def sound(seconds, seed):
    rng = np.random.default_rng(seed)
    at = np.arange(int(seconds * 16000)) / 16000
    voice = sum(np.sin(2 * np.pi * (140 + 60 * np.sin(3 * at)) * k * at) / k for k in range(1, 9))
    return np.round(8000 * (voice * (np.sin(9 * at) > -0.3) / 3 + rng.normal(0, 0.05, len(at)))).clip(-32768, 32767).astype("<i2")


def write(name, samples):
    with wave.open(str(FOLDER / name), "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(16000)
        file.writeframes(samples.tobytes())


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    short, long = sound(SAMPLES / 16000, 1), sound(4.4, 2)
    write("speech.wav", short), write("long.wav", long)
    runs = []

    for seed in range(200):
        whisper, extractor = make_whisper(seed)
        features = extractor(short / 32768, sampling_rate=16000, return_tensors="pt").input_features
        runs = whisper_runs(whisper, features)
        if runs:
            break

    moonshine, extractor = make_moonshine()
    values = extractor(short / 32768, sampling_rate=16000, return_tensors="pt").input_values
    out = moonshine.generate(values)
    runs.append(run_of("moonshine", [], out[0].tolist()[1:], moonshine.generation_config.eos_token_id))
    (FOLDER / "expected.json").write_text(json.dumps(runs, indent=1) + "\n")
    for run in runs:
        print(run)


def whisper_runs(whisper, features):
    """Runs of one window; nothing if they are too uniform. A run that is not whole ends at its last pair of timestamps, where
    the next window begins."""
    config, runs = whisper.generation_config, []
    first = config.no_timestamps_token_id + 1
    for options, arguments in [
            (["--language", "en"], dict(language="en")), (["--language", "German", "--task", "translate"], dict(language="de", task="translate")),
            ([], dict()), (["--language", "fr", "--timestamps"], dict(language="fr", times=True)),
            (["--language", "en", "--num-beams", "3"], dict(language="en", beams=3)),
            (["--language", "de", "--num-beams", "4", "--timestamps"], dict(language="de", beams=4, times=True))]:
        tokens = window(whisper, features, **arguments)
        times = [i for i, x in enumerate(tokens) if x >= first]
        pairs = [i for i in times if i + 1 in times]
        ended = len(tokens) > 1 and times[-1:] == [len(tokens) - 1] and len(tokens) - 2 not in times
        whole = not pairs or ended
        if not whole:
            tokens = tokens[:pairs[-1] + 2]
        if len(set(tokens)) < 3:
            return []
        runs.append({**run_of("whisper", options, tokens, config.eos_token_id), "whole": whole})
    for options, arguments in [(["--language", "fr", "--words"], dict(language="fr")),
                               (["--language", "de", "--num-beams", "4", "--words"], dict(language="de", beams=4))]:
        runs.append(run_with_words(whisper, features, options, arguments))
        if len(runs[-1]["words"]) < 2:
            return []
    return runs


def run_with_words(whisper, features, options, arguments):
    """The words of a window, up to the last pair of timestamps if it has one."""
    config = whisper.generation_config
    first = config.no_timestamps_token_id + 1
    whisper.set_attn_implementation("eager")  # it returns the probabilities
    tokens, times = window(whisper, features, times=True, with_times=True, **arguments)
    pairs = [i for i, x in enumerate(tokens[:-1]) if x >= first and tokens[i + 1] >= first]
    single = len(tokens) > 1 and tokens[-1] >= first and tokens[-2] < first
    whole = not pairs or single
    if not whole:
        tokens = tokens[:pairs[-1] + 2]
    words, part = [], []
    for i, token in enumerate(tokens + [first]):
        if token < config.eos_token_id:
            part.append(i)
        elif token >= first and part:
            texts, _, places = _combine_tokens_into_words(Texts(), [tokens[k] for k in part], None)
            for text, inside in zip(texts, places):
                start, end = part[inside[0]], part[inside[-1]]
                words.append([text, round(times[start - 1] if start > 0 else 0.0, 2), round(times[end], 2)])
            part = []
    return {**run_of("whisper", options, tokens, config.eos_token_id), "whole": whole, "words": words}


class Texts:
    """The tokenizer as transformers' functions about words see it."""
    language = None

    def __init__(self):
        self.tokenizer = Tokenizer.from_file(str(FOLDER / "whisper/tokenizer.json"))
        self.eos_token_id = self.tokenizer.token_to_id("<|endoftext|>")

    def decode(self, tokens, decode_with_timestamps=True):
        return self.tokenizer.decode(tokens, skip_special_tokens=False)


def window(whisper, features, language=None, task="transcribe", times=False, beams=1, with_times=False):
    """The tokens of a window under the rules of transformers, without its search for further windows. With `with_times` also
    the times at which the tokens end."""
    config = whisper.generation_config
    if language is None:
        language = "<|{}|>".format(LANGUAGES[int(whisper.detect_language(features)[0]) - config.lang_to_id["<|en|>"]])
    else:
        language = f"<|{language}|>"
    prompt = [config.decoder_start_token_id, config.lang_to_id[language], config.task_to_id[task]]
    prompt += [] if times else [config.no_timestamps_token_id]
    rules = transformers.LogitsProcessorList([
        transformers.SuppressTokensAtBeginLogitsProcessor(config.begin_suppress_tokens, len(prompt)),
        transformers.SuppressTokensLogitsProcessor(config.suppress_tokens)])
    if times:
        rules.append(transformers.WhisperTimeStampLogitsProcessor(config, begin_index=len(prompt)))
    plain = transformers.GenerationConfig(eos_token_id=config.eos_token_id, pad_token_id=config.pad_token_id, max_length=config.max_length,
                                          decoder_start_token_id=config.decoder_start_token_id, num_beams=beams)
    out = transformers.GenerationMixin.generate(whisper, features, decoder_input_ids=torch.tensor([prompt]), logits_processor=rules,
                                                generation_config=plain, return_dict_in_generate=with_times, output_attentions=with_times)
    tokens = run_of("", [], (out.sequences if with_times else out)[0].tolist()[len(prompt):], config.eos_token_id)["tokens"]
    if not with_times:
        return tokens
    frames = -(-SAMPLES // 160)
    found = whisper._extract_token_timestamps(out, config.alignment_heads, num_frames=frames, num_input_ids=len(prompt))
    return tokens, found[0].tolist()[len(prompt):]


def run_of(folder, options, tokens, end):
    while tokens and tokens[-1] == end:
        tokens.pop()
    return {"model": folder, "sound": "speech.wav", "options": options, "tokens": tokens, "whole": True}


if __name__ == "__main__":
    main()
