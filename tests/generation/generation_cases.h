// The opened presets of tests/data/generation.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/tensor.h"
#include "attn/generate/cached_decoder.h"
#include "attn/generate/generate.h"
#include "attn/keras/model.h"

namespace attn::test {

[[nodiscard]] std::string read_text(const std::filesystem::path& path);
[[nodiscard]] nlohmann::json read_json(const std::filesystem::path& path);
[[nodiscard]] std::map<std::string, Tensor> read_arrays(const std::filesystem::path& path);

/// A preset that KerasHub saved, with its results (tests/data/README.md).
struct PresetCase {
  std::filesystem::path path;
  std::string name;
  keras::Model backbone, task;
  std::vector<Tensor> weights;  ///< of both models
  nlohmann::json meta;

  [[nodiscard]] bool is_half() const { return name.ends_with("_bf16"); }
  [[nodiscard]] bool is_quantized() const { return meta.at("traits").contains("quantize"); }
  /// The tolerance of a result relative to float64: four times the error of KerasHub's own float32 run (meta.json), or
  /// 1e-6 of the largest value. For half-precision policies: as far beyond the error of KerasHub's own run. For int8
  /// weights, which have no float64 run: 2e-5 of the largest value of KerasHub's result. If activations are also
  /// quantized: a quantization step, because a value that differs by an ulp may be rounded to the next integer, which
  /// changes all later values.
  [[nodiscard]] double tolerance(const std::string& result, const Tensor& expected) const;
};

/// The presets that generate text, by name.
[[nodiscard]] const std::vector<PresetCase>& preset_cases();

/// The results of a backbone for `inputs`, those of backbone.npz, by name; a single result is "hidden".
[[nodiscard]] std::map<std::string, Tensor> run_backbone(const PresetCase& preset, const backends::Backend& backend,
                                                         const std::map<std::string, Tensor>& inputs);
/// The logits of the task for the same inputs.
[[nodiscard]] Tensor run_task(const PresetCase& preset, const backends::Backend& backend,
                              const std::map<std::string, Tensor>& inputs);

/// A decoder of the task.
[[nodiscard]] generate::CachedDecoder decoder_of(const PresetCase& preset, const backends::Backend& backend,
                                                 generate::CachedDecoderOptions options);

}  // namespace attn::test
