#include "classes/layers/recurrent/rnn_cells.h"

#include <array>
#include <map>

#include "attn/base/size.h"
#include "attn/base/text.h"
#include "classes/layers/layers.h"
#include "classes/ops/array/layout.h"
#include "classes/ops/expression.h"
#include "classes/reading.h"
#include "classes/training.h"

namespace attn::keras {

using graph::ValueId;

void GatedCell::initializer_fields(Fields& f) {
  f("kernel_initializer", kernel_initializer);
  f("recurrent_initializer", recurrent_initializer);
  f("bias_initializer", bias_initializer);
}

void GatedCell::penalty_fields(Fields& f, Order order) {
  f("kernel_regularizer", kernel_regularizer);
  f("recurrent_regularizer", recurrent_regularizer);
  f("bias_regularizer", bias_regularizer);
  if (order == Order::layer) f("activity_regularizer", activity);
  f("kernel_constraint", kernel_constraint);
  f("recurrent_constraint", recurrent_constraint);
  f("bias_constraint", bias_constraint);
  f("dropout", dropout);
  f("recurrent_dropout", recurrent_dropout);
  f.foreign({"implementation"});
}

void GatedCell::check(const Ref& config) {
  for (const char* key : {"activation", "recurrent_activation"})
    if ((key[0] == 'a' ? activation : recurrent_activation).whole == WholeActivation::glu)
      config[key].fail("a recurrent layer needs an activation that keeps the shape, got " + config[key].kind());
}

Shape GatedCell::bias_shape() const {
  const auto wide = checked_mul(units, gates_);
  if (!wide) throw bad_input("{} units are too many", units.value);
  return {*wide};
}

void GatedCell::declare(Weights& w, Dim width) {
  const auto wide = checked_mul(units, gates_);
  if (!wide) throw bad_input("{} units are too many", units.value);
  w.add("kernel", {width, *wide}, kernel_initializer);
  w.add("recurrent_kernel", {units, *wide}, recurrent_initializer);
  if (use_bias) w.add("bias", bias_shape(), bias_values());
}

GatedCell::DropoutFactors GatedCell::draw_dropout_factors(Lowering& lowering, const Steps& steps) const {
  graph::Builder& b = lowering.builder();
  const bool gated = kind_ != graph::RnnCell::simple;
  const std::int64_t factors = gated && recurrent_dropout > 0.0 ? gates_ : 1;
  const auto draw = [&](double rate, Dim width) {
    std::vector<ValueId> out;
    if (!drops(lowering, rate) || (gated && rate >= 1.0)) return out;  // Keras's LSTM and GRU ignore a rate of 1
    const Shape shape{b.shape(steps.x)[0], width};
    for (std::int64_t i = 0; i < factors; ++i) {
      const ValueId ones = b.apply(graph::Fill{shape, policy.compute, 1.0}, {});
      const std::size_t before = lowering.training->draws.size();
      out.push_back(dropped(lowering, *this, ones, rate, seed.json, shape));
      // Keras's RNN draws its dropout masks also outside training.
      if (lowering.training->draws.size() > before) lowering.training->draws.back().always = true;
    }
    return out;
  };
  DropoutFactors out;
  out.input = draw(dropout, b.shape(steps.x)[2]);
  out.state = draw(recurrent_dropout, units);
  return out;
}

CellResults GatedCell::run(Lowering& lowering, const Steps& steps) {
  graph::Builder& b = lowering.builder();
  const bool elementwise =
      activation.whole == WholeActivation::none && recurrent_activation.whole == WholeActivation::none;
  const DropoutFactors factors = draw_dropout_factors(lowering, steps);
  const bool by_step = !elementwise || !factors.state.empty() || factors.input.size() > 1;
  if (by_step && !lowering.symbolic()) return run_unrolled(lowering, steps, factors);
  const DType dtype = policy.compute;
  const auto variable = [&](int index) { return b.cast(lowering.weight(*this, index), dtype); };
  Expression x(b, b.cast(steps.x, dtype));
  if (!factors.input.empty()) x = x * Expression(b, b.expand_dims(factors.input.front(), 1));
  std::vector<ValueId> inputs = {x, variable(0), variable(1)};
  if (use_bias) inputs.push_back(variable(2));
  if (steps.mask) inputs.push_back(*steps.mask);
  if (steps.initial != nullptr)
    for (std::size_t i = 0; i < state_count(); ++i) inputs.push_back(b.cast((*steps.initial)[i], dtype));

  graph::Rnn op;
  op.cell = kind_;
  op.activation = activation.unary;
  op.recurrent_activation = recurrent_activation.unary;
  op.bias = use_bias;
  op.mask = steps.mask.has_value();
  op.initial_state = steps.initial != nullptr;
  op.reset_after = reset_after_product();
  op.go_backwards = steps.go_backwards;
  op.return_sequences = steps.return_sequences;
  op.return_state = steps.return_state;
  op.zero_output_for_mask = steps.zero_output_for_mask;
  const auto out = b.apply_all(op, inputs);
  CellResults results{out.front(), {}};
  for (std::size_t i = 1; i < out.size(); ++i) results.states.emplace_back(Call::result(out[i]));
  return results;
}

CellResults GatedCell::run_unrolled(Lowering& lowering, const Steps& steps, const DropoutFactors& factors) {
  graph::Builder& b = lowering.builder();
  const DType dtype = policy.compute;
  const auto variable = [&](int index) { return Expression{b, b.cast(lowering.weight(*this, index), dtype)}; };
  const auto product = [&](ValueId x, ValueId kernel) {
    return Expression{b, b.apply(graph::Linear{1, false, {}, false}, {x, kernel})};
  };
  const Expression recurrent = variable(1);
  const Shape in = b.shape(steps.x);  // (B,T,D)
  const Dim batch = in[0], length = in[1];
  if (length > kMaxUnrolled)
    throw bad_input("{} steps are too many for an activation over all units of a step; {} are the most", length,
                    kMaxUnrolled);

  const auto gate = [&](const Expression& x, int index) {
    return Expression{b, sliced(b, x, x.shape().rank() - 1, {index * units, (index + 1) * units, 1})};
  };
  /// x·kernel, where x is multiplied by the dropout factors of each gate.
  const auto dropped_product = [&](const Expression& x, const Expression& kernel, const std::vector<ValueId>& by) {
    const auto kept = [&](ValueId factor) {
      return x * Expression{b, x.shape().rank() == 3 ? b.expand_dims(factor, 1) : factor};
    };
    if (by.empty()) return product(x, kernel);
    if (by.size() == 1) return product(kept(by.front()), kernel);
    std::vector<ValueId> gates;
    for (std::size_t i = 0; i < by.size(); ++i)
      gates.push_back(product(kept(by[i]), gate(kernel, static_cast<int>(i))));
    return Expression{b, b.apply(graph::Concat{x.shape().rank() - 1}, gates)};
  };
  const Expression sequence{b, b.cast(steps.x, dtype)};
  Expression projected = dropped_product(sequence, variable(0), factors.input);  // (B,T,g·U)
  std::optional<Expression> recurrent_bias;
  if (use_bias) {
    const Expression bias = variable(2);
    if (bias.shape().rank() == 2) {  // one row for the input, one for the state
      projected = projected + Expression{b, sliced(b, bias, 0, {0, 1, 1})};
      recurrent_bias = Expression{b, sliced(b, bias, 0, {1, 2, 1})};
    } else {
      projected = projected + bias;
    }
  }
  const auto act = [&](const Activation& function, const Expression& x) { return Expression{b, function.apply(b, x)}; };

  const Expression zeros{b, b.apply(graph::Fill{{batch, units}, dtype, 0.0}, {})};
  std::vector<Expression> states(state_count(), zeros);
  if (steps.initial != nullptr)
    for (std::size_t i = 0; i < states.size(); ++i) states[i] = Expression{b, b.cast((*steps.initial)[i], dtype)};
  Expression output = zeros;
  std::vector<ValueId> outputs;
  for (Dim step = 0; step < length; ++step) {
    const Dim at = steps.go_backwards ? length - 1 - step : step;
    const Expression x{b, b.reshape(sliced(b, projected, 1, {at, at + 1, 1}), {batch, units * gates_})};
    const Expression& h = states[0];
    std::vector<Expression> next;
    if (kind_ == graph::RnnCell::simple) {
      next = {act(activation, x + dropped_product(h, recurrent, factors.state))};
    } else if (kind_ == graph::RnnCell::lstm) {
      const Expression z = x + dropped_product(h, recurrent, factors.state);
      const Expression c = act(recurrent_activation, gate(z, 1)) * states[1] +
                           act(recurrent_activation, gate(z, 0)) * act(activation, gate(z, 2));
      next = {act(recurrent_activation, gate(z, 3)) * act(activation, c), c};
    } else {
      Expression inner = dropped_product(h, recurrent, factors.state);
      if (recurrent_bias) inner = inner + *recurrent_bias;
      const Expression z = act(recurrent_activation, gate(x, 0) + gate(inner, 0));
      const Expression r = act(recurrent_activation, gate(x, 1) + gate(inner, 1));
      const Expression own = factors.state.empty() ? h : h * Expression{b, factors.state[2]};
      const Expression seen = reset_after_product() ? r * gate(inner, 2) : product(r * own, gate(recurrent, 2));
      next = {z * h + (1.0 - z) * act(activation, gate(x, 2) + seen)};
    }
    if (steps.mask) {
      const Expression kept{b, sliced(b, *steps.mask, 1, {at, at + 1, 1})};  // (B,1)
      output = where(kept, next[0], steps.zero_output_for_mask ? zeros : output);
      for (std::size_t i = 0; i < states.size(); ++i) next[i] = where(kept, next[i], states[i]);
    } else {
      output = next[0];
    }
    states = next;
    if (steps.return_sequences) outputs.push_back(b.expand_dims(output, 1));
  }
  CellResults results{steps.return_sequences ? b.apply(graph::Concat{1}, outputs) : output.id, {}};
  if (steps.return_state)
    for (const Expression& state : states) results.states.emplace_back(Call::result(state));
  return results;
}

// LSTM

void LSTMCell::fields(Fields& f, Order order) {
  f.required("units", units);
  f("activation", activation);
  f("recurrent_activation", recurrent_activation);
  f("use_bias", use_bias);
  if (order == Order::cell) f("unit_forget_bias", unit_forget_bias);
  initializer_fields(f);
  if (order == Order::layer) f("unit_forget_bias", unit_forget_bias);
  penalty_fields(f, order);
  f("seed", seed);
}

graph::Initializer LSTMCell::bias_values() const {
  graph::Initializer out = bias_initializer.value;
  out.unit_forget = unit_forget_bias;
  return out;
}

// GRU

void GRUCell::fields(Fields& f, Order order) {
  f.required("units", units);
  f("activation", activation);
  f("recurrent_activation", recurrent_activation);
  f("use_bias", use_bias);
  initializer_fields(f);
  penalty_fields(f, order);
  f("reset_after", reset_after);
  f("seed", seed);
}

Shape GRUCell::bias_shape() const {
  const Shape one = GatedCell::bias_shape();
  return reset_after ? Shape{2, one[0]} : one;
}

// SimpleRNN

void SimpleRNNCell::fields(Fields& f, Order order) {
  f.required("units", units);
  f("activation", activation);
  f("use_bias", use_bias);
  initializer_fields(f);
  penalty_fields(f, order);
  if (order == Order::cell) {
    f("seed", seed);
  } else {
    f.ignored({"seed"});  // SimpleRNN accepts it but does not write it
  }
}

namespace {

/// Stacked cells: a step runs all of them, which is equivalent to running each over all steps.
class StackedRNNCells : public Cell {
 public:
  void fields(Fields& f) override {
    if (!f.reading()) {
      Json list = Json::array();
      for (const auto& cell : cells_) list.push_back(layer_json(*cell, f.version()));
      f.put("cells", std::move(list));
      return;
    }
    const auto list = f.take("cells");
    if (!list || !list->is_array() || list->size() == 0) f.config().fail("the key 'cells' must hold a list of cells");
    for (const Ref& ref : list->elements()) {
      LayerPtr layer = read_layer(ref, f.warnings());
      if (dynamic_cast<Cell*>(layer.get()) == nullptr)
        ref.fail(fmt::format("expected a recurrent cell, got a {}", layer->class_name()));
      cells_.emplace_back(static_cast<Cell*>(layer.release()));
    }
  }
  void declare(Weights&, Dim width) override {
    for (const auto& cell : cells_) {
      Weights own(cell->weights, cell->policy.variable, cell->trainable);
      if (!cell->built) cell->declare(own, width);
      cell->built = true;
      width = cell->output_size();
    }
  }
  [[nodiscard]] Dim output_size() const override { return cells_.back()->output_size(); }
  [[nodiscard]] std::vector<Dim> state_sizes() const override {
    std::vector<Dim> sizes;
    for (const auto& cell : cells_)
      for (const Dim size : cell->state_sizes()) sizes.push_back(size);
    return sizes;
  }
  [[nodiscard]] std::vector<Sublayer> sublayers() override {
    std::vector<Sublayer> out;
    std::map<std::string, int> used;  // keys in .weights.h5 are numbered by class
    for (const auto& cell : cells_) {
      std::string key = snake_case(cell->class_name());
      const int count = used[key]++;
      if (count > 0) key += "_" + std::to_string(count);
      out.push_back({cell.get(), cell->name + "/", "cells/" + key + "/"});
    }
    return out;
  }

  [[nodiscard]] CellResults run(Lowering& lowering, const Steps& steps) override {
    graph::Builder& b = lowering.builder();
    Steps next = steps;
    if (steps.go_backwards) {
      // The second cell reads the first one's outputs in the order in which they were computed.
      next.go_backwards = false;
      next.x = reversed(b, steps.x);
      if (steps.mask) next.mask = reversed(b, *steps.mask);
    }
    CellResults out;
    std::size_t used = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const bool last = i + 1 == cells_.size();
      next.return_sequences = last ? steps.return_sequences : true;
      next.zero_output_for_mask = last && steps.zero_output_for_mask;
      std::vector<ValueId> initial;
      if (steps.initial != nullptr) {
        const auto first = steps.initial->begin() + static_cast<std::ptrdiff_t>(used);
        initial.assign(first, first + static_cast<std::ptrdiff_t>(cells_[i]->state_count()));
        next.initial = &initial;
      }
      used += cells_[i]->state_count();
      CellResults results = cells_[i]->run(lowering, next);
      out.output = next.x = results.output;
      out.states.emplace_back(std::move(results.states));
    }
    return out;
  }

 private:
  static ValueId reversed(graph::Builder& b, ValueId x) {
    graph::Slice slice;
    slice.ranges.resize(static_cast<std::size_t>(b.shape(x).rank()));
    slice.ranges[1].step = -1;
    return b.apply(slice, {x});
  }

  std::vector<std::unique_ptr<Cell>> cells_;
};

constexpr std::array kCellKeras2 = {Keras2Key{"implementation"}};

constexpr std::array kRnnCellClasses = {
    ClassInfo{.name = "LSTMCell",
              .make = make_layer<LSTMCell>,
              .since = 300,
              .role = Role::kernel,
              .symbols = kLstmSymbols,
              .keras2_keys = kCellKeras2},
    ClassInfo{.name = "GRUCell",
              .make = make_layer<GRUCell>,
              .since = 300,
              .role = Role::kernel,
              .symbols = kGruSymbols,
              .keras2_keys = kCellKeras2},
    ClassInfo{.name = "SimpleRNNCell",
              .make = make_layer<SimpleRNNCell>,
              .since = 300,
              .role = Role::kernel,
              .symbols = kSimpleRnnSymbols,
              .keras2_keys = kCellKeras2},
    ClassInfo{.name = "StackedRNNCells", .make = make_layer<StackedRNNCells>, .since = 300, .role = Role::kernel},
};

}  // namespace

Family rnn_cell_classes() { return kRnnCellClasses; }

}  // namespace attn::keras
