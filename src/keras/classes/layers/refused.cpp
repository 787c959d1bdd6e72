// Rejected layers of Keras and KerasHub, each with the end of the message "… is refused: …".
#include "classes/layers/refused.h"

#include <array>

#include "classes/layers/layers.h"

namespace attn::keras {
namespace {

constexpr std::string_view kCode = "it carries Python code, which is never run; replace it by layers or keras.ops";
constexpr std::string_view kSavedModel = "it loads a SavedModel from a path, which is never opened";
constexpr std::string_view kPrepares = "it prepares data before a model; pass its results to the model";
constexpr std::string_view kBoxes = "attn has no layers for boxes around objects";

constexpr ClassInfo refused(std::string_view name, Since since, std::string_view why) {
  return {.name = name, .make = nullptr, .since = since, .refused = why};
}
constexpr ClassInfo keras_hub_refused(std::string_view name, std::string_view why) {
  return {.name = name,
          .make = nullptr,
          .since = kAnyKeras,
          .module = "keras_hub.layers",
          .package = "keras_hub",
          .refused = why};
}

constexpr std::array kRefusedLayers = {
    refused("FlaxLayer", 302, kCode),
    refused("JaxLayer", 302, kCode),
    refused("Lambda", 300, kCode),
    refused("TorchModuleWrapper", 300, kCode),
    refused("TFSMLayer", 300, kSavedModel),
    refused("ContrastLimitedAdaptiveHistogramEqualization", 314, kPrepares),
    refused("Equalization", 308, kPrepares),
    keras_hub_refused("Gemma4ImageConverter", kPrepares),
    keras_hub_refused("MaskedLMMaskGenerator", kPrepares),
    keras_hub_refused("MultiSegmentPacker", kPrepares),
    refused("Pipeline", 306, kPrepares),
    keras_hub_refused("Qwen3_5ImageConverter", kPrepares),
    keras_hub_refused("Qwen3_5MoeImageConverter", kPrepares),
    keras_hub_refused("RandomDeletion", kPrepares),
    keras_hub_refused("RandomSwap", kPrepares),
    keras_hub_refused("StartEndPacker", kPrepares),
    keras_hub_refused("AnchorGenerator", kBoxes),
    keras_hub_refused("BoxMatcher", kBoxes),
    keras_hub_refused("NonMaxSuppression", kBoxes),
};

}  // namespace

Family refused_layers() { return kRefusedLayers; }

bool carries_code(const ClassInfo& info) { return info.refused == kCode; }

}  // namespace attn::keras
