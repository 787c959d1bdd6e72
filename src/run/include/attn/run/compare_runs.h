// Compares two passes of a model, or a pass and a file of expected arrays, array by array.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/run/advance.h"
#include "attn/run/compare.h"
#include "attn/run/difference.h"

namespace attn::run {

/// A named array of a pass.
struct PassArray {
  std::string name;        ///< as in LayerArray; for an output of the model, the name of the output
  std::string class_name;  ///< class of the layer; empty for outputs of the model
  graph::ValueId value = graph::kNone;
  Tensor tensor;
  [[nodiscard]] bool is_output() const { return class_name.empty(); }
};

/// Runs the graph and returns its outputs. If `layers` is set, a second pass without fusion across layer outputs
/// records these, and they come first, in execution order. `advance` counts passes.
[[nodiscard]] std::vector<PassArray> record_pass(const backends::Backend& backend, const graph::Graph& graph,
                                                 const std::vector<Tensor>& weights, std::span<const Tensor> inputs,
                                                 const backends::CompileOptions& options, bool layers,
                                                 const Advance& advance = {});

/// A tolerance for arrays of any scale. Outputs of a softmax over many classes are small, and must not pass only
/// because they are smaller than atol.
struct ToleranceRule {
  double rtol = 0;
  double atol = 0;
  bool of_rms = false;  ///< atol is relative to the root mean square of the expected array
};

/// Returns the largest expected difference between whole passes of correct programs that compute in this dtype.
/// Encoders with 12 blocks differ from float32 by 1.3 % of the root mean square in bfloat16 and by 0.16 % in float16;
/// float32 in oneDNN differs from the reference by 2e-6. Single elements differ by up to 8 times that.
[[nodiscard]] ToleranceRule usual_tolerance(DType dtype);
/// Returns the largest expected difference between a float pass and one whose weights and activations are quantized to
/// this number of bits.
[[nodiscard]] ToleranceRule quantized_tolerance(int bits);
/// Returns the coarsest floating dtype of a pass. Matrix products below the highest precision count as float16 (high:
/// TF32 has as many digits) or bfloat16 (medium).
[[nodiscard]] DType coarsest_dtype(const graph::Graph& graph, backends::MatmulPrecision precision);

struct ArrayComparison {
  std::string name, class_name;  ///< name and class as in PassArray
  DType expected_dtype = DType::float32, got_dtype = DType::float32;
  Shape shape;
  Tolerance tolerance;
  OutputComparison values;
  // Set if the values could be compared:
  Similarity similarity;
  DType steps_dtype = DType::float32;  ///< `max_steps` counts steps (ULP) of this dtype, the coarser of the two
  std::uint64_t max_steps = 0;
  Histogram histogram;
  [[nodiscard]] bool is_output() const { return class_name.empty(); }
};

struct RunComparison {
  std::vector<ArrayComparison> arrays;  ///< layers in execution order, then the outputs
  /// Arrays of the file for parts of layers that have no counterpart here, and layers that the file lacks.
  std::vector<std::string> finer, absent;

  [[nodiscard]] bool equal() const;
  /// Returns the first array that differs, otherwise null.
  [[nodiscard]] const ArrayComparison* first() const;
};

/// Integer and bool arrays agree if they are equal, whatever the tolerance. `advance` counts arrays of `got`.
[[nodiscard]] RunComparison compare_passes(const std::vector<PassArray>& expected, const std::vector<PassArray>& got,
                                           const ToleranceRule& tolerance, const Advance& advance = {});

/// Compares a pass with the arrays of a file, by name. The file must contain every output, as itself or as the layer
/// that computes it. Every array of the file must have a counterpart, except `inputs` (the names of the model's inputs)
/// and parts of a layer that have none here. Names with other numbers ("get_item_3") are matched in order. A file with
/// one array of an unknown name is the model's single output. `advance` counts arrays of `got`. Throws Error
/// (bad_input) if nothing matches; `file` is the name in messages.
[[nodiscard]] RunComparison compare_with_file(const std::vector<NamedTensor>& expected,
                                              const std::vector<PassArray>& got, const std::vector<std::string>& inputs,
                                              const ToleranceRule& tolerance, const std::string& file,
                                              const Advance& advance = {});

}  // namespace attn::run
