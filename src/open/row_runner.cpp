#include "attn/open/row_runner.h"

#include <algorithm>
#include <cstring>

#include "attn/base/error.h"
#include "attn/base/rows.h"
#include "attn/base/text.h"
#include "attn/io/array_file.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/session.h"
#include "attn/run/inputs.h"

namespace attn::open {
namespace {

/// The number of sessions that are kept. They are for the usual number of rows, and for the remaining rows at the end
/// of a file.
constexpr std::size_t kSessions = 2;
/// Returns the number of rows, which all arrays must have as their first axis. Throws Error (bad_input) if they differ.
std::int64_t count_rows(const std::map<std::string, Tensor>& arrays, const std::string& file) {
  std::optional<std::int64_t> rows;
  for (const auto& [name, array] : arrays) {
    const Shape& shape = array.shape();
    if (shape.rank() == 0 || (rows && *rows != shape[0]))
      throw bad_input("{}: '{}' has the shape {}: rows can be split only if all arrays have the same number",
                      printable(file), printable(name), shape.str());
    rows = shape[0];
  }
  return rows.value_or(0);
}

}  // namespace

RowRunner::RowRunner(const std::optional<std::string>& model, const Execution& execution, const Listener& listener)
    : execution_(execution),
      listener_(listener),
      backend_(open_backend(execution.device, execution.backend, listener)),
      loaded_(load_model(model, execution, listener)),
      weights_(load_weights(loaded_, execution, listener)) {}

RowRunner::Result RowRunner::run(const std::string& file) {
  Execution of_file = execution_;
  of_file.batch.reset();  // execution.batch is the number of rows that run at a time, not the batch of the file
  const GivenInputs given = read_inputs(loaded_.model, {file}, of_file, has_warned_ ? kSilent : listener_);
  has_warned_ = has_warned_ || !given.others.empty();
  const std::map<std::string, Tensor>& arrays = given.arrays;
  Result result;
  if (!execution_.batch) {
    result.outputs = decoded(run_rows(arrays));
    const Shape first = arrays.empty() ? Shape{} : arrays.begin()->second.shape();
    result.rows = first.rank() == 0 ? 1 : first[0];
    return result;
  }
  const std::int64_t step = *execution_.batch;
  std::vector<NamedTensor> outputs;
  result.rows = count_rows(arrays, file);
  for (std::int64_t from = 0; from == 0 || from < result.rows; from += step) {
    const std::int64_t to = std::min(from + step, result.rows);
    std::map<std::string, Tensor> some;
    for (const auto& [name, array] : arrays) some.emplace(name, rows_view(array, from, to - from));
    for (const NamedTensor& part : run_rows(some)) {
      const Shape& shape = part.tensor.shape();
      if (shape.rank() == 0 || shape[0] != to - from)
        throw bad_input("{}: the output '{}' {} does not have one row per input row, so rows cannot be split",
                        printable(file), printable(part.name), shape.str());
      if (from == 0) {
        Shape whole = shape;
        whole[0] = result.rows;
        outputs.push_back({part.name, Tensor(part.tensor.dtype(), whole)});
      }
      const auto output = std::ranges::find(outputs, part.name, &NamedTensor::name);
      const Tensor place = rows_view(output->tensor, from, to - from);
      if (place.bytes() > 0) std::memcpy(place.data(), part.tensor.data(), static_cast<std::size_t>(place.bytes()));
    }
  }
  result.outputs = decoded(outputs);
  return result;
}

graph::Graph RowRunner::lowered(const keras::LowerOptions& how) {
  graph::Graph out = loaded_.model.lower(how);
  names_ = run::output_names(out);
  return out;
}

Outputs RowRunner::decoded(const std::vector<NamedTensor>& outputs) const {
  Outputs out = decode_texts(texts_, outputs);
  run::rename_outputs(out.numbers, names_);
  run::rename_outputs(out.texts, names_);
  return out;
}

std::vector<NamedTensor> RowRunner::run_rows(const std::map<std::string, Tensor>& arrays) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, array] : arrays) shapes.emplace(name, array.shape());
  keras::LowerOptions lower;
  lower.batch = execution_.batch;
  lower.sequence_length = execution_.sequence_length;
  lower.dtype = execution_.dtype;
  lower.input_shapes = {shapes.begin(), shapes.end()};

  if (execution_.skip_padding) {  // such a graph is different for each number of rows that are not padding
    graph::Graph graph = lowered(lower);
    static_cast<void>(require_memory(loaded_, lower, graph, *backend_, execution_));
    std::vector<Tensor> inputs = run::make_inputs(graph, arrays, execution_.seed);
    skip_padding(graph, inputs, listener_);
    sessions_.clear();
    sessions_.emplace_back(
        shapes, std::make_unique<run::Session>(*backend_, std::move(graph), weights_, execution_.compile_options()));
    sessions_.back().second->run(inputs);
    return sessions_.back().second->outputs();
  }
  auto found = std::ranges::find(sessions_, shapes, [](const auto& session) { return session.first; });
  if (found == sessions_.end()) {
    graph::Graph graph = lowered(lower);
    if (sessions_.size() == kSessions) sessions_.erase(sessions_.begin());
    static_cast<void>(require_memory(loaded_, lower, graph, *backend_, execution_));
    sessions_.emplace_back(
        shapes, std::make_unique<run::Session>(*backend_, std::move(graph), weights_, execution_.compile_options()));
  } else {
    std::rotate(found, std::next(found), sessions_.end());
  }
  run::Session& session = *sessions_.back().second;
  session.run(run::make_inputs(session.graph(), arrays, execution_.seed));
  return session.outputs();
}

}  // namespace attn::open
