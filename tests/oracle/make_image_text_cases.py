"""Writes tests/data/image_text: presets of models for images, sounds and texts, and what KerasHub gives for some of them.

usage: make_image_text_cases.py DATA_DIR [NAME…]
       (DATA_DIR is tests/data; needs: pip install keras tensorflow-cpu keras-hub sentencepiece pillow)

A model that compares has expected.json with the labels, their token ids, the logits and the probabilities for the images. A
model that generates has the token ids of greedy runs. Images are those of DATA_DIR/images; the sounds are in `sounds`.
"""
import functools
import io
import json
import os
import pathlib
import shutil
import sys
import wave

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import keras_hub
import keras_hub.models as M
import numpy as np
import sentencepiece
import tensorflow as tf
from keras_hub.src.models.gemma3.gemma3_vision_encoder import Gemma3VisionEncoder
from keras_hub.src.models.gemma3n.gemma3n_audio_converter import Gemma3nAudioConverter
from keras_hub.src.models.gemma3n.gemma3n_audio_encoder import Gemma3nAudioEncoder
from keras_hub.src.models.gemma4.gemma4_audio_encoder import Gemma4AudioEncoder
from keras_hub.src.models.gemma4.gemma4_vision_encoder import Gemma4VisionEncoder
from keras_hub.src.models.metaclip_2.metaclip_2_image_converter import MetaCLIP2ImageConverter
from keras_hub.src.models.qwen3_5.qwen3_5_vision_encoder import Qwen3_5VisionEncoder

IMAGES = ["wide.png", "rgb_420.jpg", "gray.jpg"]
SOUNDS = {"short.wav": 300, "long.wav": 700, "other.wav": 700}  # samples
RATE = 4000
LABELS = ["A photo of a cat", "a photo of 12 dogs!", "naïve  Straße, it's   (nothing)", "", "photo " * 12]
SENTENCES = ["a photo of a cat", "a photo of two dogs", "it is a naïve picture of nothing", "what is in the photo"]
CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def pieces(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 4), model_writer=model, vocab_size=70, model_type="unigram", hard_vocab_limit=False,
        normalization_rule_name="identity", **options)
    return model.getvalue()


def converter(make, **options):
    return make(image_size=(16, 16), scale=1 / 127.5, offset=-1.0, **options)


def clip_vocabulary():
    """Letters, letters that end a word, and merges of some words."""
    letters = [chr(c) for c in (*range(33, 127), *range(161, 173), *range(174, 256))]
    vocabulary = [*letters, *(letter + "</w>" for letter in letters)]
    merges = ["p h", "o t", "ph ot", "phot o</w>", "c a", "ca t</w>", "o f</w>", "1 2</w>", "s s"]
    vocabulary += ["".join(merge.split()) for merge in merges]
    return {token: i for i, token in enumerate([*vocabulary, "<|startoftext|>", "<|endoftext|>"])}, merges


def encoders(kind, size, length):
    common = dict(hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=12)
    return (getattr(M, kind + "VisionEncoder")(patch_size=4, **common, image_shape=(16, 16, 3)),
            getattr(M, kind + "TextEncoder")(vocabulary_size=size, embedding_dim=8, max_sequence_length=length, **common))


@case
def clip():
    tokenizer = M.CLIPTokenizer(*clip_vocabulary())
    return M.CLIPPreprocessor(tokenizer, converter(keras_hub.layers.CLIPImageConverter, crop_to_aspect_ratio=True), 12), \
        M.CLIPBackbone(*encoders("CLIP", tokenizer.vocabulary_size(), 12), 6)


@case
def clip_end_padded():
    """The tokenizer pads with the end token, and the preprocessor keeps capital letters."""
    tokenizer = M.CLIPTokenizer(*clip_vocabulary(), pad_with_end_token=True)
    return M.CLIPPreprocessor(tokenizer, converter(keras_hub.layers.CLIPImageConverter), 14, to_lower=False), \
        M.CLIPBackbone(*encoders("CLIP", tokenizer.vocabulary_size(), 16), 6)


@case
def metaclip_2():
    tokenizer = M.MetaCLIP2Tokenizer(pieces(unk_id=0, bos_id=1, eos_id=2, pad_id=-1))
    return M.MetaCLIP2CausalLMPreprocessor(tokenizer, converter(MetaCLIP2ImageConverter), 12), \
        M.MetaCLIP2Backbone(*encoders("MetaCLIP2", tokenizer.vocabulary_size(), 12), 6)


@case
def siglip():
    tokenizer = M.SigLIPTokenizer(pieces(unk_id=0, bos_id=1, eos_id=2, pad_id=-1))
    return M.SigLIPPreprocessor(tokenizer, converter(keras_hub.layers.SigLIPImageConverter), 12), \
        M.SigLIPBackbone(*encoders("SigLIP", tokenizer.vocabulary_size(), 12))


@case
def pali_gemma():
    tokenizer = M.PaliGemmaTokenizer(pieces(pad_id=0, eos_id=1, bos_id=2, unk_id=3, bos_piece="<bos>", eos_piece="<eos>"))
    backbone = M.PaliGemmaBackbone(
        tokenizer.vocabulary_size(), 16, 3, 4, 2, 16, 24, 8, 4, 2, 12, 2, 20, use_post_ffw_norm=True, use_post_attention_norm=True,
        attention_logit_soft_cap=20.0, final_logit_soft_cap=30.0, use_sliding_window_attention=True, sliding_window_size=7)
    preprocessor = M.PaliGemmaCausalLMPreprocessor(tokenizer, converter(keras_hub.layers.PaliGemmaImageConverter), 24)
    return M.PaliGemmaCausalLM(preprocessor, backbone)


@case
def gemma3():
    marks = ["<img>", "<start_of_image>", "<end_of_image>", "<end_of_turn>"]
    tokenizer = M.Gemma3Tokenizer(pieces(pad_id=0, eos_id=1, bos_id=2, unk_id=3, bos_piece="<bos>", eos_piece="<eos>",
                                         user_defined_symbols=[*marks, "\n"]), has_vision_tokens=True)
    encoder = Gemma3VisionEncoder(image_size=16, patch_size=4, num_heads=2, hidden_dim=12, num_layers=2, intermediate_dim=20,
                                  output_dim=16, pool_size=2)
    backbone = M.Gemma3Backbone(
        tokenizer.vocabulary_size(), 16, 7, 4, 2, 16, 24, 8, use_post_ffw_norm=True, use_post_attention_norm=True,
        use_sliding_window_attention=True, sliding_window_size=5, vision_encoder=encoder)
    preprocessor = M.Gemma3CausalLMPreprocessor(tokenizer, converter(keras_hub.layers.Gemma3ImageConverter), 48,
                                                max_images_per_prompt=2, num_vision_tokens_per_image=4)
    return M.Gemma3CausalLM(preprocessor, backbone)


def gemma3n_model(audio_converter=None, max_audios_per_prompt=0, **sounds):
    """Images have the rows of a MobileNetV5, and six tokens have rows of the embedder of images; four behind them have rows of that
    of sounds, if there are any."""
    marks = ["<mask>", "[multimodal]", "<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<image_soft_token>", "<end_of_image>",
             "<start_of_audio>", "<audio_soft_token>", "<end_of_audio>", "\n"]
    tokenizer = M.Gemma3nTokenizer(pieces(pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", bos_piece="<bos>", eos_piece="<eos>",
                                          unk_piece="<unk>", user_defined_symbols=marks))
    size = tokenizer.vocabulary_size() - (4 if sounds else 0)
    if sounds:
        sounds.update(audio_vocab_size=4, audio_vocab_offset=size, audio_token_id=tokenizer.token_to_id("<audio_soft_token>"))
    blocks = dict(block_types="uir", num_filters=16, strides=2, act_layers="gelu", exp_ratios=2.0, se_ratios=0.0, dw_kernel_sizes=3,
                  dw_start_kernel_sizes=0, dw_end_kernel_sizes=0, exp_kernel_sizes=3, pw_kernel_sizes=1, num_heads=2, key_dims=8,
                  value_dims=8, kv_strides=2, use_cpe=False)
    stackwise = {f"stackwise_{key}": [[value], [value] * 2] for key, value in blocks.items()}
    stackwise["stackwise_block_types"] = [["er"], ["uir", "mqa"]]
    encoder = M.MobileNetV5Backbone(**stackwise, stackwise_num_blocks=[1, 2], num_features=12, msfa_output_resolution=2, image_shape=(16, 16, 3))
    backbone = M.Gemma3nBackbone(
        text_vocab_size=tokenizer.vocabulary_size(), text_hidden_size=16, num_hidden_layers=4, pad_token_id=0, num_attention_heads=4, num_key_value_heads=2,
        head_dim=8, intermediate_size=[24] * 4, hidden_activation="gelu_approximate", sliding_window=5, rope_theta=1000.0,
        layer_types=["sliding_attention", "full_attention"] * 2, max_position_embeddings=64, vocab_size_per_layer_input=size - 6,
        hidden_size_per_layer_input=4, altup_num_inputs=2, laurel_rank=4, num_kv_shared_layers=2,
        vision_encoder_config=encoder.get_config(), vision_hidden_size=12, vision_vocab_size=6, vision_vocab_offset=size - 6,
        vision_soft_tokens_per_image=4, image_token_id=tokenizer.token_to_id("<image_soft_token>"), **sounds)
    preprocessor = M.Gemma3nCausalLMPreprocessor(tokenizer, converter(keras_hub.layers.Gemma3nImageConverter), audio_converter,
                                                 sequence_length=48, max_images_per_prompt=2, num_vision_tokens_per_image=4,
                                                 max_audios_per_prompt=max_audios_per_prompt, num_audio_tokens_per_audio=4)
    return M.Gemma3nCausalLM(preprocessor, backbone)


@case
def gemma3n():
    return gemma3n_model()


@case
def gemma3n_audio():
    """A short sound has fewer rows than positions, and a long one has more."""
    sounds = Gemma3nAudioConverter(
        feature_size=8, sampling_rate=RATE, padding_value=0.0, return_attention_mask=True, frame_length_ms=16.0, hop_length_ms=10.0,
        min_frequency=50.0, max_frequency=1900.0, preemphasis=0.97, preemphasis_htk_flavor=True, fft_overdrive=True, dither=0.0,
        input_scale_factor=1.0, mel_floor=1e-5, per_bin_mean=None, per_bin_stddev=None, padding_side="right", seed=1)
    encoder = Gemma3nAudioEncoder(
        hidden_size=8, input_feat_size=8, sscp_conv_channel_size=[3, 2], sscp_conv_kernel_size=[[3, 3], [3, 3]],
        sscp_conv_stride_size=[[2, 2], [2, 2]], sscp_conv_group_norm_eps=1e-3, num_hidden_layers=2, rms_norm_eps=1e-6,
        gradient_clipping=1e10, residual_weight=0.5, num_attention_heads=2, attention_chunk_size=3, num_attention_context_right=1,
        num_attention_context_left=3, attention_logit_cap=50.0, conv_kernel_size=3, reduction_factor=1)
    return gemma3n_model(sounds, 2, audio_encoder_config=encoder.get_config(), audio_hidden_size=8, audio_soft_tokens_per_image=4)


def gemma4_model(audio_converter=None, audio_encoder=None, marks_of_sounds=()):
    marks = ["<|image>", "<|image|>", "<image|>", "<|video|>", "<turn|>", *marks_of_sounds]
    tokenizer = M.Gemma4Tokenizer(pieces(pad_id=0, eos_id=1, bos_id=2, unk_id=3, bos_piece="<bos>", eos_piece="<eos>",
                                         user_defined_symbols=[*marks, "\n"]))
    encoder = Gemma4VisionEncoder(image_size=24, patch_size=4, num_heads=2, hidden_dim=16, num_layers=2, intermediate_dim=20, head_dim=8,
                                  output_dim=16, num_key_value_heads=1, pool_size=2, position_embedding_size=12)
    backbone = M.Gemma4Backbone(
        tokenizer.vocabulary_size(), 24, 4, 4, 2, 16, 24, 8, sliding_window_size=5, sliding_window_pattern=2, vision_encoder=encoder,
        num_kv_shared_layers=2, hidden_size_per_layer_input=3, use_vision_bidirectional_attention=True, audio_encoder=audio_encoder)
    images = keras_hub.layers.Gemma4ImageConverter(patch_size=4, max_soft_tokens=7, pooling_kernel_size=2, scale=1 / 255)
    preprocessor = M.Gemma4CausalLMPreprocessor(tokenizer, images, audio_converter, sequence_length=48, max_images_per_prompt=2,
                                                num_vision_tokens_per_image=6, audio_input_feat_size=8 if audio_encoder else 0)
    return M.Gemma4CausalLM(preprocessor, backbone, final_logit_cap=5.0)


@case
def gemma4():
    return gemma4_model()


@case
def gemma4_audio():
    sounds = keras_hub.layers.Gemma4AudioConverter(
        num_mels=8, num_fft_bins=64, stride=40, sampling_rate=RATE, max_audio_length=1, min_frequency=20.0, max_frequency=1900.0,
        per_bin_mean=[-1.0] * 8, per_bin_stddev=[2.0] * 8, frame_length=50)
    encoder = Gemma4AudioEncoder(input_feat_size=8, hidden_size=8, num_heads=2, num_layers=2, chunk_size=3, context_left=4,
                                 conv_kernel_size=3, sscp_conv_channels=(3, 2), output_proj_dims=10, output_dim=16)
    return gemma4_model(sounds, encoder, ("<|audio>", "<|audio|>", "<audio|>"))


def blip2_images():
    encoder = M.BLIP2VisionEncoder(
        image_size=16, patch_size=4, num_layers=2, num_heads=2, hidden_dim=12, intermediate_dim=20, use_patch_bias=True,
        use_class_token=True, use_mha_bias=True, use_mlp_bias=True, dropout_rate=0.0, layer_norm_epsilon=1e-6, initializer_range=0.02)
    return encoder, M.BLIP2QFormer(
        num_query_tokens=3, num_layers=2, num_heads=2, hidden_dim=8, intermediate_dim=16, vision_dim=12, cross_attention_frequency=2,
        dropout=0.0, layer_norm_epsilon=1e-5)


@case
def blip2():
    letters = "".join(sorted(set("".join(SENTENCES) + " abcdefghijklmnopqrstuvwxyz")))
    marks = ["<s>", "<pad>", "</s>", "\u010a"]
    words = dict.fromkeys([*marks, "<image>", *(letter.replace(" ", "\u0120") for letter in letters), "\u0120a", "\u0120p", "ph", "ot"])
    tokenizer = M.BLIP2OPTTokenizer({word: i for i, word in enumerate(words)}, ["\u0120 a", "\u0120 p", "p h", "o t"])
    language_model = M.BLIP2CustomOPT(
        vocabulary_size=tokenizer.vocabulary_size(), num_layers=2, num_heads=2, hidden_dim=16, intermediate_dim=24, num_query_tokens=3,
        dropout=0.0, max_sequence_length=50, qformer_hidden_dim=8)
    preprocessor = M.BLIP2CausalLMPreprocessor(tokenizer, keras_hub.layers.BLIP2ImageConverter(image_size=(16, 16)), 24)
    return M.BLIP2CausalLM(preprocessor, M.BLIP2Backbone(*blip2_images(), language_model))


@case
def blip2_flan_t5():
    tokenizer = M.BLIP2FlanT5Tokenizer(pieces(pad_id=0, eos_id=1, unk_id=2, bos_id=-1))
    language_model = M.BLIP2FlanT5(
        vocabulary_size=tokenizer.vocabulary_size(), num_layers=2, num_heads=2, hidden_dim=16, intermediate_dim=24, num_query_tokens=3,
        qformer_hidden_dim=8)
    preprocessor = M.BLIP2Seq2SeqLMPreprocessor(tokenizer, keras_hub.layers.BLIP2ImageConverter(image_size=(16, 16)), 20, 24)
    return M.BLIP2Seq2SeqLM(M.BLIP2Backbone(*blip2_images(), language_model), preprocessor)


def qwen3_5_parts(make_tokenizer, make_converter):
    """A tokenizer, a converter of small patches, and the encoder that reads them."""
    letters = sorted(set("".join(SENTENCES).replace(" ", "\u0120")) | {"\u0120"})
    merges = ["\u0120 a", "p h", "o t", "ph ot", "i s"]
    specials = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    words = dict.fromkeys([*letters, *("".join(merge.split()) for merge in merges), *specials])
    tokenizer = make_tokenizer({word: i for i, word in enumerate(words)}, merges)
    scales = {"scale": [1 / 127.5] * 3, "offset": [-1.0] * 3, "interpolation": "bicubic", "antialias": True}
    converter_of_patches = make_converter(patch_size=4, min_pixels=64, max_pixels=600, **scales)
    encoder = Qwen3_5VisionEncoder(depth=2, hidden_size=16, num_heads=2, intermediate_size=20, patch_size=4, out_hidden_size=16,
                                   num_position_embeddings=25)
    text = dict(vocabulary_size=tokenizer.vocabulary_size(), num_layers=3, num_query_heads=4, num_key_value_heads=2, head_dim=16,
                hidden_dim=16, layer_types=["full_attention", "linear_attention", "full_attention"], partial_rotary_factor=0.5,
                rope_max_wavelength=100, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=6,
                linear_value_head_dim=5, linear_conv_kernel_dim=3, mrope_section=[2, 1, 1], vision_encoder=encoder)
    return tokenizer, converter_of_patches, text


@case
def qwen3_5():
    tokenizer, images, sizes = qwen3_5_parts(M.Qwen3_5Tokenizer, keras_hub.layers.Qwen3_5ImageConverter)
    return M.Qwen3_5CausalLM(M.Qwen3_5Backbone(intermediate_dim=24, **sizes),
                             M.Qwen3_5CausalLMPreprocessor(tokenizer, images, sequence_length=40))


@case
def qwen3_5_moe():
    tokenizer, images, sizes = qwen3_5_parts(M.Qwen3_5MoeTokenizer, M.Qwen3_5MoeImageConverter)
    backbone = M.Qwen3_5MoeBackbone(moe_intermediate_dim=7, shared_expert_intermediate_size=5, num_experts=4, top_k=2, **sizes)
    return M.Qwen3_5MoeCausalLM(backbone, M.Qwen3_5MoeCausalLMPreprocessor(tokenizer, images, sequence_length=40))


SEEN = "<|vision_start|><|image_pad|><|vision_end|>"
QWEN_RUNS = [(["wide.png"], [SEEN + "what is in the photo"]), (["gray.jpg"], ["a" + SEEN]),
             (["wide.png", "gray.jpg"], [f"<|im_start|>a {SEEN} photo {SEEN}of"]), ([], ["what is in the photo"]),
             (["rgb_420.jpg", "rgb_420.jpg"], [SEEN + "a cat", "two" + SEEN + "dogs"])]
RUNS = {
    "qwen3_5": QWEN_RUNS,
    "qwen3_5_moe": QWEN_RUNS[1:3],
    "blip2": [(["wide.png"], ["a photo"]), (["wide.png", "gray.jpg"], ["a cat", "a dog"])],
    "blip2_flan_t5": [(["wide.png"], ["what is in the photo"]), (["wide.png", "gray.jpg"], ["a photo", "what is in the photo"])],
    "pali_gemma": [(["wide.png"], ["what is in the photo"]), (["wide.png", "gray.jpg"], ["a photo", "a photo"]),
                   (["rgb_420.jpg"], [""])],
    "gemma3": [(["wide.png"], ["a <start_of_image> photo"]), (["wide.png", "gray.jpg"], ["<start_of_image><start_of_image>what is"]),
               ([], ["what is in the photo"]), (["gray.jpg", "wide.png"], ["<start_of_image>a cat", "<start_of_image>a cat"])],
    # KerasHub's Gemma 3n numbers the placeholders of a batch together, so each prompt has as many images as its preprocessor allows.
    "gemma3n": [(["wide.png"], ["a <start_of_image> photo"]), (["wide.png", "gray.jpg"], ["<start_of_image><start_of_image>what is"]),
                ([], ["what is in the photo"]),
                (["gray.jpg", "wide.png", "rgb_420.jpg", "gray.jpg"], ["<start_of_image>a <start_of_image>cat"] * 2)],
    "gemma4": [(["wide.png"], ["a <|image|> photo"]), (["wide.png", "gray.jpg"], ["<|image|><|image|>what is"]),
               ([], ["what is in the photo"]), (["gray.jpg", "wide.png"], ["<|image|>a cat", "<|image|>a cat"])],
    # Images, sounds, prompts. KerasHub's Gemma 4 reads one sound for each prompt.
    "gemma3n_audio": [([], ["short.wav"], ["a <start_of_audio> photo"]), ([], [], ["what is in the photo"]),
                      ([], ["short.wav", "long.wav"], ["<start_of_audio>a <start_of_audio>"]),
                      (["wide.png"], ["long.wav"], ["<start_of_image><start_of_audio>what is"]),
                      ([], ["long.wav", "other.wav", "other.wav", "long.wav"], ["<start_of_audio>a <start_of_audio>"] * 2)],
    "gemma4_audio": [([], ["short.wav"], ["a <|audio|> photo"]), ([], [], ["what is in the photo"]), ([], ["long.wav"], ["<|audio|>"]),
                     (["wide.png"], ["short.wav"], ["<|image|>what <|audio|>is"]),
                     ([], ["long.wav", "other.wav"], ["<|audio|>a cat", "<|audio|>a cat"])],
}


def pixels(folder, name):
    return keras.utils.img_to_array(keras.utils.load_img(folder / name))


def write_sounds(folder):
    """Tones that rise, with noise, and noise that fades away."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    for name, count in SOUNDS.items():
        at = np.arange(count) / RATE
        tone = 0.4 * np.sin(2 * np.pi * (200 + 800 * at) * at)
        sound = rng.normal(0, 0.3, count) * np.exp(-20 * at) if name == "other.wav" else tone + rng.normal(0, 0.05, count)
        with wave.open(str(folder / name), "wb") as file:
            file.setparams((1, 2, RATE, count, "NONE", ""))
            file.writeframes(np.round(sound * 32767).astype("<i2").tobytes())


def samples(folder, name):
    with wave.open(str(folder.parent / "image_text" / "sounds" / name)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype("float32") / 32768


def draw(model, seed):
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        if "float" in weight.dtype:
            wide = 2.5 / np.sqrt(np.prod(weight.shape[:-1]))  # so that the tokens of a run differ
            scale = 0.5 if len(weight.shape) < 2 else 0.3 if "token_embedding" in weight.path else wide
            value = scale * rng.standard_normal(weight.shape)
            if weight.path.endswith(("_min", "_max")):  # limits of Gemma 4's dense layers
                value = (abs(value) + 1.0) * (1 if weight.path.endswith("_max") else -1)
            weight.assign(value)
        elif "position_ids" in weight.path:
            weight.assign(np.arange(weight.shape[1])[None])


def without_metadata(folder):
    for path in folder.iterdir():
        if path.name == "metadata.json":
            path.unlink()


def compared(folder, images, made):
    preprocessor, backbone = made
    draw(backbone, 3)
    if "logit_scale" in backbone.weights[-1].path:
        backbone.weights[-1].assign(2.0)
    backbone.save_to_preset(str(folder / "preset"))
    preprocessor.save_to_preset(str(folder / "preset"))
    shown = [keras.ops.convert_to_numpy(preprocessor.image_converter(pixels(images, name)[None]))[0] for name in IMAGES]
    tokens = preprocessor({"prompts": LABELS, "images": np.zeros((1, 16, 16, 3), "float32")})["token_ids"]
    tokens = keras.ops.convert_to_numpy(tokens)
    logits = keras.ops.convert_to_numpy(backbone({"images": np.stack(shown), "token_ids": tokens})["vision_logits"]).astype("float64")
    independent = "SigLIP" in type(backbone).__name__
    e = np.exp(logits - logits.max(-1, keepdims=True))
    probabilities = 1 / (1 + np.exp(-logits)) if independent else e / e.sum(-1, keepdims=True)
    return {"images": IMAGES, "texts": LABELS, "token_ids": tokens.tolist(), "logits": logits.tolist(),
            "activation": "sigmoid" if independent else "softmax", "probabilities": probabilities.tolist()}


def complete_converter(preset):
    """Adds the arguments of the converter that its get_config does not have."""
    for file in preset.glob("*.json"):
        text = file.read_text()
        file.write_text(text.replace('"patch_size": 4\n', '"patch_size": 4,\n"max_soft_tokens": 7,\n"pooling_kernel_size": 2\n'))


def texts_of(preprocessor, side, token_ids):
    ids = np.array(token_ids, "int32")
    x = {side + "token_ids": ids, side + "padding_mask": np.ones(ids.shape, bool)}
    return [str(text) for text in preprocessor.generate_postprocess(x)]


def generated(folder, images, task, name):
    draw(task.backbone, 5)
    task.compile(sampler="greedy")
    task.save_to_preset(str(folder / "preset"))
    if name in ("gemma3n_audio", "gemma4_audio"):  # those with converters of images and of sounds
        lines = []
        type(task).from_preset(str(folder / "preset")).summary(line_length=100, print_fn=lambda text, line_break=True: lines.append(text))
        (folder / "summary.txt").write_text("\n".join(lines) + "\n")
    if name.startswith("gemma4"):
        complete_converter(folder / "preset")
    runs, converter = [], task.preprocessor.image_converter
    for files, *sounds, prompts in RUNS[name]:
        sounds = sounds[0] if sounds else []
        x = {"prompts": prompts, "text": prompts, "encoder_text": prompts}
        # Images of different sizes are resized one by one; the preprocessor then finds the size that it needs.
        if name.startswith("gemma4"):
            shown = [pixels(images, file) for file in files]
            if files:
                x["images"] = [shown] if len(prompts) == 1 else [[image] for image in shown]
        else:
            shown = [keras.ops.convert_to_numpy(converter(pixels(images, file)[None]))[0] for file in files]
        if name == "pali_gemma":
            x["images"] = np.stack(shown)
            task.preprocessor.image_converter = None
        elif name.startswith("blip2"):
            x["images"] = np.stack(shown)
            task.preprocessor.image_converter = lambda images: images
        elif files and name == "gemma3":
            sized = [(image + 1) * 127.5 for image in shown]
            each = len(sized) // len(prompts)
            x["images"] = [sized[i * each : (i + 1) * each] for i in range(len(prompts))]
        heard = [samples(images, file) for file in sounds]
        if heard and name == "gemma4_audio":
            x["audio"] = heard
        elif heard:
            each = len(heard) // len(prompts)
            x["audios"] = tf.ragged.constant([[list(map(float, sound)) for sound in heard[i * each : (i + 1) * each]]
                                              for i in range(len(prompts))], dtype="float32")
        input_ids = task.preprocessor.generate_preprocess(x, sequence_length=40)
        side = "decoder_" if isinstance(task, M.Seq2SeqLM) else ""
        masks = keras.ops.convert_to_numpy(input_ids[side + "padding_mask"]).astype(int)
        out = task.generate_step(keras.tree.map_structure(keras.ops.convert_to_tensor, input_ids), stop_token_ids=None)
        ids = keras.ops.convert_to_numpy(out[side + "token_ids"]).tolist()
        runs.append({"images": files, **({"audio": sounds} if sounds else {}), "prompts": prompts, "lengths": masks.sum(-1).tolist(),
                     "token_ids": ids, "texts": texts_of(task.preprocessor, side, ids)})
    return {"max_length": 40, "runs": runs}


def scored(folder, images, task, name):
    """Greedy tokens from the logits of score(). The caches of generate() read the last token of a prompt twice, and its new
    tokens have other positions than in a whole sequence."""
    draw(task.backbone, 5)
    task.save_to_preset(str(folder / "preset"))
    runs, preprocessor = [], task.preprocessor
    for files, prompts in RUNS[name]:
        x = {"prompts": prompts, **({"images": [pixels(images, file) for file in files]} if files else {})}
        # Without the conversion of the inputs, which cannot stack images of different sizes.
        read = functools.partial(type(preprocessor).generate_preprocess.__wrapped__, preprocessor, sequence_length=40)
        x = {key: keras.ops.convert_to_numpy(value) for key, value in read(x if files else tf.constant(prompts)).items()}
        lengths = x["padding_mask"].astype(int).sum(-1)
        for length in range(lengths.min(), 40):
            if files:
                x["position_ids"] = preprocessor._compute_position_ids(x["token_ids"], x["image_grid_thw"], None)
            logits = keras.ops.convert_to_numpy(task.score(keras.tree.map_structure(keras.ops.convert_to_tensor, x)))
            for row in np.flatnonzero(lengths <= length):
                x["token_ids"][row, length] = logits[row, length - 1].argmax()
                x["padding_mask"][row, length] = 1
        ids = x["token_ids"].tolist()
        runs.append({"images": files, "prompts": prompts, "lengths": lengths.tolist(), "token_ids": ids,
                     "texts": texts_of(preprocessor, "", ids)})
    return {"max_length": 40, "runs": runs}


def write_case(name, data):
    folder = data / "image_text" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    made = CASES[name]()
    run = compared if isinstance(made, tuple) else functools.partial(scored if "qwen" in name else generated, name=name)
    expected = run(folder, data / "images", made)
    without_metadata(folder / "preset")
    (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")
    print(name, "written")


if __name__ == "__main__":
    write_sounds(pathlib.Path(sys.argv[1]) / "image_text" / "sounds")
    for name in sys.argv[2:] or CASES:
        write_case(name, pathlib.Path(sys.argv[1]))
