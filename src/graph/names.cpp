#include "attn/graph/op.h"

namespace attn::graph {

std::string_view name_of(UnaryFn fn) noexcept {
  switch (fn) {
    case UnaryFn::linear:
      return "linear";
    case UnaryFn::relu:
      return "relu";
    case UnaryFn::elu:
      return "elu";
    case UnaryFn::celu:
      return "celu";
    case UnaryFn::selu:
      return "selu";
    case UnaryFn::gelu:
      return "gelu";
    case UnaryFn::gelu_tanh:
      return "gelu_tanh";
    case UnaryFn::silu:
      return "silu";
    case UnaryFn::sigmoid:
      return "sigmoid";
    case UnaryFn::tanh:
      return "tanh";
    case UnaryFn::softplus:
      return "softplus";
    case UnaryFn::softsign:
      return "softsign";
    case UnaryFn::exponential:
      return "exponential";
    case UnaryFn::hard_sigmoid:
      return "hard_sigmoid";
    case UnaryFn::hard_silu:
      return "hard_silu";
    case UnaryFn::hard_tanh:
      return "hard_tanh";
    case UnaryFn::log_sigmoid:
      return "log_sigmoid";
    case UnaryFn::mish:
      return "mish";
    case UnaryFn::hard_shrink:
      return "hard_shrink";
    case UnaryFn::soft_shrink:
      return "soft_shrink";
    case UnaryFn::tanh_shrink:
      return "tanh_shrink";
    case UnaryFn::threshold:
      return "threshold";
    case UnaryFn::squareplus:
      return "squareplus";
    case UnaryFn::sparse_plus:
      return "sparse_plus";
    case UnaryFn::sparse_sigmoid:
      return "sparse_sigmoid";
    case UnaryFn::absolute:
      return "absolute";
    case UnaryFn::negative:
      return "negative";
    case UnaryFn::expm1:
      return "expm1";
    case UnaryFn::log:
      return "log";
    case UnaryFn::log1p:
      return "log1p";
    case UnaryFn::log2:
      return "log2";
    case UnaryFn::log10:
      return "log10";
    case UnaryFn::sqrt:
      return "sqrt";
    case UnaryFn::rsqrt:
      return "rsqrt";
    case UnaryFn::square:
      return "square";
    case UnaryFn::reciprocal:
      return "reciprocal";
    case UnaryFn::sin:
      return "sin";
    case UnaryFn::cos:
      return "cos";
    case UnaryFn::tan:
      return "tan";
    case UnaryFn::asin:
      return "asin";
    case UnaryFn::acos:
      return "acos";
    case UnaryFn::atan:
      return "atan";
    case UnaryFn::sinh:
      return "sinh";
    case UnaryFn::cosh:
      return "cosh";
    case UnaryFn::asinh:
      return "asinh";
    case UnaryFn::acosh:
      return "acosh";
    case UnaryFn::atanh:
      return "atanh";
    case UnaryFn::erf:
      return "erf";
    case UnaryFn::floor:
      return "floor";
    case UnaryFn::ceil:
      return "ceil";
    case UnaryFn::round:
      return "round";
    case UnaryFn::trunc:
      return "trunc";
    case UnaryFn::sign:
      return "sign";
    case UnaryFn::clip:
      return "clip";
    case UnaryFn::float8_e4m3fn:
      return "float8_e4m3fn";
    case UnaryFn::logical_not:
      return "logical_not";
    case UnaryFn::isnan:
      return "isnan";
    case UnaryFn::isinf:
      return "isinf";
    case UnaryFn::isfinite:
      return "isfinite";
  }
  return "";
}

std::string_view name_of(BinaryFn fn) noexcept {
  switch (fn) {
    case BinaryFn::add:
      return "add";
    case BinaryFn::subtract:
      return "subtract";
    case BinaryFn::multiply:
      return "multiply";
    case BinaryFn::divide:
      return "divide";
    case BinaryFn::floor_divide:
      return "floor_divide";
    case BinaryFn::mod:
      return "mod";
    case BinaryFn::power:
      return "power";
    case BinaryFn::maximum:
      return "maximum";
    case BinaryFn::minimum:
      return "minimum";
    case BinaryFn::atan2:
      return "atan2";
    case BinaryFn::equal:
      return "equal";
    case BinaryFn::not_equal:
      return "not_equal";
    case BinaryFn::less:
      return "less";
    case BinaryFn::less_equal:
      return "less_equal";
    case BinaryFn::greater:
      return "greater";
    case BinaryFn::greater_equal:
      return "greater_equal";
    case BinaryFn::logical_and:
      return "logical_and";
    case BinaryFn::logical_or:
      return "logical_or";
    case BinaryFn::logical_xor:
      return "logical_xor";
  }
  return "";
}

std::string_view name_of(ReduceFn fn) noexcept {
  switch (fn) {
    case ReduceFn::sum:
      return "sum";
    case ReduceFn::mean:
      return "mean";
    case ReduceFn::max:
      return "max";
    case ReduceFn::min:
      return "min";
    case ReduceFn::prod:
      return "prod";
    case ReduceFn::any:
      return "any";
    case ReduceFn::all:
      return "all";
    case ReduceFn::argmax:
      return "argmax";
    case ReduceFn::argmin:
      return "argmin";
    case ReduceFn::logsumexp:
      return "logsumexp";
  }
  return "";
}

namespace {

std::string_view name_of(SoftmaxKind kind) noexcept {
  switch (kind) {
    case SoftmaxKind::softmax:
      return "softmax";
    case SoftmaxKind::log_softmax:
      return "log_softmax";
    case SoftmaxKind::sparsemax:
      return "sparsemax";
  }
  return "";
}

std::string_view name_of(NormKind kind) noexcept {
  switch (kind) {
    case NormKind::layer:
      return "layer_norm";
    case NormKind::rms:
      return "rms_norm";
    case NormKind::rms_layer:
      return "rms_layer_norm";
  }
  return "";
}

std::string_view name_of(RnnCell cell) noexcept {
  switch (cell) {
    case RnnCell::simple:
      return "simple_rnn";
    case RnnCell::lstm:
      return "lstm";
    case RnnCell::gru:
      return "gru";
  }
  return "";
}

}  // namespace

std::string_view name_of(const Op& op) noexcept {
  // Every alternative is constructed before it is stored, so an Op is never valueless and visit cannot throw.
  return std::visit(Overloaded{
                        [](const Unary& unary) { return name_of(unary.fn); },
                        [](const Binary& binary) { return name_of(binary.fn); },
                        [](const Select&) -> std::string_view { return "select"; },
                        [](const Cast&) -> std::string_view { return "cast"; },
                        [](const Linear&) -> std::string_view { return "linear"; },
                        [](const Quantize&) -> std::string_view { return "quantize"; },
                        [](const Dequantize&) -> std::string_view { return "dequantize"; },
                        [](const QuantizedLinear&) -> std::string_view { return "quantized_linear"; },
                        [](const MatMul&) -> std::string_view { return "matmul"; },
                        [](const Einsum&) -> std::string_view { return "einsum"; },
                        [](const Softmax& softmax) { return name_of(softmax.kind); },
                        [](const Attention&) -> std::string_view { return "attention"; },
                        [](const Append&) -> std::string_view { return "append"; },
                        [](const CachedAttention&) -> std::string_view { return "cached_attention"; },
                        [](const LayerNorm& norm) { return name_of(norm.kind); },
                        [](const BatchNorm&) -> std::string_view { return "batch_norm"; },
                        [](const Reduce& reduce) { return name_of(reduce.fn); },
                        [](const Cumulate& c) -> std::string_view { return c.product ? "cumprod" : "cumsum"; },
                        [](const Reshape&) -> std::string_view { return "reshape"; },
                        [](const Transpose&) -> std::string_view { return "transpose"; },
                        [](const Broadcast&) -> std::string_view { return "broadcast"; },
                        [](const Concat&) -> std::string_view { return "concat"; },
                        [](const Slice&) -> std::string_view { return "slice"; },
                        [](const Pad&) -> std::string_view { return "pad"; },
                        [](const Gather&) -> std::string_view { return "gather"; },
                        [](const Iota&) -> std::string_view { return "iota"; },
                        [](const Fill&) -> std::string_view { return "fill"; },
                        [](const Conv&) -> std::string_view { return "conv"; },
                        [](const Pool& pool) -> std::string_view { return pool.average ? "average_pool" : "max_pool"; },
                        [](const Rnn& rnn) { return name_of(rnn.cell); },
                        [](const UnaryGrad&) -> std::string_view { return "unary_grad"; },
                        [](const AttentionGrad&) -> std::string_view { return "attention_grad"; },
                        [](const LayerNormGrad&) -> std::string_view { return "layer_norm_grad"; },
                        [](const BatchNormTraining&) -> std::string_view { return "batch_norm_training"; },
                        [](const BatchNormGrad&) -> std::string_view { return "batch_norm_grad"; },
                        [](const Scatter&) -> std::string_view { return "scatter"; },
                        [](const ScatterAdd&) -> std::string_view { return "scatter_add"; },
                        [](const ConvInputGrad&) -> std::string_view { return "conv_input_grad"; },
                        [](const ConvKernelGrad&) -> std::string_view { return "conv_kernel_grad"; },
                        [](const PoolGrad&) -> std::string_view { return "pool_grad"; },
                        [](const RnnGrad&) -> std::string_view { return "rnn_grad"; },
                        [](const SoftmaxCrossEntropy&) -> std::string_view { return "softmax_cross_entropy"; },
                        [](const SoftmaxCrossEntropyGrad&) -> std::string_view { return "softmax_cross_entropy_grad"; },
                        [](const Dropout&) -> std::string_view { return "dropout"; },
                        [](const AllReduce&) -> std::string_view { return "all_reduce"; },
                        [](const AllGather&) -> std::string_view { return "all_gather"; },
                        [](const ReduceScatter&) -> std::string_view { return "reduce_scatter"; },
                        [](const Shift&) -> std::string_view { return "shift"; },
                    },
                    op);
}

}  // namespace attn::graph
