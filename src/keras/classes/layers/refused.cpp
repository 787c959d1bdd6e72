// Rejected layers of Keras and KerasHub, each with the end of the message "… is refused: …".
#include "classes/layers/refused.h"

#include <algorithm>
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

/// Families of KerasHub that attn does not have, by the beginning of their class names.
struct MissingFamily {
  std::string_view stem, why;
};
constexpr std::string_view kConvolutions =
    "it is a convolutional network, and attn opens KerasHub's models with attention";
constexpr std::string_view kDiffusion = "it is a part of image generation by diffusion, which attn does not do";
constexpr std::string_view kDetection = "it finds boxes around objects, for which attn has no layers";
constexpr std::string_view kOnlyTexts = "attn has the text model of this family, without images and sounds";
constexpr std::string_view kNoLayers = "attn has no layers of this family";
constexpr std::array kMissingFamilies = {
    MissingFamily{"BASNet", kConvolutions},
    MissingFamily{"CSPNet", kConvolutions},
    MissingFamily{"DFine", kDetection},
    MissingFamily{"DeepLabV3", kConvolutions},
    MissingFamily{"DenseNet", kConvolutions},
    MissingFamily{"EfficientNet", kConvolutions},
    MissingFamily{"FeaturePyramid", kConvolutions},
    MissingFamily{"Flux", kDiffusion},
    MissingFamily{"Gemma4", "attn has this family for texts, images and sounds, without videos and assistants"},
    MissingFamily{"HGNetV2", kConvolutions},
    MissingFamily{"MMDiT", kDiffusion},
    MissingFamily{"MobileNet", kConvolutions},
    MissingFamily{"Qwen3_5", "attn has this family for texts and images, without videos"},
    MissingFamily{"RQVAE", "it quantizes vectors, without attention"},
    MissingFamily{"ResNet", kConvolutions},
    MissingFamily{"RetinaNet", kDetection},
    MissingFamily{"SAM3", "it finds objects by texts, for which attn has no layers; attn opens SAM's first version"},
    MissingFamily{"StableDiffusion3", kDiffusion},
    MissingFamily{"VAE", kDiffusion},
    MissingFamily{"VGG", kConvolutions},
    MissingFamily{"Xception", kConvolutions},
};

constexpr std::array kRefusedLayers = {
    refused("FlaxLayer", 302, kCode),
    refused("JaxLayer", 302, kCode),
    refused("Lambda", 300, kCode),
    refused("TorchModuleWrapper", 300, kCode),
    refused("TFSMLayer", 300, kSavedModel),
    refused("ContrastLimitedAdaptiveHistogramEqualization", 314, kPrepares),
    refused("Equalization", 308, kPrepares),
    keras_hub_refused("MaskedLMMaskGenerator", kPrepares),
    keras_hub_refused("MultiSegmentPacker", kPrepares),
    refused("Pipeline", 306, kPrepares),
    keras_hub_refused("RandomDeletion", kPrepares),
    keras_hub_refused("RandomSwap", kPrepares),
    keras_hub_refused("StartEndPacker", kPrepares),
    keras_hub_refused("AnchorGenerator", kBoxes),
    keras_hub_refused("BoxMatcher", kBoxes),
    keras_hub_refused("NonMaxSuppression", kBoxes),
};

}  // namespace

Family refused_layers() { return kRefusedLayers; }

std::string_view missing_family(std::string_view class_name) {
  const auto begins = [&](const MissingFamily& family) { return class_name.starts_with(family.stem); };
  const auto* const found = std::ranges::find_if(kMissingFamilies, begins);
  return found == kMissingFamilies.end() ? std::string_view() : found->why;
}

bool carries_code(const ClassInfo& info) { return info.refused == kCode; }

}  // namespace attn::keras
