#include "attn/generate/uncached_decoder.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "attn/base/error.h"
#include "attn/run/session.h"

namespace attn::generate {
namespace {

/// Returns the rows of the table that an integer input (rows, length) indexes; empty if it indexes none.
std::optional<Dim> table_rows(const graph::Graph& graph, graph::ValueId input) {
  if (is_floating(graph.value(input).dtype) || graph.value(input).shape.rank() != 2) return std::nullopt;
  for (const graph::Node& node : graph.nodes) {
    if (std::holds_alternative<graph::Cast>(node.op) && node.inputs.front() == input) {
      if (const auto rows = table_rows(graph, node.outputs.front())) return rows;
    }
    const bool chooses = std::holds_alternative<graph::Gather>(node.op) && node.inputs[1] == input;
    if (chooses) return graph.value(node.inputs.front()).shape[0];
  }
  return std::nullopt;
}

/// Returns whether the output is computed by a softmax.
bool is_softmax(const graph::Graph& graph, graph::ValueId output) {
  for (const graph::Node& node : graph.nodes) {
    if (node.outputs.front() != output) continue;
    if (std::holds_alternative<graph::Cast>(node.op) || std::holds_alternative<graph::Reshape>(node.op))
      return is_softmax(graph, node.inputs.front());
    const auto* softmax = std::get_if<graph::Softmax>(&node.op);
    return softmax != nullptr && softmax->kind == graph::SoftmaxKind::softmax;
  }
  return false;
}

}  // namespace

SequenceInputs sequence_inputs(const graph::Graph& graph, const std::string& name) {
  const auto refuse = [&](std::string_view what) { return bad_input("{}: {}, so it cannot generate", name, what); };
  if (graph.outputs.size() != 1) throw refuse("it does not have exactly one output");
  const graph::Value& output = graph.value(graph.outputs.front().value);
  if (output.shape.rank() != 3 || !is_floating(output.dtype))
    throw refuse("its output is not logits (batch, length, vocabulary)");
  SequenceInputs out;
  bool found = false;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.value(graph.inputs[i]).name == "padding_mask") {
      out.mask = i;
      continue;
    }
    const auto rows = table_rows(graph, graph.inputs[i]);
    if (!rows) throw refuse("an input is not token ids");
    if (graph.value(graph.inputs[i]).shape[1] != output.shape[1] || *rows != output.shape[2]) continue;
    out.tokens = i;
    found = true;
  }
  if (!found) throw refuse("no input matches the length and the vocabulary of its output");
  const std::size_t sequences = graph.inputs.size() - (out.mask ? 1 : 0);
  if (sequences > 2 || (sequences == 2 && out.mask))
    throw refuse("it has inputs other than a sequence and an encoder's sequence");
  if (sequences == 2) out.encoder = 1 - out.tokens;
  return out;
}

UncachedDecoder::UncachedDecoder(const backends::Backend& backend, graph::Graph graph, std::vector<Tensor> weights,
                                 const SequenceInputs& inputs, Dim branches,
                                 const std::vector<std::vector<Token>>& encoder_tokens,
                                 const backends::CompileOptions& options, const std::vector<NamedTensor>& arrays)
    : tokens_input_(inputs.tokens), mask_input_(inputs.mask) {
  const graph::ValueId output = graph.outputs.front().value;
  const Shape shape = graph.value(output).shape;
  rows_ = shape[0];
  capacity_ = shape[1];
  vocabulary_size_ = shape[2];
  gives_probabilities_ = is_softmax(graph, output);
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& input = graph.value(id);
    const auto given = std::ranges::find(arrays, input.name, &NamedTensor::name);
    inputs_.push_back(given == arrays.end() ? Tensor(input.dtype, input.shape) : given->tensor);
  }
  if (inputs.encoder) {
    const Tensor& array = inputs_[*inputs.encoder];
    const Dim length = array.shape()[1];
    for (Dim row = 0; row < rows_; ++row) {
      const auto& tokens = encoder_tokens[static_cast<std::size_t>(row / branches)];
      if (std::ssize(tokens) > length)
        throw bad_usage("{} tokens were given for an encoder with {} positions", tokens.size(), length);
      for (Dim i = 0; i < length; ++i)
        array.set(row * length + i, i < std::ssize(tokens) ? tokens[static_cast<std::size_t>(i)] : 0);
    }
  }
  tokens_.resize(static_cast<std::size_t>(rows_));
  own_.resize(static_cast<std::size_t>(rows_));
  session_ = std::make_unique<run::Session>(backend, std::move(graph), std::move(weights), options);
}

UncachedDecoder::~UncachedDecoder() = default;

void UncachedDecoder::run(Token filler) {
  const Tensor& array = inputs_[tokens_input_];
  for (Dim row = 0; row < rows_; ++row) {
    const auto& tokens = tokens_[static_cast<std::size_t>(row)];
    for (Dim i = 0; i < capacity_; ++i) {
      const bool known = i < std::ssize(tokens);
      array.set(row * capacity_ + i, known ? tokens[static_cast<std::size_t>(i)] : filler);
      if (mask_input_) inputs_[*mask_input_].set(row * capacity_ + i, known ? 1.0 : 0.0);
    }
  }
  session_->run(inputs_);
  output_ = session_->outputs().front().tensor;
}

/// Appends the tokens of the step to the contexts that its sources name.
void UncachedDecoder::place(const Advance& step) {
  const Dim each = rows_ / step.rows;
  for (Dim row = 0; row < rows_; ++row) {
    const Dim of = row / each;  // the row of the step that this row continues
    std::vector<Token>& tokens = tokens_[static_cast<std::size_t>(row)];
    std::vector<Token>& own = own_[static_cast<std::size_t>(row)];
    own.resize(static_cast<std::size_t>(step.position));
    tokens = own;
    for (Dim p = 0; p < step.position && !step.sources.empty(); ++p) {
      const auto source = static_cast<std::size_t>(step.sources[static_cast<std::size_t>(of * step.position + p)]);
      tokens[static_cast<std::size_t>(p)] = own_[source][static_cast<std::size_t>(p)];
    }
    const auto given =
        step.tokens.subspan(static_cast<std::size_t>(of * step.count), static_cast<std::size_t>(step.count));
    tokens.insert(tokens.end(), given.begin(), given.end());
    own.insert(own.end(), given.begin(), given.end());
  }
}

/// Returns the logits that the step requests. For a softmax output, ln p is used.
Tensor UncachedDecoder::asked(const Advance& step) const {
  const Dim count = step.every_position ? step.count : 1, each = rows_ / step.rows;
  Tensor logits(DType::float32, {step.rows, count, vocabulary_size_});
  const auto to = logits.as<float>();
  for (Dim row = 0; row < step.rows; ++row) {
    for (Dim i = 0; i < count; ++i) {
      const Dim position = step.position + step.count - count + i;
      const Dim from = (row * each * capacity_ + position) * vocabulary_size_,
                at = (row * count + i) * vocabulary_size_;
      for (Dim v = 0; v < vocabulary_size_; ++v) {
        const double value = output_.at(from + v);
        to[static_cast<std::size_t>(at + v)] = static_cast<float>(gives_probabilities_ ? std::log(value) : value);
      }
    }
  }
  return logits;
}

DecoderOutput UncachedDecoder::advance(const Advance& step) {
  if (step.position + step.count > capacity_)
    throw internal_error("positions up to {} were requested from a decoder with {}", step.position + step.count,
                         capacity_);
  place(step);
  if (!is_checked_) check_causal(step);
  run(0);
  return {asked(step), {}};
}

/// Checks that tokens after the current ones do not change the result.
void UncachedDecoder::check_causal(const Advance& step) {
  is_checked_ = true;
  run(0);
  const Tensor padded = asked(step);
  run(static_cast<Token>(std::min<Dim>(1, vocabulary_size_ - 1)));
  const Tensor filled = asked(step);
  double most = 0.0, size = 0.0;
  for (std::int64_t i = 0; i < padded.size(); ++i) {
    const double x = padded.at(i), y = filled.at(i);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    most = std::max(most, std::abs(x - y));
    size = std::max(size, std::abs(x));
  }
  constexpr double kRounding = 1e-2;  // for half precision; a model that is not causal differs by far more
  if (most > kRounding * std::max(1.0, size))
    throw bad_input(
        "the model is not causal: its output at a position depends on later tokens, so it cannot predict the next one");
}

}  // namespace attn::generate
