// Depth Anything, which estimates depths from the stages of a DINOv2 (keras_hub/src/models/depth_anything).
//
// Letters: B batch, H height, W width, D features.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "classes/layers/preprocessing/table.h"
#include "classes/ops/expression.h"
#include "classes/reading.h"
#include "config/bounds.h"
#include "families/blocks/images/vision_blocks.h"
#include "families/blocks/layer_record.h"
#include "families/model_family.h"
#include "model/tasks/task.h"

namespace attn::keras::depth_anything {
namespace {

using graph::Builder;
using graph::ValueId;

constexpr std::string_view kModule = "keras_hub.src.models.depth_anything.depth_anything_layers";

/// Interpolates rows and columns of images (B,H,W,D) linearly, such that the first and the last ones stay the same. The
/// result is float32, as TensorFlow's.
ValueId interpolated(Builder& b, ValueId image, Dim height, Dim width) {
  Expression x = Expression(b, image).cast(DType::float32);
  for (const int axis : {1, 2}) {
    const Dim given = x.shape()[axis], size = axis == 1 ? height : width;
    Tensor below = table(DType::int32, {size}, "the rows of an image"), above(DType::int32, {size});
    Shape along{1, 1, 1, 1};
    along[axis] = size;
    Tensor shares(DType::float32, along);
    const float step = size > 1 ? static_cast<float>(given - 1) / static_cast<float>(size - 1) : 0.0F;
    for (Dim i = 0; i < size; ++i) {
      const float at = static_cast<float>(i) * step;
      const Dim first = std::min(static_cast<Dim>(at), given - 1);
      below.set(i, static_cast<double>(first));
      above.set(i, static_cast<double>(std::min(first + 1, given - 1)));
      shares.set(i, at - std::floor(at));
    }
    const auto taken = [&](Tensor& rows) {
      return Expression(b, b.apply(graph::Gather{axis}, {x, b.constant(std::move(rows))}));
    };
    const Expression near = taken(below), far = taken(above);
    x = near + (far - near) * Expression(b, b.constant(std::move(shares)));
  }
  return x;
}

ValueId rectified(Builder& b, ValueId x) { return Activation::named("relu")->apply(b, x); }

/// Layers that convolve images with a margin of zeros.
class Convolving : public Composite {
 protected:
  Layer& make_convolution(const std::string& called, const std::string& attribute, std::int64_t filters,
                          std::int64_t size, bool biased = true, std::int64_t stride = 1) {
    return make("Conv2D", called, attribute,
                {{"filters", filters}, {"kernel_size", size}, {"strides", stride}, {"use_bias", biased}});
  }
  /// Returns the convolution of x with one more row and column of zeros at each side.
  static ValueId convolved(Call& call, Layer& convolution, ValueId x) {
    const ValueId wide = call.builder().apply(graph::Pad{graph::PadMode::constant, {0, 1, 1, 0}, {0, 1, 1, 0}}, {x});
    return apply(call, convolution, {Call::result(wide)})->id;
  }
};

/// The stages of an image encoder → images (B,H,W,D) that grow, each the sum of a stage and the one before.
class DepthAnythingNeck final : public Convolving {
 public:
  void fields(Fields& f) override {
    f.required("patch_size", patch_size);
    f.required("image_size", image_size);
    f.required("backbone_hidden_dim", backbone_hidden_dim);
    f.required("neck_hidden_dims", neck_hidden_dims);
    f.required("reassemble_factors", reassemble_factors);
    f.required("fusion_hidden_dim", fusion_hidden_dim);
    f("num_cls_tokens", num_cls_tokens);
    f("num_register_tokens", num_register_tokens);
  }
  [[nodiscard]] bool takes_list() const override { return true; }

  void build(Weights&, Call&) override {
    const auto numbered = [](const char* key, std::size_t i) {
      return i == 0 ? std::string(key) : fmt::format("{}_{}", key, i);
    };
    for (std::size_t i = 0; i < stages(); ++i) {
      const std::string called = fmt::format("reassemble_stage_{}/", i);
      const std::string key = "reassemble_stage/" + numbered("depth_anything_reassemble_layer", i) + "/";
      const double factor = reassemble_factors[i];
      const std::int64_t dim = neck_hidden_dims[i];
      projections_.push_back(&make_convolution(called + "projection", key + "projection", dim, 1));
      const auto larger = static_cast<std::int64_t>(factor);
      if (factor > 1) {
        resizers_.push_back(&make("Conv2DTranspose", called + "resize", key + "resize",
                                  {{"filters", dim}, {"kernel_size", larger}, {"strides", larger}}));
      } else if (factor < 1) {
        resizers_.push_back(&make_convolution(called + "resize", key + "resize", dim, 3, true,
                                              static_cast<std::int64_t>(1.0 / factor)));
      } else {
        resizers_.push_back(nullptr);
      }
    }
    for (std::size_t i = 0; i < stages(); ++i)
      convolutions_.push_back(
          &make_convolution(fmt::format("convs_{}", i), "convs/" + numbered("conv2d", i), fusion_hidden_dim, 3, false));
    for (std::size_t i = 0; i < stages(); ++i) {
      const std::string called = fmt::format("fusion_stage_{}/", i);
      const std::string key = "fusion_stage/" + numbered("depth_anything_feature_fusion_layer", i) + "/";
      Fusion fusion;
      for (const auto& [part, layers] :
           {std::pair("residual_layer1/", &fusion.of_stage), {"residual_layer2/", &fusion.of_sum}})
        for (const char* convolution : {"convolution1", "convolution2"})
          layers->push_back(
              &make_convolution(called + part + convolution, key + part + convolution, fusion_hidden_dim, 3));
      fusion.projection = &make_convolution(called + "projection", key + "projection", fusion_hidden_dim, 1);
      fusions_.push_back(std::move(fusion));
    }
  }

  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const std::vector<TensorPtr> given = call.tensors("inputs");
    if (given.size() != stages()) throw bad_input("expected {} stages, got {}", stages(), given.size());
    const Dim rows = image_size.items[0] / patch_size, columns = image_size.items[1] / patch_size;
    std::vector<ValueId> images;
    for (std::size_t i = 0; i < stages(); ++i) {
      const ValueId cells = rows_between(b, given[i]->id, num_cls_tokens + num_register_tokens, std::nullopt);
      ValueId x = b.reshape(cells, {b.shape(cells)[0], rows, columns, backbone_hidden_dim});
      x = apply(call, *projections_[i], {Call::result(x)})->id;
      if (reassemble_factors[i] > 1) x = apply(call, *resizers_[i], {Call::result(x)})->id;
      if (reassemble_factors[i] < 1) x = convolved(call, *resizers_[i], x);
      images.push_back(convolved(call, *convolutions_[i], x));
    }
    ArgList out;
    ValueId x = graph::kNone;
    for (std::size_t i = 0; i < stages(); ++i) {
      const ValueId stage = images[stages() - 1 - i];
      const Fusion& fusion = fusions_[i];
      if (i == 0) {
        x = stage;
        // KerasHub builds these convolutions too, although it never calls them.
        if (!fusion.of_stage.front()->built) (void)activated(call, fusion.of_stage, stage);
      } else {
        x = b.binary(graph::BinaryFn::add, x, activated(call, fusion.of_stage, stage));
      }
      x = activated(call, fusion.of_sum, x);
      const double factor = i + 1 < stages() ? reassemble_factors[stages() - 2 - i].value : 2.0 * reassemble_factors[0];
      x = interpolated(b, x, scaled_size(rows, factor), scaled_size(columns, factor));
      x = apply(call, *fusion.projection, {Call::result(x)})->id;
      out.emplace_back(Call::result(x));
    }
    return out;
  }

 private:
  struct Fusion {
    std::vector<Layer*> of_stage, of_sum;
    Layer* projection = nullptr;
  };
  [[nodiscard]] std::size_t stages() const { return neck_hidden_dims.size(); }
  /// Returns x plus two convolutions of it, each behind relu.
  static ValueId activated(Call& call, const std::vector<Layer*>& convolutions, ValueId x) {
    Builder& b = call.builder();
    ValueId y = b.cast(x, convolutions.front()->policy.compute);
    const ValueId in = y;
    for (Layer* convolution : convolutions) y = convolved(call, *convolution, rectified(b, y));
    return b.binary(graph::BinaryFn::add, in, y);
  }

  Positive patch_size, backbone_hidden_dim, fusion_hidden_dim;
  Window image_size{{1, 1}};
  std::vector<Positive> neck_hidden_dims;
  std::vector<Number> reassemble_factors;
  std::int64_t num_cls_tokens = 1, num_register_tokens = 0;
  std::vector<Layer*> projections_, resizers_, convolutions_;
  std::vector<Fusion> fusions_;
};

/// One of the neck's images → depths (B,H,W,1).
class DepthAnythingDepthEstimationHead final : public Convolving {
 public:
  void fields(Fields& f) override {
    f.required("patch_size", patch_size);
    f.required("patch_height", patch_height);
    f.required("patch_width", patch_width);
    f.required("fusion_hidden_dim", fusion_hidden_dim);
    f.required("head_hidden_dim", head_hidden_dim);
    f.required("head_in_index", head_in_index);
  }
  [[nodiscard]] bool takes_list() const override { return true; }

  void build(Weights&, Call&) override {
    conv1_ = &make_convolution("conv1", "conv1", std::max<std::int64_t>(fusion_hidden_dim / 2, 1), 3);
    conv2_ = &make_convolution("conv2", "conv2", head_hidden_dim, 3);
    conv3_ = &make_convolution("conv3", "conv3", 1, 1);
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    Builder& b = call.builder();
    const std::vector<TensorPtr> given = call.tensors("inputs");
    const auto count = static_cast<std::int64_t>(given.size());
    const std::int64_t index = head_in_index < 0 ? head_in_index + count : head_in_index;
    if (index < 0 || index >= count) throw bad_input("head_in_index {} is outside of {} images", head_in_index, count);
    ValueId x = convolved(call, *conv1_, given[static_cast<std::size_t>(index)]->id);
    x = interpolated(b, x, patch_height * patch_size, patch_width * patch_size);
    x = convolved(call, *conv2_, x);
    return apply(call, *conv3_, {Call::result(rectified(b, x))});
  }

 private:
  Positive patch_size, patch_height, patch_width, fusion_hidden_dim, head_hidden_dim;
  std::int64_t head_in_index = -1;
  Layer* conv1_ = nullptr;
  Layer* conv2_ = nullptr;
  Layer* conv3_ = nullptr;
};

/// Multiplies by a number; without one, returns its input.
class Multiplier final : public Layer {
 public:
  void fields(Fields& f) override { f("multiplier", multiplier); }
  Arg call(Call& call) override {
    const Expression x(call.builder(), call.tensor("inputs")->id);
    return multiplier ? Arg(Call::result(x * multiplier->value)) : call.arg("inputs");
  }

 private:
  std::optional<Number> multiplier;
};

class DepthAnythingBackbone final : public Backbone {
 public:
  void fields(Fields& f) override {
    f.required("image_encoder", image_encoder_);
    f.required("reassemble_factors", reassemble_factors);
    f.required("neck_hidden_dims", neck_hidden_dims);
    f.required("fusion_hidden_dim", fusion_hidden_dim);
    f.required("head_hidden_dim", head_hidden_dim);
    f.required("head_in_index", head_in_index);
    f("feature_keys", feature_keys);
  }

 protected:
  void check_fields(const Ref& config) override {
    if (image_encoder_ == nullptr || image_encoder_->class_name() != "DINOV2Backbone")
      config["image_encoder"].fail("expected a DINOV2Backbone");
    const ArgDict& all = encoder().pyramid;
    if (!feature_keys) {
      feature_keys.emplace();
      for (const auto& [key, stage] : all) feature_keys->push_back(key);
    }
    for (const std::string& key : *feature_keys)
      if (std::ranges::none_of(all, [&](const auto& stage) { return stage.first == key; }))
        config["feature_keys"].fail(fmt::format("the encoder has no stage '{}'", printable(key)));
    const std::size_t stages = feature_keys->size();
    if (stages < 2 || reassemble_factors.size() != stages || neck_hidden_dims.size() != stages)
      config["reassemble_factors"].fail(
          fmt::format("expected two or more stages, a factor and a width for each of the {}", stages));
    for (const Number factor : reassemble_factors)
      if (factor < 0.01 || factor > 100.0) config["reassemble_factors"].fail("expected factors from 0.01 to 100");
  }

  void assemble() override {
    const Json of_encoder = layer_config(*image_encoder_, kNewest);
    const auto size = [&](const char* key) { return of_encoder.at(key).get<std::int64_t>(); };
    const std::int64_t patch_size = size("patch_size");
    ArgDict chosen;
    for (const auto& stage : encoder().pyramid)
      if (std::ranges::count(*feature_keys, stage.first) > 0)
        chosen.emplace_back(stage.first, encoder().stage(stage.second));
    Layer& extractor = extracted(encoder(), chosen);
    Json dims = Json::array(), factors = Json::array();
    for (const Positive dim : neck_hidden_dims) dims.push_back(dim.value);
    for (const Number factor : reassemble_factors) factors.push_back(factor.value);
    const Shape shape = encoder().input_shape();
    Layer& neck = layer("DepthAnythingNeck", "neck",
                        {{"patch_size", patch_size},
                         {"image_size", {shape[1], shape[2]}},
                         {"backbone_hidden_dim", size("hidden_dim")},
                         {"neck_hidden_dims", dims},
                         {"reassemble_factors", factors},
                         {"fusion_hidden_dim", fusion_hidden_dim.value},
                         {"num_register_tokens", size("num_register_tokens")}});
    Layer& head = layer("DepthAnythingDepthEstimationHead", "head",
                        {{"patch_size", patch_size},
                         {"patch_height", shape[1] / patch_size},
                         {"patch_width", shape[2] / patch_size},
                         {"fusion_hidden_dim", fusion_hidden_dim.value},
                         {"head_hidden_dim", head_hidden_dim.value},
                         {"head_in_index", head_in_index}});
    const TensorRef images = input("images", shape, DType::float32);
    const TensorRef features = call(extractor, {images});
    // The results of a functional model are numbered in the order of their names, and KerasHub's neck takes them in the
    // order of the stages.
    std::vector<std::string> names;
    for (const auto& stage : chosen) names.push_back(stage.first);
    std::sort(names.begin(), names.end());
    ArgList stages, images_of_neck;
    for (const auto& stage : chosen) {
      const auto index = std::find(names.begin(), names.end(), stage.first) - names.begin();
      stages.emplace_back(TensorRef{features.layer, features.node, static_cast<int>(index)});
    }
    const TensorRef grown = call(neck, {Arg(stages)});
    for (std::size_t i = 0; i < names.size(); ++i)
      images_of_neck.emplace_back(TensorRef{grown.layer, grown.node, static_cast<int>(i)});
    input_struct = images;
    output_struct = call(head, {Arg(images_of_neck)});
  }

 private:
  [[nodiscard]] PyramidBackbone& encoder() const { return dynamic_cast<PyramidBackbone&>(*image_encoder_); }

  LayerPtr image_encoder_;
  std::vector<Number> reassemble_factors;
  std::vector<Positive> neck_hidden_dims;
  Positive fusion_hidden_dim, head_hidden_dim;
  std::int64_t head_in_index = -1;
  std::optional<std::vector<std::string>> feature_keys;
};

/// Depths that are not negative, or from 0 to a maximum.
class DepthAnythingDepthEstimator final : public Task {
 public:
  void fields(Fields& f) override {
    f.required("depth_estimation_type", depth_estimation_type);
    f("min_depth", min_depth);
    f("max_depth", max_depth);
  }

 protected:
  [[nodiscard]] std::string_view kind() const override { return "DepthEstimator"; }
  void check_fields(const Ref& config) override {
    if (max_depth && depth_estimation_type.value == "relative")
      config["max_depth"].fail("relative depths have no maximum");
  }
  void assemble() override {
    TensorRef x = backbone_result();
    x = depth_estimation_type.value == "relative"
            ? call("ReLU", "output_activation", Json::object(), {x})
            : call("Activation", "output_activation", {{"activation", "sigmoid"}}, {x});
    x = call("Multiplier", "multiplier", {{"multiplier", max_depth ? Json(max_depth->value) : Json()}}, {x});
    output_struct = ArgDict{{"depths", call("Identity", "depths", Json::object(), {x})}};
  }

 private:
  Choice depth_estimation_type{"relative", {"relative", "metric"}};
  std::optional<Number> min_depth = Number(1e-7), max_depth;
};

constexpr std::array kLayers = {
    layer_record("DepthAnythingNeck", make_layer<DepthAnythingNeck>, kModule),
    layer_record("DepthAnythingDepthEstimationHead", make_layer<DepthAnythingDepthEstimationHead>, kModule),
    layer_record("Multiplier", make_layer<Multiplier>, "keras_hub.src.models.depth_estimator"),
};

constexpr std::array kModels = {
    model_record<DepthAnythingBackbone>("DepthAnythingBackbone",
                                        "keras_hub.src.models.depth_anything.depth_anything_backbone"),
    model_record<DepthAnythingDepthEstimator>("DepthAnythingDepthEstimator",
                                              "keras_hub.src.models.depth_anything.depth_anything_depth_estimator"),
};

}  // namespace

const ModelFamily& family() {
  static constexpr ModelFamily kFamily{.name = "depth_anything", .layers = kLayers, .models = kModels};
  return kFamily;
}

}  // namespace attn::keras::depth_anything
