// LSTMCell, GRUCell and SimpleRNNCell.
#pragma once

#include "classes/layers/recurrent/cell.h"

namespace attn::keras {

/// A cell that is a single graph operation.
class GatedCell : public Cell {
 public:
  void declare(Weights& w, Dim width) override;
  [[nodiscard]] Dim output_size() const override { return units; }
  [[nodiscard]] CellResults run(Lowering& lowering, const Steps& steps) override;
  void check(const Ref& config) override;

  /// The cell's fields, in the order of the cell or of the layer made of it (LSTM).
  enum class Order : std::uint8_t { cell, layer };
  virtual void fields(Fields& f, Order order) = 0;
  void fields(Fields& f) override { fields(f, Order::cell); }

 protected:
  GatedCell(graph::RnnCell kind, std::int64_t gates) : kind_(kind), gates_(gates) {}
  [[nodiscard]] virtual Shape bias_shape() const;
  [[nodiscard]] virtual graph::Initializer bias_values() const { return bias_initializer.value; }
  [[nodiscard]] virtual bool reset_after_product() const { return false; }
  /// Dropout in training, equal for all steps: factors (B,D) for the input and (B,U) for the state; one for each gate,
  /// a single one, or none.
  struct DropoutFactors {
    std::vector<graph::ValueId> input, state;
  };
  [[nodiscard]] DropoutFactors draw_dropout_factors(Lowering& lowering, const Steps& steps) const;
  /// Unrolled over the steps, for an activation that needs all units of a step (softmax), and for dropout of the state.
  [[nodiscard]] CellResults run_unrolled(Lowering& lowering, const Steps& steps, const DropoutFactors& factors);
  void initializer_fields(Fields& f);
  void penalty_fields(Fields& f, Order order);

  static constexpr Dim kMaxUnrolled = 4096;

  graph::RnnCell kind_;
  std::int64_t gates_;
  Positive units;
  Activation activation = *Activation::named("tanh"), recurrent_activation = *Activation::named("sigmoid");
  bool use_bias = true;
  Initializer kernel_initializer{"glorot_uniform"}, recurrent_initializer{"orthogonal"}, bias_initializer{"zeros"};
  Regularizer kernel_regularizer, recurrent_regularizer, bias_regularizer, activity;
  Constraint kernel_constraint, recurrent_constraint, bias_constraint;
  Opaque seed;
  Number dropout, recurrent_dropout;
};

class LSTMCell : public GatedCell {
 public:
  LSTMCell() : GatedCell(graph::RnnCell::lstm, 4) {}
  void fields(Fields& f, Order order) override;
  [[nodiscard]] std::vector<Dim> state_sizes() const override { return {units, units}; }

 protected:
  [[nodiscard]] graph::Initializer bias_values() const override;

 private:
  bool unit_forget_bias = true;
};

class GRUCell : public GatedCell {
 public:
  GRUCell() : GatedCell(graph::RnnCell::gru, 3) {}
  void fields(Fields& f, Order order) override;
  [[nodiscard]] std::vector<Dim> state_sizes() const override { return {units}; }

 protected:
  [[nodiscard]] Shape bias_shape() const override;
  [[nodiscard]] bool reset_after_product() const override { return reset_after; }

 private:
  bool reset_after = true;
};

class SimpleRNNCell : public GatedCell {
 public:
  SimpleRNNCell() : GatedCell(graph::RnnCell::simple, 1) {}
  void fields(Fields& f, Order order) override;
  [[nodiscard]] std::vector<Dim> state_sizes() const override { return {units}; }
};

/// The names of the sizes in the literature, for a cell and for its layer.
inline constexpr std::string_view kLstmSymbols = "recurrent_kernel: u 4·u; kernel: d_in 4·u; bias: 4·u";
inline constexpr std::string_view kGruSymbols = "recurrent_kernel: u 3·u; kernel: d_in 3·u; bias: - 3·u; bias: 3·u";
inline constexpr std::string_view kSimpleRnnSymbols = "recurrent_kernel: u u; kernel: d_in u; bias: u";

}  // namespace attn::keras
