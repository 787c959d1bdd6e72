// Two passes of a model, or a pass and a file of what it should have given, array by array.
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

/// An array of a pass.
struct PassArray {
  std::string name;        ///< as LayerArray names it; of an output of the model the output's
  std::string class_name;  ///< of the layer; empty for an output of the model
  graph::ValueId value = graph::kNone;
  Tensor tensor;
  [[nodiscard]] bool is_output() const { return class_name.empty(); }
};

/// Runs the graph: the outputs as they are in any run, and before them, where `layers` are wanted, the layers' outputs
/// of a second pass, in which nothing is fused over them. In the order of execution. `advance` counts passes.
[[nodiscard]] std::vector<PassArray> record_pass(const backends::Backend& backend, const graph::Graph& graph,
                                                 const std::vector<Tensor>& weights, std::span<const Tensor> inputs,
                                                 const backends::CompileOptions& options, bool layers,
                                                 const Advance& advance = {});

/// A tolerance for arrays of any scale: the outputs of a softmax over many classes are small, and nothing may pass for
/// being smaller than atol.
struct ToleranceRule {
  double rtol = 0;
  double atol = 0;
  bool of_rms = false;  ///< atol counts in root mean squares of what is expected
};

/// By how much whole passes of correct programs may differ that compute in this floating dtype. Encoders of 12 blocks
/// differ from float32 by 1.3 % of the root mean square in bfloat16, and by 0.16 % in float16; oneDNN's float32 differs
/// from the reference by 2e-6. Single elements are off by up to 8 times that.
[[nodiscard]] ToleranceRule usual_tolerance(DType dtype);
/// The same for a pass with weights of so many bits, and rows that are rounded to as many, beside one with floats.
[[nodiscard]] ToleranceRule quantized_tolerance(int bits);
/// The coarsest floating dtype that a pass computes in; products of less than the highest precision count as those of
/// float16 (high: TF32 has as many digits) and bfloat16 (medium).
[[nodiscard]] DType coarsest_dtype(const graph::Graph& graph, backends::MatmulPrecision precision);

struct ArrayComparison {
  std::string name, class_name;  ///< as in PassArray
  DType expected_dtype = DType::float32, got_dtype = DType::float32;
  Shape shape;
  Tolerance tolerance;
  OutputComparison values;
  // Where the values could be compared:
  Likeness likeness;
  DType steps_dtype = DType::float32;  ///< the coarser of the two, whose steps are counted
  std::uint64_t max_steps = 0;
  Histogram histogram;
  [[nodiscard]] bool is_output() const { return class_name.empty(); }
};

struct RunComparison {
  std::vector<ArrayComparison> arrays;  ///< layers in the order of execution, then the outputs
  /// What a file has beside: arrays of parts of layers that have none here; and the layers that it lacks.
  std::vector<std::string> finer, absent;

  [[nodiscard]] bool equal() const;
  /// The first that differs, else null.
  [[nodiscard]] const ArrayComparison* first() const;
};

/// Arrays of integers and bools agree where they are equal, whatever the tolerance. `advance` counts arrays of `got`.
[[nodiscard]] RunComparison compare_passes(const std::vector<PassArray>& expected, const std::vector<PassArray>& got,
                                           const ToleranceRule& tolerance, const Advance& advance = {});

/// A pass against the arrays of a file, by name. Every output must be among them, itself or as the layer that gives it,
/// and every array must have a counterpart, but for `inputs` (the names of the model's) and for parts of a layer that
/// have none here. What Keras has numbered otherwise ("get_item_3") is taken in order. A file of one array of another
/// name is the model's one output. `advance` counts arrays of `got`. Throws Error (bad_input) where the file has
/// nothing of the pass; `file` names it.
[[nodiscard]] RunComparison compare_with_file(const std::vector<NamedTensor>& expected,
                                              const std::vector<PassArray>& got, const std::vector<std::string>& inputs,
                                              const ToleranceRule& tolerance, const std::string& file,
                                              const Advance& advance = {});

}  // namespace attn::run
