#include "attn/run/compare_runs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/run/layer_arrays.h"
#include "attn/run/session.h"

namespace attn::run {
namespace {

/// Copies an array of a pass, which is a view of the session's memory.
Tensor copied(const Tensor& tensor) {
  Tensor out(tensor.dtype(), tensor.shape());
  if (tensor.bytes() > 0) std::memcpy(out.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  return out;
}

/// Returns the root mean square of the finite elements.
double root_mean_square(const Tensor& tensor) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.at(i);
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

ArrayComparison compare_array(const PassArray& got, const Tensor& expected, const ToleranceRule& rule) {
  ArrayComparison out;
  out.name = got.name;
  out.class_name = got.class_name;
  out.expected_dtype = expected.dtype();
  out.got_dtype = got.tensor.dtype();
  out.shape = got.tensor.shape();
  const bool exact = !is_floating(out.expected_dtype) && !is_floating(out.got_dtype);
  out.tolerance = {0, 0};
  if (!exact) out.tolerance = {rule.rtol, rule.of_rms ? rule.atol * root_mean_square(expected) : rule.atol};
  out.values = compare(got.name, expected, got.tensor, out.tolerance);
  if (!out.values.problem.empty()) return out;
  out.similarity = similarity(expected, got.tensor);
  out.steps_dtype = coarser(out.expected_dtype, out.got_dtype);
  if (!exact) out.max_steps = most_steps(expected, got.tensor, out.steps_dtype);
  out.histogram = histogram(expected, got.tensor);
  return out;
}

ArrayComparison problem(const std::string& name, const std::string& class_name, std::string what) {
  ArrayComparison out;
  out.name = name;
  out.class_name = class_name;
  out.values.name = name;
  out.values.problem = std::move(what);
  return out;
}

/// Returns whether the name belongs to a part of one of the layers, such as "encoder/attention/query" or
/// "encoder[0][1]" of "encoder".
bool is_part_of(const std::string& name, const std::set<std::string>& layers) {
  for (auto end = name.find_first_of("/["); end != std::string::npos; end = name.find_first_of("/[", end + 1))
    if (layers.contains(name.substr(0, end))) return true;
  return false;
}

/// Returns "get_item" for "get_item_3": Keras appends a number to make a name unique.
std::string without_number(std::string name) {
  const auto last = name.find_last_not_of("0123456789");
  if (last != std::string::npos && last + 1 < name.size() && name[last] == '_') name.resize(last);
  return name;
}

/// The arrays of a file whose names have other numbers than this program's, in order.
class Renumbered {
 public:
  void add(const NamedTensor& array) { left_[without_number(array.name)].push_back(&array); }
  /// Returns the first unmatched array whose name differs from this one's only in its number, if the shapes agree;
  /// otherwise null.
  const NamedTensor* take(const PassArray& array) {
    const auto found = left_.find(without_number(array.name));
    if (found == left_.end() || found->second.empty()) return nullptr;
    const NamedTensor* first = found->second.front();
    if (first->tensor.shape() != array.tensor.shape()) return nullptr;
    found->second.erase(found->second.begin());
    return first;
  }

 private:
  std::map<std::string, std::vector<const NamedTensor*>> left_;
};

}  // namespace

std::vector<PassArray> record_pass(const backends::Backend& backend, const graph::Graph& graph,
                                   const std::vector<Tensor>& weights, std::span<const Tensor> inputs,
                                   const backends::CompileOptions& options, bool layers, const Advance& advance) {
  std::vector<PassArray> out;
  if (layers) {
    Session session(backend, graph, weights, options, Keep::layer_outputs);
    session.run(inputs, advance);
    for (const LayerArray& array : layer_arrays(graph, session.layer_outputs()))
      out.push_back({array.name, array.class_name, array.from.value, copied(array.from.tensor)});
  }
  Session session(backend, graph, weights, options);
  session.run(inputs, advance);
  const std::vector<NamedTensor> outputs = session.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    out.push_back({outputs[i].name, "", graph.outputs[i].value, copied(outputs[i].tensor)});
  return out;
}

ToleranceRule usual_tolerance(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return {1e-9, 1e-9, true};
    case DType::float16:
      return {1e-2, 2e-2, true};
    case DType::bfloat16:
      return {5e-2, 1e-1, true};
    default:
      return {1e-4, 1e-4, true};
  }
}

ToleranceRule quantized_tolerance(int bits) {
  // The error of a weight is up to half of a step. A step is 2^(1 − bits) times the largest weight in the weight's
  // column.
  return bits >= 8 ? ToleranceRule{5e-2, 2e-1, true} : ToleranceRule{5e-1, 1.0, true};
}

DType coarsest_dtype(const graph::Graph& graph, backends::MatmulPrecision precision) {
  DType out = DType::float64;
  if (precision == backends::MatmulPrecision::high) out = DType::float16;
  if (precision == backends::MatmulPrecision::medium) out = DType::bfloat16;
  for (const graph::Node& node : graph.nodes)
    for (const graph::ValueId output : node.outputs) out = coarser(out, graph.value(output).dtype);
  return out;
}

bool RunComparison::equal() const { return first() == nullptr; }

const ArrayComparison* RunComparison::first() const {
  const auto found = std::find_if(arrays.begin(), arrays.end(), [](const auto& array) { return !array.values.pass; });
  return found == arrays.end() ? nullptr : &*found;
}

RunComparison compare_passes(const std::vector<PassArray>& expected, const std::vector<PassArray>& got,
                             const ToleranceRule& tolerance, const Advance& advance) {
  using Key = std::pair<std::string_view, bool>;
  std::map<Key, const PassArray*> partners;
  for (const PassArray& array : expected) partners.emplace(Key(array.name, array.is_output()), &array);
  RunComparison out;
  for (const PassArray& array : got) {
    const auto partner = partners.find({array.name, array.is_output()});
    if (partner == partners.end())
      throw internal_error("the passes have different arrays: '{}'", printable(array.name));
    out.arrays.push_back(compare_array(array, partner->second->tensor, tolerance));
    if (advance) advance(1);
  }
  return out;
}

RunComparison compare_with_file(const std::vector<NamedTensor>& expected, const std::vector<PassArray>& got,
                                const std::vector<std::string>& inputs, const ToleranceRule& tolerance,
                                const std::string& file, const Advance& advance) {
  std::map<std::string_view, const NamedTensor*> unused;
  for (const NamedTensor& array : expected) unused.emplace(array.name, &array);
  for (const std::string& input : inputs) unused.erase(input);
  const std::map<std::string_view, const NamedTensor*> arrays = unused;

  std::set<std::string> layers;
  std::vector<std::string> names;
  for (const PassArray& array : got) {
    if (!array.is_output()) layers.insert(array.name);
    names.push_back(array.name);
    unused.erase(array.name);
  }
  Renumbered renumbered;
  for (const NamedTensor& array : expected)
    if (unused.contains(array.name) && !is_part_of(array.name, layers)) renumbered.add(array);

  RunComparison out;
  std::map<graph::ValueId, const Tensor*> of_layers;
  std::vector<const PassArray*> uncovered;
  for (const PassArray& array : got) {
    const auto same_name = arrays.find(array.name);
    const NamedTensor* found = same_name != arrays.end() ? same_name->second : nullptr;
    if (found == nullptr && !array.is_output()) found = renumbered.take(array);
    if (found != nullptr) {
      out.arrays.push_back(compare_array(array, found->tensor, tolerance));
      of_layers.emplace(array.value, &found->tensor);
      unused.erase(found->name);
    } else if (const auto layer = of_layers.find(array.value); array.is_output() && layer != of_layers.end()) {
      out.arrays.push_back(compare_array(array, *layer->second, tolerance));
    } else if (array.is_output()) {
      uncovered.push_back(&array);
    } else {
      out.absent.push_back(array.name);
    }
    if (advance) advance(1);
  }
  if (out.arrays.empty() && uncovered.size() == 1 && unused.size() == 1) {
    out.arrays.push_back(compare_array(*uncovered[0], unused.begin()->second->tensor, tolerance));
    return out;
  }
  if (out.arrays.empty())
    throw bad_input("{}: contains no array of a layer or output of the model; it has {}", printable(file),
                    printable(join(names, ", ")));
  for (const PassArray* array : uncovered)
    out.arrays.push_back(problem(array->name, "", "the file has no array of this name"));
  for (const auto& [name, array] : unused) {
    if (is_part_of(array->name, layers)) {
      out.finer.push_back(array->name);
    } else {
      out.arrays.push_back(problem(
          array->name, "-",
          "the model has no layer or output of this name" + did_you_mean(name, std::span<const std::string>(names))));
    }
  }
  return out;
}

}  // namespace attn::run
