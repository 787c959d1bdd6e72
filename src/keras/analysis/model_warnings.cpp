#include "analysis/model_warnings.h"

#include <cmath>
#include <limits>
#include <set>

#include "attn/base/text.h"
#include "classes/custom_layer.h"
#include "classes/reading.h"
#include "families/blocks/layer_classes.h"
#include "model/functional.h"
#include "model/structure.h"

namespace attn::keras {
namespace {

constexpr double kLargestHalf = 65504.0;

class Watcher {
 public:
  Watcher(const Document& document, std::vector<Problem>& problems) : document_(document), problems_(problems) {}

  void watch(Layer& layer) {
    if (!seen_.insert(&layer).second) return;
    if (as_custom(layer) != nullptr)
      warn(layer, fmt::format("{}; `attn run` rejects it; `attn flatten-script` prints a Python script that replaces "
                              "it by built-in layers",
                              carries_own_code(layer) ? "carries Python code, which is not run"
                                                      : "has a custom class, whose Python code is not run"));
    if (const auto heads = layer.heads()) watch_attention(layer, *heads);
    if (layer.info->counts_positions) watch_positions(layer);
    watch_constants(layer);
    if (const auto* model = dynamic_cast<const Functional*>(&layer)) {
      for (const auto& [twin, one] : model->ones())
        warn(*twin, "is shared with a nested model; Keras 3.15 saves such a model, but cannot load it again");
      for (Layer* inner : model->operations()) {
        if (inner->is_operation()) around_ = inputs_dtype(*model, *inner);
        watch(*inner);
      }
    } else {
      for (const Layer::Sublayer& sub : layer.sublayers()) watch(*sub.layer);
    }
  }

 private:
  /// Returns whether a custom layer has a class of Keras, so that only its config contains Python code: a Lambda, or a
  /// layer with a lambda in its config.
  static bool carries_own_code(const Layer& layer) { return layer_classes().find(layer.class_name()) != nullptr; }

  void warn(const Layer& layer, const std::string& what) {
    const std::string text = fmt::format("'{}' ({}) {}", printable(layer.name), layer.class_name(), what);
    Problem problem;
    if (layer.document == &document_) problem = document_.problem(layer.pointer, false, text);
    problem.message = text;
    problem.warning = true;
    add_problem(std::move(problem), problems_);
  }

  void watch_attention(const Layer& layer, const Layer::Heads& heads) {
    if (!layer.weights.empty()) {
      const std::int64_t width = layer.weights.front().shape[0];
      // The product of head size and heads can overflow; the quotient cannot.
      if (width % heads.count != 0) {
        warn(layer, fmt::format("has {} heads, which do not divide its width of {}: {} of {} make {}", heads.count,
                                width, heads.count, heads.size, product(heads.count, heads.size)));
      } else if (width / heads.count != heads.size) {
        warn(layer, fmt::format("has {} heads of size {}, {} in total, but its width is {}", heads.count, heads.size,
                                product(heads.count, heads.size), width));
      }
    }
    if (layer.policy.compute == DType::float16 && heads.scaled_late)
      warn(layer,
           "multiplies query and key in float16 before it scales them, as Keras does without dropout: a score over "
           "65504 becomes infinite and its row NaN");
  }

  static std::string product(std::int64_t a, std::int64_t b) {
    return with_commas(static_cast<UInt128>(a) * static_cast<UInt128>(b));
  }

  void watch_positions(const Layer& layer) {
    // The largest integer up to which all integers are exact in the compute dtype.
    const std::int64_t exact = layer.policy.compute == DType::float16    ? 2048
                               : layer.policy.compute == DType::bfloat16 ? 256
                                                                         : std::numeric_limits<std::int64_t>::max();
    if (layer.node_shapes.empty() || layer.node_shapes.front().empty()) return;
    const Shape& shape = layer.node_shapes.front().front();
    if (shape.rank() >= 2 && shape[-2] != kUnknown && shape[-2] > exact)
      warn(layer, fmt::format("counts {} positions in {}, where {} and {} are one number", with_commas(shape[-2]),
                              name_of(layer.policy.compute), exact, exact + 1));
  }

  /// Returns the compute dtype of an operation: that of the layers whose outputs it reads.
  static DType inputs_dtype(const Functional& model, const Layer& operation) {
    for (const NodeSpec& node : operation.nodes) {
      std::vector<TensorRef> refs;
      collect_refs(node.args, refs);
      for (const TensorRef& ref : refs) {
        const Layer* read = model.find(ref.layer);
        if (read != nullptr && !read->is_operation() && read->policy.compute == DType::float16) return DType::float16;
      }
    }
    return DType::float32;
  }

  /// Warns about numbers in calls and configs that are infinite in float16, such as masks of -1e9.
  void watch_constants(Layer& layer) {
    const DType compute = layer.is_operation() ? around_ : layer.policy.compute;
    if (compute != DType::float16) return;
    for (const NodeSpec& node : layer.nodes)
      for (const Arg* arg : {&node.args, &node.kwargs})
        if (const double beyond = beyond_half(*arg); beyond != 0)
          warn(layer,
               fmt::format("computes in float16 with {}, which is infinite there (over 65504)", python_repr(beyond)));
    for (const auto& [key, number] : layer.constants())
      if (std::abs(number) > kLargestHalf) warn(layer, fmt::format("has a {} beyond float16 (65504)", key));
  }

  static double beyond_half(const Arg& arg) {
    if (const auto* number = arg.as<double>()) return std::abs(*number) > kLargestHalf ? *number : 0;
    if (const auto* integer = arg.as<std::int64_t>())
      return std::abs(static_cast<double>(*integer)) > kLargestHalf ? static_cast<double>(*integer) : 0;
    if (const auto* list = arg.as<ArgList>())
      for (const Arg& item : *list)
        if (const double beyond = beyond_half(item); beyond != 0) return beyond;
    if (const auto* dict = arg.as<ArgDict>())
      for (const auto& [key, item] : *dict)
        if (const double beyond = beyond_half(item); beyond != 0) return beyond;
    return 0;
  }

  const Document& document_;
  std::vector<Problem>& problems_;
  std::set<const Layer*> seen_;
  DType around_ = DType::float32;
};

}  // namespace

void find_model_warnings(Layer& root, const Document& document, std::vector<Problem>& problems) {
  Watcher(document, problems).watch(root);
}

}  // namespace attn::keras
