#include "attn/probe/subject.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/base/error.h"
#include "attn/base/finite.h"
#include "attn/base/text.h"
#include "attn/open/memory.h"
#include "attn/open/session.h"
#include "attn/plan/passes.h"
#include "attn/probe/edits.h"
#include "attn/run/inputs.h"
#include "attn/run/memory.h"
#include "attn/tokenizers/ids.h"
#include "data_flow.h"

namespace attn::probe {
namespace {

using graph::ValueId;

enum class Role { tokens, encoder_tokens, mask, places, replacement, other };

/// Returns the meaning of each input (rows, length). An input of token ids indexes a table; KerasHub names it.
std::vector<Role> roles_of(const graph::Graph& graph, const open::LoadedModel& loaded) {
  std::vector<Role> out;
  const auto name = [&](ValueId id) -> const std::string& { return graph.value(id).name; };
  const bool named = std::ranges::any_of(graph.inputs, [&](ValueId id) { return name(id).ends_with("token_ids"); });
  int tokens = 0;
  for (const ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    if (value.name == kReplacement) {
      out.push_back(Role::replacement);
      continue;
    }
    if (value.shape.rank() != 2)
      throw bad_input("{}: expected a model that reads only texts, but the input '{}' of this {} has the shape {}",
                      loaded.file, printable(value.name), loaded.model.class_name(), value.shape.str());
    Role role = Role::other;
    if (named) {
      if (value.name.ends_with("token_ids"))
        role = value.name.starts_with("encoder_") ? Role::encoder_tokens : Role::tokens;
      else if (value.name.ends_with("mask"))
        role = Role::mask;
      else if (value.name == "mask_positions" || value.name == "position_ids")
        role = Role::places;  // a masked language model predicts every position
    } else if (run::indexed_rows(graph, id)) {
      role = Role::tokens;
    }
    tokens += role == Role::tokens ? 1 : 0;
    out.push_back(role);
  }
  if (tokens != 1)
    throw bad_input("{}: expected a model that reads only texts, but this {} has {} inputs of token ids", loaded.file,
                    loaded.model.class_name(), tokens);
  return out;
}

/// Throws Error (differs) for NaN or +∞ in the values of points, which no measure of them survives. A mask is −∞.
void require_numbers(const Points& points, const Values& values, bool scaled) {
  for (const Point& point : points.named) {
    const auto found = values.find(point.value);
    if (found == values.end() || all_finite(found->second)) continue;
    for (std::int64_t i = 0; i < found->second.size(); ++i)
      if (!(found->second.at(i) < std::numeric_limits<double>::infinity()))
        throw Error(ExitCode::differs,
                    fmt::format("{} has NaN or Inf, first at element {}; {}", point.name, i,
                                scaled ? "scale by smaller factors" : "run --check-finite names the layer"));
  }
}

std::int64_t length_of(Role role, const std::string& name, const Prompt& prompt) {
  const bool encoder = role == Role::encoder_tokens || name.starts_with("encoder_");
  return std::ssize(encoder ? prompt.encoder : prompt.ids);
}

}  // namespace

Subject::Subject(const open::LoadedModel& loaded, const open::Execution& execution, const backends::Backend& backend,
                 const open::Listener& listener, std::vector<Scaling> scalings)
    : loaded_(loaded),
      execution_(execution),
      backend_(backend),
      listener_(listener),
      scalings_(std::move(scalings)),
      compile_(execution.compile_options()),
      weights_([this] { return open::load_weights(loaded_, execution_, listener_); }) {
  const std::vector<std::string> names = loaded.model.array_names();
  has_encoder_ = std::ranges::find(names, "encoder_token_ids") != names.end();
  compile_.store = backend.make_store(compile_);
}

Lowered Subject::lower(std::int64_t rows, const Prompt& length) const {
  if (length.ids.empty() || (has_encoder_ && length.encoder.empty()))
    throw bad_usage("{}: a prompt needs at least one token{}", loaded_.file,
                    has_encoder_ ? " for the encoder and one for the decoder" : "");
  keras::LowerOptions options;
  options.batch = rows;
  options.sequence_length = std::ssize(length.ids);
  if (!open::is_quantization(execution_.dtype)) options.dtype = execution_.dtype;
  options.scores = true;
  if (has_encoder_)
    for (const std::string& name : loaded_.model.array_names())
      if (name.ends_with("token_ids") || name.ends_with("mask"))
        options.input_shapes[name] = Shape{rows, length_of(Role::other, name, length)};
  Lowered out{loaded_.model.lower(options), {}, std::ssize(length.ids)};
  const std::vector<Role> roles = roles_of(out.graph, loaded_);
  const auto input_of = [&](Role role) {
    const auto found = std::ranges::find(roles, role);
    return found == roles.end() ? graph::kNone : out.graph.inputs[static_cast<std::size_t>(found - roles.begin())];
  };
  out.graph.scores.clear();  // the probabilities are captured like any value
  const ValueId tokens = input_of(Role::tokens);
  out.vocabulary = run::indexed_rows(out.graph, tokens);
  if (const Dim needed = out.graph.value(tokens).shape[1]; needed != out.length) out.fixed_length = needed;
  const bool has_logits = !loaded_.model.class_name().ends_with("Backbone");
  out.points = find_points(out.graph, tokens, input_of(Role::encoder_tokens), has_logits);
  if (out.points.blocks.empty())
    throw bad_input("{}: probe found no attention whose result is added to a residual stream in this {}", loaded_.file,
                    loaded_.model.class_name());
  for (const Scaling& scaling : scalings_) {
    if (!std::isfinite(static_cast<float>(scaling.factor)))
      throw bad_usage("{}: a factor is a finite number of float32", printable(scaling.point));
    const ValueId value = out.points.find(scaling.point).value;
    out.graph = scale(std::move(out.graph), value, scaling.factor);
    out.points.rename(value, static_cast<ValueId>(out.graph.values.size() - 1));
  }
  return out;
}

bool Subject::predicts_next() const { return !loaded_.model.class_name().ends_with("MaskedLM"); }

void Subject::require_logits(const Lowered& lowered) const {
  if (lowered.points.logits == graph::kNone)
    throw bad_input("{}: a {} ends in hidden states; give a task with logits, such as a CausalLM or a TextClassifier",
                    loaded_.file, loaded_.model.class_name());
  const Shape& shape = lowered.graph.value(lowered.points.logits).shape;
  if (shape.rank() == 2 || (shape.rank() == 3 && shape[1] == lowered.length)) return;
  throw bad_input(
      "{}: the logits of {} tokens have the shape {}; probe reads one row for each token, or classes of the whole text",
      loaded_.file, lowered.length, shape.str());
}

void Subject::require_gradients(const Lowered& lowered) const {
  const auto is_quantized = [](const graph::Node& node) { return is_any_of<graph::QuantizedLinear>(node); };
  const auto found = std::ranges::find_if(lowered.graph.nodes, is_quantized);
  if (found == lowered.graph.nodes.end()) return;
  const std::string layer = found->layer == graph::kNone ? "" : lowered.graph.layers[graph::at(found->layer)].name;
  throw bad_input(
      "{}: layer '{}' has no gradient, because its weights are quantized; use ablate or patch, or a model "
      "whose weights are not",
      loaded_.file, printable(layer));
}

std::vector<Tensor> Subject::inputs(const graph::Graph& graph, std::span<const Prompt> rows) const {
  const std::vector<Role> roles = roles_of(graph, loaded_);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const graph::Value& value = graph.value(graph.inputs[i]);
    Tensor array(value.dtype, value.shape);
    if (roles[i] == Role::replacement) {
      out.push_back(std::move(array));
      continue;
    }
    const std::int64_t length = length_of(roles[i], value.name, rows.front());
    if (value.shape[0] != std::ssize(rows) || value.shape[1] != length)
      throw bad_input("{}: the input '{}' has the fixed shape {}: give {} token ids", loaded_.file,
                      printable(value.name), value.shape.str(), value.shape[1]);
    const bool is_tokens = roles[i] == Role::tokens || roles[i] == Role::encoder_tokens;
    const auto table = run::indexed_rows(graph, graph.inputs[i]);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::vector<Id>& ids = roles[i] == Role::encoder_tokens ? rows[row].encoder : rows[row].ids;
      if (is_tokens) tokenizers::expect_ids(ids, table.value_or(std::numeric_limits<std::int64_t>::max()));
      for (std::int64_t at = 0; at < length; ++at) {
        const double number = is_tokens                  ? ids[static_cast<std::size_t>(at)]
                              : roles[i] == Role::mask   ? 1.0
                              : roles[i] == Role::places ? static_cast<double>(at)
                                                         : 0.0;
        array.set(static_cast<std::int64_t>(row) * length + at, number);
      }
    }
    out.push_back(std::move(array));
  }
  return out;
}

bool Subject::fits(const graph::Graph& graph) const {
  return run::memory_needed(backend_, plan::remove_dead(graph), compile_) <=
         open::memory_limit(execution_.memory_limit).bytes;
}

std::unique_ptr<run::Session> Subject::compile(graph::Graph graph) const {
  graph = plan::remove_dead(std::move(graph));
  run::require_memory("the pass takes", static_cast<UInt128>(run::memory_needed(backend_, graph, compile_)),
                      open::memory_limit(execution_.memory_limit), [] { return "a shorter prompt takes less"; });
  run::Planned planned = run::plan_for(backend_, std::move(graph));
  std::vector<Tensor> weights = weights_.weights_for(backend_, planned.plan, compile_);
  return std::make_unique<run::Session>(backend_, std::move(planned), std::move(weights), compile_);
}

Values Subject::run(const Lowered& lowered, const Prompt& prompt, std::span<const ValueId> values) const {
  graph::Graph graph = lowered.graph;
  graph.outputs.clear();
  for (const ValueId value : values) graph = capture(std::move(graph), value, "");
  const std::vector<Tensor> arrays = inputs(graph, {&prompt, 1});
  const std::unique_ptr<run::Session> session = compile(std::move(graph));
  open::run_session(*session, arrays, listener_);
  const std::vector<NamedTensor> results = session->outputs();
  Values out;
  for (std::size_t i = 0; i < values.size(); ++i)
    out.emplace(values[i], results[i].tensor.cast(results[i].tensor.dtype()));
  require_numbers(lowered.points, out, !scalings_.empty());
  return out;
}

}  // namespace attn::probe
