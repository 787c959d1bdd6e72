// Casts, and tensors that take only their shape from another tensor.
#include "classes/ops/array/number_range.h"
#include "classes/ops/expression.h"
#include "classes/ops/operand.h"
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

class Cast : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("dtype", dtype);
    if (f.reading() && !dtype) f.config().fail("the key 'dtype' is missing");
  }
  Arg call(Call& call) override { return Call::result(call.builder().cast(call.tensor("x")->id, *dtype)); }

 private:
  std::optional<DType> dtype;
};

/// Casts after clamping to the range of the dtype.
class SaturateCast : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f("dtype", dtype);
    if (f.reading() && !dtype) f.config().fail("the key 'dtype' is missing");
  }
  Arg call(Call& call) override { return Call::result(saturated(call.builder(), call.tensor("x")->id, *dtype)); }

 private:
  std::optional<DType> dtype;
};

/// The number of elements or axes of a tensor.
template <bool kElements>
class Extent : public WithArguments<kX> {
 public:
  Arg call(Call& call) override {
    const Shape& shape = call.shape("x");
    // Keras's symbolic result for the number of axes is a vector of that many numbers.
    if (!kElements && call.lowering().symbolic())
      return Call::result(call.builder().apply(graph::Fill{{shape.rank()}, DType::float32, 0.0}, {}));
    const Dim count = kElements ? shape.elements().value_or(0) : shape.rank();
    return Call::result(call.builder().apply(graph::Fill{{}, DType::int32, static_cast<double>(count)}, {}));
  }
};

/// array(x, dtype) and convert_to_tensor(x, dtype): returns x itself, or a cast.
class Array : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("dtype", dtype, 311); }
  Arg call(Call& call) override {
    const ValueId x = call.tensor("x")->id;
    return Call::result(dtype ? call.builder().cast(x, *dtype) : x);
  }

 protected:
  std::optional<DType> dtype;
};

class ConvertToTensor : public Array {
 public:
  void fields(Fields& f) override {
    f("dtype", dtype);
    f("sparse", sparse);
    f("ragged", ragged, 311);
  }

 private:
  std::optional<bool> sparse, ragged;
};

/// zeros_like, ones_like and empty_like.
template <int kValue>
class Like : public WithArguments<kX> {
 public:
  void fields(Fields& f) override { f("dtype", dtype, 311); }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId x = call.tensor("x")->id;
    const graph::Fill fill{b.shape(x), dtype.value_or(b.dtype(x)), static_cast<double>(kValue)};
    return Call::result(b.apply(fill, {}));
  }

 private:
  std::optional<DType> dtype;
};

inline constexpr std::array<std::string_view, 2> kFullLikeArguments = {"x", "fill_value"};

class FullLike : public WithArguments<kFullLikeArguments> {
 public:
  void fields(Fields& f) override { f("dtype", dtype, 311); }
  Arg call(Call& call) override {
    const Operand x(call, "x");
    const ValueId value = Operand(call, "fill_value").as(dtype.value_or(x.own_dtype()));
    return Call::result(call.builder().apply(graph::Broadcast{x.shape()}, {value}));
  }

 private:
  std::optional<DType> dtype;
};

inline constexpr std::array<std::string_view, 1> kFillValue = {"fill_value"};

class Full : public WithArguments<kFillValue> {
 public:
  void fields(Fields& f) override {
    f.required("shape", shape, 311);
    f("dtype", dtype, 311);
  }
  Arg call(Call& call) override {
    const ValueId value = Operand(call, "fill_value").as(dtype.value_or(DType::float32));
    return Call::result(call.builder().apply(graph::Broadcast{shape}, {value}));
  }

 private:
  Shape shape;
  std::optional<DType> dtype;
};

/// Adds an axis of `num_classes` elements, with 1 at index x.
class OneHot : public WithArguments<kX> {
 public:
  void fields(Fields& f) override {
    f.required("num_classes", num_classes);
    f("axis", axis);
    f("dtype", dtype);
    f("sparse", sparse, 302);
    if (f.reading() && sparse) f.config()["sparse"].fail("sparse tensors are not supported");
  }
  Arg call(Call& call) override { return Call::result(one_hot(call, "x")); }

 protected:
  ValueId one_hot(Call& call, std::string_view argument) {
    Builder& b = call.builder();
    const Operand x(call, argument);
    const int rank = x.rank() + 1;
    if (axis < -1 || axis >= rank) throw bad_input("axis {} must be -1 or from 0 to {}", axis, rank - 1);
    const int at = axis == -1 ? rank - 1 : static_cast<int>(axis);
    Shape classes(std::vector<Dim>(static_cast<std::size_t>(rank), 1));
    classes[at] = num_classes;
    const Expression index{b, b.expand_dims(x.as(DType::int64), at)};
    const Expression counted{b, b.apply(graph::Iota{classes, DType::int64, at, 0.0, 1.0}, {})};
    return (index == counted).cast(dtype.value_or(DType::float32));
  }

 private:
  Positive num_classes;
  std::int64_t axis = -1;
  std::optional<DType> dtype;
  bool sparse = false;
};

inline constexpr std::array<std::string_view, 1> kInputs = {"inputs"};

/// Returns 1 for every class that occurs in a row, and 0 for the others.
class MultiHot : public OneHot {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override { return kInputs; }
  Arg call(Call& call) override {
    Builder& b = call.builder();
    const ValueId hot = one_hot(call, "inputs");
    const int axis_of_row = call.shape("inputs").rank() > 1 ? 1 : 0;
    return Call::result(b.apply(graph::Reduce{graph::ReduceFn::max, {axis_of_row}, false}, {hot}));
  }
};

constexpr std::array kCreationOperations = {
    ClassInfo{"Cast", make_layer<Cast>, 300, kCoreOps},
    ClassInfo{"SaturateCast", make_layer<SaturateCast>, 306, kCoreOps},
    ClassInfo{"Size", make_layer<Extent<true>>, 300, kNumpyOps},
    ClassInfo{"Ndim", make_layer<Extent<false>>, 300, kNumpyOps},
    ClassInfo{"ConvertToTensor", make_layer<ConvertToTensor>, 307, kCoreOps},
    ClassInfo{"Array", make_layer<Array>, 300, kNumpyOps},
    ClassInfo{"ZerosLike", make_layer<Like<0>>, 300, kNumpyOps},
    ClassInfo{"EmptyLike", make_layer<Like<0>>, 313, kNumpyOps},
    ClassInfo{"OnesLike", make_layer<Like<1>>, 300, kNumpyOps},
    ClassInfo{"FullLike", make_layer<FullLike>, 300, kNumpyOps},
    ClassInfo{"Full", make_layer<Full>, 300, kNumpyOps},
    ClassInfo{"OneHot", make_layer<OneHot>, 300, kNnOps},
    ClassInfo{.name = "MultiHot", .make = make_layer<MultiHot>, .since = 300, .module = kNnOps, .named_until = 310},
};

}  // namespace

Family creation_operations() { return kCreationOperations; }

}  // namespace attn::keras
