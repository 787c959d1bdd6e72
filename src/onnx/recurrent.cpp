// Exports recurrent layers as a scan over time, because ONNX's own operators support neither masks nor all of Keras's
// activations.
#include "emit.h"

namespace attn::onnx {
namespace {

using graph::RnnCell;

struct Loop {
  const Step& step;
  const graph::Rnn& op;
  Emitter& e = step.emitter;
  DType dtype = step.input(0).dtype;
  Dim units = step.input(2).shape[0];

  [[nodiscard]] Term columns(const Term& x, std::int64_t first, std::int64_t last) const {
    return {&e, e.node("Slice", {x.name, e.ints({first * units}), e.ints({last * units}), e.ints({-1})}), dtype};
  }
  [[nodiscard]] Term recurrent(std::int64_t first, std::int64_t last) const {
    return columns(step.term(2), first, last);
  }
  /// Returns a row of the bias, which has two rows if the cell keeps them separate.
  [[nodiscard]] Term bias(std::int64_t row) const {
    return {&e, e.node("Gather", {step.in[3], e.index(row)}, {{"axis", std::int64_t{0}}}), dtype};
  }
  [[nodiscard]] bool two_biases() const { return op.bias && op.cell == RnnCell::gru && op.reset_after; }

  /// x·kernel + bias of all steps in one product.
  [[nodiscard]] Term input_part() const {
    Term z = step.term(0).apply("MatMul", {step.term(1)});
    if (op.bias) z = z + (two_biases() ? bias(0) : step.term(3));
    return z;
  }

  [[nodiscard]] Term act(const Term& x) const { return apply(op.activation, x); }
  [[nodiscard]] Term gate(const Term& x) const { return apply(op.recurrent_activation, x); }

  [[nodiscard]] std::vector<Term> simple(const Term& z, const Term& h) const {
    return {act(z + h.apply("MatMul", {step.term(2)}))};
  }

  [[nodiscard]] std::vector<Term> lstm(const Term& z, const Term& h, const Term& c) const {
    const Term all = z + h.apply("MatMul", {step.term(2)});  // i, f, c, o
    const Term kept = gate(columns(all, 1, 2)) * c;
    const Term next = kept + gate(columns(all, 0, 1)) * act(columns(all, 2, 3));
    return {gate(columns(all, 3, 4)) * act(next), next};
  }

  [[nodiscard]] std::vector<Term> gru(const Term& z, const Term& h) const {
    Term candidate = columns(z, 2, 3);  // z, r, h
    Term update, reset;
    if (op.reset_after) {
      Term product = h.apply("MatMul", {step.term(2)});
      if (op.bias) product = product + bias(1);
      update = gate(columns(z, 0, 1) + columns(product, 0, 1));
      reset = gate(columns(z, 1, 2) + columns(product, 1, 2));
      candidate = candidate + reset * columns(product, 2, 3);
    } else {
      const Term product = h.apply("MatMul", {recurrent(0, 2)});
      update = gate(columns(z, 0, 1) + columns(product, 0, 1));
      reset = gate(columns(z, 1, 2) + columns(product, 1, 2));
      candidate = candidate + (reset * h).apply("MatMul", {recurrent(2, 3)});
    }
    return {update * h + (update.number(1.0) - update) * act(candidate)};
  }

  [[nodiscard]] std::vector<Term> next(const Term& z, const std::vector<Term>& states) const {
    switch (op.cell) {
      case RnnCell::simple:
        return simple(z, states[0]);
      case RnnCell::lstm:
        return lstm(z, states[0], states[1]);
      case RnnCell::gru:
        return gru(z, states[0]);
    }
    return states;
  }

  [[nodiscard]] ValueInfo of(const Term& term) const { return {term.name, term.dtype, {}, false}; }
  [[nodiscard]] Term fresh(const char* name, DType of_dtype) const { return {&e, e.unique(name), of_dtype}; }

  [[nodiscard]] Names emit() const {
    const std::size_t count = op.cell == RnnCell::lstm ? 2 : 1;
    const Term z = input_part();
    Sizes state_sizes = step.in_sizes(0);
    state_sizes.erase(state_sizes.begin() + 1);
    state_sizes.back() = Size::of(units);
    const Name zeros = e.expand(e.scalar(dtype, 0.0), state_sizes);
    // The loop state: the states, and the last output, which a masked step repeats.
    Names initial;
    for (std::size_t s = 0; s < count; ++s)
      initial.push_back(op.initial_state ? step.in[step.in.size() - count + s] : zeros);
    initial.push_back(zeros);
    Names inputs = initial;
    inputs.push_back(z.name);
    if (op.mask) inputs.push_back(e.node("Unsqueeze", {step.in[op.bias ? 4 : 3], e.ints({2})}));

    std::vector<ValueInfo> body_inputs, body_outputs;
    std::vector<Term> states;
    for (std::size_t s = 0; s < count; ++s) states.push_back(fresh("state", dtype));
    const Term last = fresh("output", dtype), z_now = fresh("z", dtype), counts = fresh("counts", DType::boolean);
    e.begin_body();
    std::vector<Term> moved = next(z_now, states);
    Term output = moved[0];
    if (op.mask) {
      output = where(counts, output, op.zero_output_for_mask ? output.number(0.0) : last);
      for (std::size_t s = 0; s < count; ++s) moved[s] = where(counts, moved[s], states[s]);
    }
    for (const Term& state : states) body_inputs.push_back(of(state));
    for (const Term& term : {last, z_now}) body_inputs.push_back(of(term));
    if (op.mask) body_inputs.push_back(of(counts));
    for (const Term& term : moved) body_outputs.push_back(of(term.apply("Identity")));
    body_outputs.push_back(of(output.apply("Identity")));
    if (op.return_sequences) body_outputs.push_back(of(output.apply("Identity")));
    const auto body = e.end_body("step", std::move(body_inputs), std::move(body_outputs));

    const std::size_t scanned = op.mask ? 2 : 1;
    std::vector<Attribute> attributes{{"body", body},
                                      {"num_scan_inputs", static_cast<std::int64_t>(scanned)},
                                      {"scan_input_axes", Ints(scanned, 1)},
                                      {"scan_input_directions", Ints(scanned, op.go_backwards ? 1 : 0)}};
    if (op.return_sequences) attributes.push_back({"scan_output_axes", Ints{1}});
    const Names made = e.nodes("Scan", std::move(inputs), count + 1 + (op.return_sequences ? 1 : 0), attributes);
    Names out{made.back()};
    if (op.return_state) out.insert(out.end(), made.begin(), made.begin() + static_cast<std::ptrdiff_t>(count));
    return out;
  }
};

}  // namespace

Names emit(const Step& step, const graph::Rnn& op) { return Loop{step, op}.emit(); }

}  // namespace attn::onnx
