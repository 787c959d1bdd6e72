// Layers that merge a list of tensors (keras/src/layers/merging).
#include <algorithm>
#include <array>

#include "classes/layers/axes.h"
#include "classes/layers/layers.h"
#include "classes/ops/promotion.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::ReduceFn;
using graph::ValueId;

using Tensors = std::vector<TensorPtr>;

ValueId any_of_last(graph::Builder& b, ValueId mask) {
  return b.apply(graph::Reduce{ReduceFn::any, {b.shape(mask).rank() - 1}, false}, {mask});
}

/// Returns the mask of x (…) as (…, 1), broadcast to x; empty if there is none. Keras 2 ignores masks when merging.
std::optional<ValueId> full_mask(Call& call, const TensorPtr& x) {
  if (!x->mask || call.layer().follows_keras2()) return std::nullopt;
  graph::Builder& b = call.builder();
  return b.apply(graph::Broadcast{b.shape(x->id)}, {b.expand_dims(*x->mask, -1)});
}

/// Elementwise merging with broadcasting; tensors of lower rank get axes of size 1 after the batch.
class Merge : public Layer {
 public:
  [[nodiscard]] bool takes_list() const override { return true; }
  [[nodiscard]] bool supports_masking() const override { return true; }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    Tensors inputs = call.tensors("inputs");
    if (inputs.empty()) throw bad_input("a merge layer needs at least one input");
    int rank = 0;
    bool floating = false, mixed = false;
    for (const TensorPtr& input : inputs) {
      rank = std::max(rank, b.shape(input->id).rank());
      floating = floating || is_floating(b.dtype(input->id));
      mixed = mixed || b.dtype(input->id) != b.dtype(inputs.front()->id);
    }
    for (TensorPtr& input : inputs) {
      ValueId id = input->id;
      if (mixed && floating) id = b.cast(id, call.compute_dtype());
      while (b.shape(id).rank() < rank) id = b.expand_dims(id, 1);
      if (id != input->id) input = Call::result(id);  // a new tensor, which has no mask
    }
    return merge(call, inputs);
  }

  /// In Merge.compute_output_shape, a dimension is known only if it is known in every input.
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    Shape out;
    Dim batch = kUnknown;
    for (const TensorPtr& input : call.tensors("inputs")) {
      const Shape& shape = call.shape(input);
      if (shape.rank() == 0) return std::nullopt;
      if (shape[0] != kUnknown) batch = shape[0];
      Shape next = shape.slice(1, shape.rank());
      if (next.rank() > out.rank()) std::swap(next, out);
      for (int i = 1; i <= next.rank(); ++i) {
        Dim& dim = out[-i];
        if (dim == kUnknown || next[-i] == kUnknown) {
          dim = kUnknown;
        } else if (dim == 1) {
          dim = next[-i];
        }
      }
    }
    Shape with_batch = {batch};
    with_batch.append(out);
    return {{with_batch}};
  }

  /// If all inputs have masks, a step is kept if any input keeps it. In Keras 2, a step is kept if all inputs with
  /// masks keep it.
  Masks compute_mask(Call& call, const Masks& previous) override {
    const bool all = follows_keras2();
    std::optional<ValueId> out;
    for (const auto& mask : previous) {
      if (!mask && all) continue;
      if (!mask) return {};
      out = out ? call.builder().binary(all ? BinaryFn::logical_and : BinaryFn::logical_or, *out, *mask) : *mask;
    }
    return {out};
  }

 protected:
  virtual Arg merge(Call& call, const Tensors& inputs) = 0;
};

/// Applies a binary function to all inputs in turn: x₁ ∘ x₂ ∘ …
class Fold : public Merge {
 public:
  explicit Fold(BinaryFn fn) : fn_(fn) {}

 protected:
  Arg merge(Call& call, const Tensors& inputs) override {
    if (fn_ == BinaryFn::subtract && inputs.size() != 2)
      throw bad_input("Subtract takes exactly 2 inputs, got {}", inputs.size());
    TensorPtr out = inputs.front();
    for (std::size_t i = 1; i < inputs.size(); ++i)
      out = Call::result(call.builder().binary(fn_, out->id, inputs[i]->id));
    return out;
  }

 private:
  BinaryFn fn_;
};

class Average : public Merge {
 protected:
  Arg merge(Call& call, const Tensors& inputs) override {
    graph::Builder& b = call.builder();
    ValueId sum = inputs.front()->id;
    for (std::size_t i = 1; i < inputs.size(); ++i) sum = b.binary(BinaryFn::add, sum, inputs[i]->id);
    if (!is_floating(b.dtype(sum))) sum = b.cast(sum, call.compute_dtype());
    return Call::result(b.binary(BinaryFn::divide, sum, b.scalar_like(sum, static_cast<double>(inputs.size()))));
  }
};

/// The product of the inputs. A masked step counts as 1; the result is 0 if all inputs mask it.
class Multiply : public Merge {
 protected:
  Arg merge(Call& call, const Tensors& inputs) override {
    graph::Builder& b = call.builder();
    const bool all_masked =
        std::all_of(inputs.begin(), inputs.end(), [](const auto& x) { return x->mask.has_value(); });
    std::optional<ValueId> out, kept;
    for (const TensorPtr& input : inputs) {
      ValueId x = input->id;
      if (const auto mask = full_mask(call, input)) {
        x = b.apply(graph::Select{}, {*mask, x, b.scalar_like(x, 1.0)});
        if (all_masked) kept = kept ? b.binary(BinaryFn::logical_or, *kept, *mask) : *mask;
      }
      out = out ? b.binary(BinaryFn::multiply, *out, x) : x;
    }
    if (kept) out = b.apply(graph::Select{}, {*kept, *out, b.scalar_like(*out, 0.0)});
    return Call::result(*out);
  }
};

/// The maximum or minimum of the inputs. If an input masks a step, the other input's value is used
/// (Merge._apply_merge_op_and_or_mask).
class Extremum : public Merge {
 public:
  explicit Extremum(BinaryFn fn) : fn_(fn) {}

 protected:
  Arg merge(Call& call, const Tensors& inputs) override {
    graph::Builder& b = call.builder();
    if (inputs.size() == 1) return inputs.front();
    ValueId out = inputs.front()->id;
    std::optional<ValueId> kept = full_mask(call, inputs.front());
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      ValueId x = inputs[i]->id;
      const auto mask = full_mask(call, inputs[i]);
      if (mask) x = b.apply(graph::Select{}, {*mask, x, out});
      if (kept) out = b.apply(graph::Select{}, {*kept, out, x});
      kept = mask && kept ? std::optional(b.binary(BinaryFn::logical_or, *kept, *mask)) : std::nullopt;
      out = b.binary(fn_, out, x);
    }
    return Call::result(out);
  }

 private:
  BinaryFn fn_;
};

class Concatenate : public Layer {
 public:
  [[nodiscard]] bool takes_list() const override { return true; }
  void fields(Fields& f) override { f("axis", axis); }
  [[nodiscard]] bool supports_masking() const override { return true; }

  Arg call(Call& call) override {
    const Tensors inputs = call.tensors("inputs");
    if (inputs.empty()) throw bad_input("a merge layer needs at least one input");
    const bool mixed = std::any_of(inputs.begin(), inputs.end(), [&](const auto& x) {
      return call.builder().dtype(x->id) != call.builder().dtype(inputs.front()->id);
    });
    std::vector<ValueId> ids;
    for (const TensorPtr& x : inputs) ids.push_back(mixed ? call.builder().cast(x->id, call.compute_dtype()) : x->id);
    return Call::result(join(call, ids));
  }

  /// In Concatenate.compute_output_shape, the shape is that of the first input, with the sum of the sizes along the
  /// axis.
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Tensors inputs = call.tensors("inputs");
    Shape out = call.shape(inputs.front());
    Dim& sum = out[axis_of(axis, out.rank())];
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      const Dim next = call.shape(inputs[i])[static_cast<int>(axis)];
      sum = sum == kUnknown || next == kUnknown ? kUnknown : sum + next;
    }
    return {{out}};
  }

  Masks compute_mask(Call& call, const Masks& previous) override {
    if (std::none_of(previous.begin(), previous.end(), [](const auto& mask) { return mask.has_value(); })) return {};
    graph::Builder& b = call.builder();
    const Tensors inputs = call.tensors("inputs");
    std::vector<ValueId> masks;
    for (std::size_t i = 0; i < inputs.size() && i < previous.size(); ++i) {
      const Shape shape = b.shape(inputs[i]->id);
      if (!previous[i]) {
        masks.push_back(b.apply(graph::Fill{shape, DType::boolean, 1.0}, {}));
      } else if (b.shape(*previous[i]).rank() < shape.rank()) {
        masks.push_back(b.apply(graph::Broadcast{shape}, {b.expand_dims(*previous[i], -1)}));
      } else {
        masks.push_back(*previous[i]);
      }
    }
    const ValueId joined = join(call, masks);
    if (!follows_keras2()) return {any_of_last(b, joined)};
    return {b.apply(graph::Reduce{ReduceFn::all, {b.shape(joined).rank() - 1}, false}, {joined})};
  }

 private:
  ValueId join(Call& call, const std::vector<ValueId>& ids) const {
    const int rank = call.builder().shape(ids.front()).rank();
    return call.builder().apply(graph::Concat{axis_of(axis, rank)}, ids);
  }

  std::int64_t axis = -1;
};

/// Multiplies two tensors and sums over one axis of each, sample by sample.
class Dot : public Layer {
 public:
  [[nodiscard]] bool takes_list() const override { return true; }
  void fields(Fields& f) override {
    f.required("axes", axes);
    f("normalize", normalize);
  }
  void check(const Ref& config) override {
    const auto* list = std::get_if<std::vector<std::int64_t>>(&axes);
    if (list != nullptr && list->size() != 2) config["axes"].fail("expected an integer or a list of 2");
  }
  [[nodiscard]] bool supports_masking() const override { return true; }
  [[nodiscard]] Masks compute_mask(Call&, const Masks&) override { return {}; }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const Tensors inputs = call.tensors("inputs");
    if (inputs.size() != 2) throw bad_input("Dot takes exactly 2 inputs, got {}", inputs.size());
    ValueId x = inputs[0]->id, y = inputs[1]->id;
    const Shape x_shape = b.shape(x), y_shape = b.shape(y);
    if (x_shape.rank() < 2 || y_shape.rank() < 2 || x_shape.rank() > kMaxRank || y_shape.rank() > kMaxRank)
      throw bad_input("Dot takes inputs of rank 2 to {}, got {} and {}", kMaxRank, x_shape.str(), y_shape.str());
    const auto given = listed(axes);
    const int x_axis = axis_of(given.front(), x_shape.rank()), y_axis = axis_of(given.back(), y_shape.rank());
    if (x_axis == 0 || y_axis == 0) throw bad_input("Dot cannot contract the batch axis");
    const DType dtype = result_type({b.dtype(x), b.dtype(y)});
    x = b.cast(x, dtype);
    y = b.cast(y, dtype);
    if (normalize) {
      x = l2_normalize(b, x, {x_axis}, kEpsilon);
      y = l2_normalize(b, y, {y_axis}, kEpsilon);
    }
    if (x_shape.rank() == 3 && y_shape.rank() == 3)
      return Call::result(b.apply(graph::MatMul{x_axis == 1, y_axis == 2}, {x, y}));

    // 'a' is the batch axis, and 'b' the summed axis.
    std::string x_letters, y_letters, out = "a";
    char next = 'c';
    const auto letters = [&](int rank, int axis, std::string& side) {
      for (int at = 0; at < rank; ++at) {
        const char letter = at == 0 ? 'a' : at == axis ? 'b' : next++;
        side += letter;
        if (letter > 'b') out += letter;
      }
    };
    letters(x_shape.rank(), x_axis, x_letters);
    letters(y_shape.rank(), y_axis, y_letters);
    const ValueId product = b.apply(graph::Einsum{x_letters + "," + y_letters + "->" + out}, {x, y});
    return Call::result(out == "a" ? b.expand_dims(product, -1) : product);
  }

  /// In Dot.compute_output_shape, the batch size is that of the first input.
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Tensors inputs = call.tensors("inputs");
    const auto given = listed(axes);
    Shape out;
    for (const bool second : {false, true}) {
      const Shape shape = call.shape(inputs[second ? 1 : 0]);
      const int contracted = axis_of(second ? given.back() : given.front(), shape.rank());
      for (int at = second ? 1 : 0; at < shape.rank(); ++at)
        if (at != contracted) out.push_back(shape[at]);
    }
    if (out.rank() == 1) out.push_back(1);
    return {{out}};
  }

 private:
  static constexpr int kMaxRank = 8;
  static constexpr double kEpsilon = 1e-7;  // keras.backend.epsilon()

  Axes axes = std::int64_t{-1};
  bool normalize = false;
};

constexpr std::array kMergeClasses = {
    ClassInfo{.name = "Add", .make = make_with<Fold, BinaryFn::add>, .since = 300, .role = Role::merge},
    ClassInfo{.name = "Subtract", .make = make_with<Fold, BinaryFn::subtract>, .since = 300, .role = Role::merge},
    ClassInfo{.name = "Multiply", .make = make_layer<Multiply>, .since = 300, .role = Role::merge},
    ClassInfo{.name = "Average", .make = make_layer<Average>, .since = 300, .role = Role::merge},
    ClassInfo{.name = "Maximum", .make = make_with<Extremum, BinaryFn::maximum>, .since = 300, .role = Role::merge},
    ClassInfo{.name = "Minimum", .make = make_with<Extremum, BinaryFn::minimum>, .since = 300, .role = Role::merge},
    ClassInfo{.name = "Concatenate",
              .make = make_layer<Concatenate>,
              .since = 300,
              .role = Role::merge,
              .keeps_unmasked = true},
    ClassInfo{.name = "Dot", .make = make_layer<Dot>, .since = 300, .role = Role::merge},
};

}  // namespace

Family merge_classes() { return kMergeClasses; }

}  // namespace attn::keras
