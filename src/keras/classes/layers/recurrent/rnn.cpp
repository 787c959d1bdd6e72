// RNN, LSTM, GRU and SimpleRNN (keras/src/layers/rnn).
#include "classes/layers/recurrent/rnn.h"

#include <algorithm>
#include <array>

#include "attn/base/text.h"
#include "classes/class_table.h"
#include "classes/layers/layers.h"
#include "classes/layers/recurrent/rnn_cells.h"
#include "classes/reading.h"

namespace attn::keras {

using graph::ValueId;

std::span<const std::string_view> Recurrent::arguments() const {
  static constexpr std::array<std::string_view, 4> kNames = {"sequences", "initial_state", "mask", "training"};
  return kNames;
}

void Recurrent::sequence_fields(Fields& f) {
  f("return_sequences", return_sequences);
  f("return_state", return_state);
  f("go_backwards", go_backwards);
  f("stateful", stateful);
  f("unroll", unroll);
  f("zero_output_for_mask", zero_output_for_mask);
  f.ignored({"use_cudnn"});
  f.foreign({"implementation", "time_major"});
  if (f.reading())
    if (const auto time_major = f.config().find("time_major"); time_major && time_major->boolean())
      time_major->fail("inputs with time in front are not supported");
}

void Recurrent::build(Weights&, Call& call) {
  const Shape in = call.shape("sequences");
  if (in.rank() != 3) throw bad_input("expected an input (batch, time, width), got {}", in.str());
  if (in.back() == kUnknown) throw bad_input("the last dimension of the input must be known, got {}", in.str());
  if (cell().built) return;
  Weights own(cell().weights, cell().policy.variable, cell().trainable);
  cell().declare(own, in.back());
  cell().built = true;
}

Arg Recurrent::call(Call& call) {
  graph::Builder& b = call.builder();
  Steps steps;
  steps.x = call.tensor("sequences")->id;
  if (const TensorPtr mask = call.optional_tensor("mask")) steps.mask = b.cast(mask->id, DType::boolean);
  std::vector<ValueId> initial;
  if (call.has("initial_state")) {
    for (const TensorPtr& state : tensors_of(call.arg("initial_state"))) initial.push_back(state->id);
    if (initial.size() != cell().state_count())
      throw bad_input("expected {} initial states, got {}", cell().state_count(), initial.size());
    steps.initial = &initial;
  }
  steps.go_backwards = go_backwards;
  steps.return_sequences = return_sequences;
  steps.return_state = return_state;
  steps.zero_output_for_mask = zero_output_for_mask;

  const LayerScope scope(call.lowering(), name);
  CellResults results = cell().run(call.lowering(), steps);
  const TensorPtr output = Call::result(b.cast(results.output, call.compute_dtype()));
  if (!return_state) return output;
  for (const TensorPtr& state : tensors_of(results.states)) state->id = b.cast(state->id, call.compute_dtype());
  ArgList out = {output};
  std::move(results.states.begin(), results.states.end(), std::back_inserter(out));
  return out;
}

Masks Recurrent::compute_mask(Call&, const Masks& previous) {
  if (!return_sequences || previous.empty()) return {};
  return {previous.front()};
}

std::vector<Layer::Sublayer> Recurrent::sublayers() { return {{&cell(), cell().name + "/", "cell/"}}; }

namespace {

/// A recurrent layer whose config contains its cell.
class RNN : public Recurrent {
 public:
  void fields(Fields& f) override {
    sequence_fields(f);
    f.required("cell", cell_);
    if (f.reading() && cell_ && dynamic_cast<Cell*>(cell_.get()) == nullptr)
      f.config()["cell"].fail(fmt::format("expected a recurrent cell, got a {}", cell_->class_name()));
  }
  [[nodiscard]] Cell& cell() override { return static_cast<Cell&>(*cell_); }

 private:
  LayerPtr cell_;
};

/// A recurrent layer that creates its cell.
template <typename OwnCell>
class RecurrentWithOwnCell : public Recurrent {
 public:
  explicit RecurrentWithOwnCell(std::string_view cell_class) {
    cell_.info = &class_in(rnn_cell_classes(), cell_class);
    cell_.name = snake_case(cell_class);
  }
  void fields(Fields& f) override {
    sequence_fields(f);
    cell_.fields(f, GatedCell::Order::layer);
  }
  void check(const Ref& config) override { cell_.check(config); }
  void build(Weights& w, Call& call) override {
    cell_.policy = policy;
    cell_.trainable = trainable;
    Recurrent::build(w, call);
  }
  [[nodiscard]] Cell& cell() override { return cell_; }

 private:
  OwnCell cell_;
};

template <typename OwnCell>
LayerPtr make_of_cell(std::string_view cell_class) {
  return std::make_unique<RecurrentWithOwnCell<OwnCell>>(cell_class);
}

constexpr std::array kRecurrentKeras2 = {Keras2Key{"implementation"}, Keras2Key{"time_major", {}, "false"},
                                         Keras2Key{"input_dim"}, Keras2Key{"input_length"}};

constexpr std::array kRnnClasses = {
    ClassInfo{
        .name = "RNN", .make = make_layer<RNN>, .since = 300, .role = Role::kernel, .keras2_keys = kRecurrentKeras2},
    ClassInfo{.name = "LSTM",
              .make = [] { return make_of_cell<LSTMCell>("LSTMCell"); },
              .since = 300,
              .role = Role::kernel,
              .symbols = kLstmSymbols,
              .keras2_keys = kRecurrentKeras2},
    ClassInfo{.name = "GRU",
              .make = [] { return make_of_cell<GRUCell>("GRUCell"); },
              .since = 300,
              .role = Role::kernel,
              .symbols = kGruSymbols,
              .keras2_keys = kRecurrentKeras2},
    ClassInfo{.name = "SimpleRNN",
              .make = [] { return make_of_cell<SimpleRNNCell>("SimpleRNNCell"); },
              .since = 300,
              .role = Role::kernel,
              .symbols = kSimpleRnnSymbols,
              .keras2_keys = kRecurrentKeras2},
};

}  // namespace

Family rnn_classes() { return kRnnClasses; }

}  // namespace attn::keras
