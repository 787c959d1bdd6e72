// The presets in tests/data/generation, opened.
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

/// A preset that KerasHub saved, and what it computed with it (tests/data/README.md).
struct PresetCase {
  std::filesystem::path path;
  std::string name;
  keras::Model backbone, task;
  std::vector<Tensor> weights;  ///< of either
  nlohmann::json meta;

  [[nodiscard]] bool is_half() const { return name.ends_with("_bf16"); }
  [[nodiscard]] bool is_quantized() const { return meta.at("traits").contains("quantize"); }
  /// What a result may differ by from float64: four times what KerasHub's own float32 run does (meta.json), or 1e-6 of
  /// the largest. Under half policies: as much more than KerasHub's own half run. Of integers, which have no float64
  /// run, 2e-5 of the largest of KerasHub's own; where tokens become integers too, a step of these: what was off by an
  /// ulp may be rounded to the next one, and all that follows differs.
  [[nodiscard]] double tolerance(const std::string& result, const Tensor& expected) const;
};

/// Those that generate, by name.
[[nodiscard]] const std::vector<PresetCase>& preset_cases();

/// What a backbone makes of `inputs`, which are those of backbone.npz, by the names of its results; the only one is
/// "hidden".
[[nodiscard]] std::map<std::string, Tensor> run_backbone(const PresetCase& preset, const backends::Backend& backend,
                                                         const std::map<std::string, Tensor>& inputs);
/// The logits that the task makes of the same.
[[nodiscard]] Tensor run_task(const PresetCase& preset, const backends::Backend& backend,
                              const std::map<std::string, Tensor>& inputs);

/// A decoder of the task.
[[nodiscard]] generate::CachedDecoder decoder_of(const PresetCase& preset, const backends::Backend& backend,
                                                 generate::CachedDecoderOptions options);

}  // namespace attn::test
