// Linear and MatMul through cuBLASLt, with the epilogues that it can fuse.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "attn/base/size.h"
#include "choose.h"
#include "device.h"
#include "kernels/epilogue.h"
#include "product.h"
#include "small_product/prepare.h"

namespace attn::cuda {
namespace {

using graph::UnaryFn;

/// Returns cuBLASLt's function for the activation, if there is one. Its tanh may be the hardware's approximation, which
/// is too inaccurate for strict float32.
std::optional<Epilogue> epilogue_of(const graph::Unary& activation, const Product& product) {
  const bool is_strict = product.dtype == DType::float64 ||
                         (product.dtype == DType::float32 && product.precision == backends::MatmulPrecision::highest);
  switch (activation.fn) {
    case UnaryFn::linear:
      return Epilogue::none;
    case UnaryFn::relu: {
      const bool plain = activation.a == 0.0 && activation.b == 0.0 && std::isinf(activation.c);
      return plain ? std::optional(Epilogue::relu) : std::nullopt;
    }
    case UnaryFn::gelu_tanh:
      return is_strict ? std::nullopt : std::optional(Epilogue::gelu_tanh);
    default:
      return std::nullopt;
  }
}

std::string name_of_product(const Product& product, bool separate) {
  std::string name = fmt::format("cublaslt {}", name_of(product.dtype));
  if (product.dtype == DType::float32 && product.precision == backends::MatmulPrecision::high) name += " (tf32)";
  if (product.dtype == DType::float32 && product.precision == backends::MatmulPrecision::medium) name += " (bf16)";
  if (product.bias != nullptr) name += " +bias";
  if (product.residual != nullptr) name += " +residual";
  if (product.epilogue == Epilogue::relu) name += " +relu";
  if (product.epilogue == Epilogue::gelu_tanh) name += " +gelu_tanh";
  if (separate) name += ", epilogue";
  return name;
}

std::int64_t product_of(const Shape& shape, int first, int last) {
  std::int64_t result = 1;
  for (int axis = first; axis < last; ++axis) result *= shape[axis];
  return result;
}

/// A product, and attn's own kernel for the part of the epilogue that cuBLASLt cannot apply.
struct ProductWithEpilogue {
  PreparedProduct prepared;
  std::optional<EpilogueStep> epilogue;

  void launch(cudaStream_t stream) const {
    prepared.launch(stream);
    if (epilogue) launch_epilogue(*epilogue, stream);
  }
  void launch_with(const ProductOperands& operands, cudaStream_t stream) const {
    prepared.launch_with(operands, stream);
    if (!epilogue) return;
    EpilogueStep step = *epilogue;
    step.x = operands.out;
    launch_epilogue(step, stream);
  }
};

/// Returns whether attn's small-product kernel is faster than cuBLASLt with its separate epilogue.
bool is_faster(const SmallProduct& small, const ProductWithEpilogue& library, const Device& device,
               const Tuning& tuning) {
  const auto operands = [&](int call) { return library.prepared.operands(tuning.space, call); };
  std::vector<Launch> launches;
  for (int call = 0; call < kCallsToMeasure; ++call) {
    const ProductOperands given = operands(call);
    SmallProduct there = small;
    there.x = given.a;
    there.kernel = given.b;
    there.out = given.out;
    if (small.residual != nullptr && given.residual != nullptr) there.residual = given.residual;
    launches.push_back(prepare_small_product(there, device));
  }
  const auto ours = seconds_of(
      [&](int call) {
        launches[static_cast<std::size_t>(call)](tuning.stream);
        return true;
      },
      tuning.stream);
  const auto its = seconds_of(
      [&](int call) {
        library.launch_with(operands(call), tuning.stream);
        return true;
      },
      tuning.stream);
  return *ours < *its;
}

/// Makes cuBLASLt's product. If products are tuned, attn's small-product kernel replaces it if that is faster.
Choice with_race(ProductWithEpilogue apart, std::string name, const graph::Linear& op, const Step& step,
                 const ProductOptions& options) {
  struct Candidates {
    ProductWithEpilogue library;
    SmallProduct product;
    Launch small;
  };
  const auto both = std::make_shared<Candidates>(Candidates{std::move(apart), small_product_of(op, step), nullptr});
  options.tune_later.push_back(both->library.prepared.tune);
  if (why_not_small_product(both->product, step.device).empty()) {
    options.trials.push_back(
        {step.node, [both, &device = step.device](cudaStream_t, const Tuning* tuning) -> std::optional<Trial::Change> {
           if (tuning == nullptr) return std::nullopt;
           const std::string kind =
               both->library.prepared.key + " " + std::string(name_of(both->product.activation.fn));
           const auto [race, is_new] = tuning->races.try_emplace(kind, false);
           if (is_new) race->second = is_faster(both->product, both->library, device, *tuning);
           if (!race->second) return std::nullopt;
           both->small = prepare_small_product(both->product, device);
           return Trial::Change{"small product", "measured to be faster than cuBLASLt"};
         }});
  }
  return {std::move(name),
          [both](cudaStream_t stream) { both->small ? both->small(stream) : both->library.launch(stream); }};
}

/// In Keras the relu of NaN is NaN. A trial checks cuBLASLt's relu; if it drops NaN, attn's own kernel applies relu.
Choice with_tried_relu(PreparedProduct fused, std::string name, ProductWithEpilogue apart,
                       const std::string& apart_name, const Step& step, const ProductOptions& options) {
  struct Candidates {
    PreparedProduct fused;
    ProductWithEpilogue apart;
    bool takes_apart = false;
  };
  const auto both = std::make_shared<Candidates>(Candidates{std::move(fused), std::move(apart)});
  options.tune_later.push_back(both->fused.tune);
  options.trials.push_back(
      {step.node, [both, apart_name](cudaStream_t stream, const Tuning* tuning) -> std::optional<Trial::Change> {
         if (both->fused.keeps_nan(stream)) return std::nullopt;
         if (tuning != nullptr) both->apart.prepared.tune(*tuning);
         both->takes_apart = true;
         return Trial::Change{apart_name, "cuBLASLt's relu gives a number for NaN"};
       }});
  return {std::move(name),
          [both](cudaStream_t stream) { both->takes_apart ? both->apart.launch(stream) : both->fused.launch(stream); }};
}

Choice chosen(PreparedProduct prepared, std::string name, TuneLater& tune_later) {
  if (!prepared.launch) return Choice(std::move(prepared.why_not));
  tune_later.push_back(std::move(prepared.tune));
  return {std::move(name), std::move(prepared.launch)};
}

/// The batch axes of a product, merged into one with a single stride for each operand, as cuBLASLt requires. Empty if
/// the broadcast of x or y needs more than one stride.
struct Batch {
  std::int64_t count = 1, x_stride = 0, y_stride = 0;
};
std::optional<Batch> batch_of(const Shape& x, const Shape& y, std::int64_t x_matrix, std::int64_t y_matrix) {
  const std::int64_t x_count = product_of(x, 0, x.rank() - 2), y_count = product_of(y, 0, y.rank() - 2);
  Batch batch{std::max(x_count, y_count), x_count == 1 ? 0 : x_matrix, y_count == 1 ? 0 : y_matrix};
  if (x_count == 1 || y_count == 1) return batch;
  if (x.slice(0, x.rank() - 2) != y.slice(0, y.rank() - 2)) return std::nullopt;
  return batch;
}

}  // namespace

Choice make_product(const graph::Linear& op, const Step& step, const ProductOptions& options) {
  const Operand& x = step.inputs[0];
  const Operand& kernel = step.inputs[1];
  Product product;
  product.dtype = x.dtype;
  product.precision = options.precision;
  product.m = product_of(x.shape, 0, x.shape.rank() - op.contracted);
  product.k = product_of(kernel.shape, 0, op.contracted);
  product.n = product_of(kernel.shape, op.contracted, kernel.shape.rank());
  product.a = x.data;
  product.b = kernel.data;
  product.out = step.outputs[0].data;
  std::size_t next = 2;
  const std::byte* bias = op.bias ? step.inputs[next++].data : nullptr;
  const std::byte* residual = op.residual ? step.inputs[next++].data : nullptr;

  // The residual is added after the activation, but cuBLASLt adds it before. Therefore attn's kernel does one of the
  // two.
  const auto epilogue = epilogue_of(op.activation, product);
  const bool separate = !epilogue || (*epilogue != Epilogue::none && residual != nullptr);
  Product fused = product;
  if (!separate) {
    fused.bias = bias;
    fused.residual = residual;
    fused.epilogue = *epilogue;
    if (*epilogue != Epilogue::relu) {
      PreparedProduct prepared = prepare_product(fused, step.device, step.scratch);
      if (!prepared.launch) return Choice(std::move(prepared.why_not));
      return with_race({std::move(prepared), std::nullopt}, name_of_product(fused, false), op, step, options);
    }
  }
  ProductWithEpilogue apart{
      prepare_product(product, step.device, step.scratch),
      EpilogueStep{step.outputs[0].data, product.m, product.n, product.dtype, bias, op.activation, residual}};
  if (!apart.prepared.launch) return Choice(std::move(apart.prepared.why_not));
  std::string name = name_of_product(product, true);
  if (!separate) {
    PreparedProduct prepared = prepare_product(fused, step.device, step.scratch);
    if (prepared.launch) {
      return with_tried_relu(std::move(prepared), name_of_product(fused, false), std::move(apart), name, step, options);
    }
  }
  return with_race(std::move(apart), std::move(name), op, step, options);
}

Choice make_product(const graph::MatMul& op, const Step& step, const ProductOptions& options) {
  Shape x = step.inputs[0].shape, y = step.inputs[1].shape;
  // NumPy's rule: a rank-1 operand is one row on the left, and one column on the right.
  const bool row = x.rank() == 1, column = y.rank() == 1;
  if (row) x = Shape{1, x[0]};
  if (column) y = Shape{y[0], 1};
  Product product;
  product.dtype = step.inputs[0].dtype;
  product.precision = options.precision;
  product.transpose_a = op.transpose_x && !row;
  product.transpose_b = op.transpose_y && !column;
  product.m = product.transpose_a ? x[-1] : x[-2];
  product.k = product.transpose_a ? x[-2] : x[-1];
  product.n = product.transpose_b ? y[-2] : y[-1];
  const auto batch = batch_of(x, y, product.m * product.k, product.k * product.n);
  if (!batch) return Choice("batch axes that repeat one within the other");
  product.batch = batch->count;
  product.a_stride = batch->x_stride;
  product.b_stride = batch->y_stride;
  product.a = step.inputs[0].data;
  product.b = step.inputs[1].data;
  product.out = step.outputs[0].data;
  // All rows multiply one matrix, so the batch is merged into the rows.
  if (product.batch > 1 && product.b_stride == 0 && !product.transpose_a) {
    product.m *= product.batch;
    product.batch = 1;
  }
  return chosen(prepare_product(product, step.device, step.scratch), name_of_product(product, false),
                options.tune_later);
}

}  // namespace attn::cuda
