// Translates TensorFlow functions in the graphs of Keras 2 models (TFOpLambda, SlicingOpLambda) to operations of
// keras.ops.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/json.h"

namespace attn::keras {

/// Returns {"class_name": "__keras_tensor__", …}, the form of a tensor in an argument of Keras 3.
[[nodiscard]] Json keras_tensor(const std::string& layer, std::int64_t node, std::int64_t tensor);
[[nodiscard]] bool is_keras_tensor(const Json& json);
/// Converts lists of numbers to constant arrays, as in arguments of a layer or operation.
[[nodiscard]] Json as_argument(Json value);

[[nodiscard]] bool is_operation_class(std::string_view class_name);

struct TfCall;
struct TfFunction;

/// The operations of one model, in the order of its layers.
class OperationTranslator {
 public:
  /// `names` are the names of all layers, which inserted operations avoid.
  explicit OperationTranslator(std::set<std::string> names) : names_(std::move(names)) {}

  /// Returns the operations for a TFOpLambda or SlicingOpLambda. The last operation has the layer's name; there are
  /// none for a layer that only reads a shape. `first` and `arguments` belong to the layer's only call. Throws Error
  /// (bad_input).
  [[nodiscard]] std::vector<Json> translate(const Ref& layer, const Json& first, const Json& arguments);

 private:
  /// A part of a tensor's shape that a graph may use as a tensor.
  struct Length {
    std::optional<std::int64_t> axis;  ///< the axis in tf.shape(x)[axis]; empty: all of tf.shape(x)
  };
  [[nodiscard]] std::optional<Length> length_of(const Json& tensor) const;
  [[nodiscard]] std::optional<Length> measured(const TfCall& call) const;
  [[nodiscard]] Json converted(const TfCall& call, const TfFunction& function) const;
  std::vector<Json> special(const TfCall& call);
  std::vector<Json> matmul(const TfCall& call);
  [[nodiscard]] Json reshape(const TfCall& call) const;
  std::string fresh_name(const std::string& wanted);

  std::set<std::string> names_;
  std::map<std::string, Length> lengths_;
  // Names of layers that are tf.unstack(tf.shape(x)); each of their results is one length.
  std::set<std::string> unstacked_;
};

}  // namespace attn::keras
