// Exports the generalized delta rule as a scan over time, because ONNX has no operator for it.
#include "emit.h"

namespace attn::onnx {

Names emit(const Step& step, const graph::DeltaRule&) {
  constexpr std::size_t kVectors = 6;  // query, decay, key, value, a, b
  Emitter& e = step.emitter;
  const DType dtype = step.input(0).dtype;
  const auto fresh = [&](const char* name) { return Term{&e, e.unique(name), dtype}; };
  const auto of = [](const Term& term) { return ValueInfo{term.name, term.dtype, {}, false}; };
  Names inputs{step.in[kVectors]};
  std::vector<Term> now;
  for (std::size_t i = 0; i < kVectors; ++i) {
    inputs.push_back(step.in[i]);
    now.push_back(fresh("now"));
  }
  const Term state = fresh("state");
  e.begin_body();
  // (B, H, width) → (B, H, 1, width), or (B, H, width, 1).
  const auto row = [&](std::size_t i) { return now[i].apply("Unsqueeze", {{&e, e.ints({2}), DType::int64}}); };
  const auto column = [&](std::size_t i) { return now[i].apply("Unsqueeze", {{&e, e.ints({3}), DType::int64}}); };
  const Term read = state.apply("MatMul", {column(4)});
  const Term next = state * row(1) + read * row(5) + column(3) * row(2);
  const Term product = next.apply("MatMul", {column(0)});
  const Term output{&e, e.node("Squeeze", {product.name, e.ints({3})}), dtype};
  std::vector<ValueInfo> body_inputs{of(state)};
  for (const Term& term : now) body_inputs.push_back(of(term));
  const auto body = e.end_body("step", std::move(body_inputs), {of(next.apply("Identity")), of(output)});
  const std::vector<Attribute> attributes{{"body", body},
                                          {"num_scan_inputs", static_cast<std::int64_t>(kVectors)},
                                          {"scan_input_axes", Ints(kVectors, 1)},
                                          {"scan_output_axes", Ints{1}}};
  const Names made = e.nodes("Scan", std::move(inputs), 2, attributes);
  return {made[1], made[0]};
}

}  // namespace attn::onnx
