#include "attn/graph/op.h"

namespace attn::graph {

std::string_view name_of(UnaryFn fn) noexcept { return record_of(fn).name; }

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

#define ATTN_NAME(type, name) \
  [[maybe_unused]] constexpr std::string_view fixed_name(const type&) noexcept { return name; }
ATTN_OPS(ATTN_NAME)
#undef ATTN_NAME

}  // namespace

std::string_view name_of(const Op& op) noexcept {
  // Every alternative is constructed before it is stored, so an Op is never valueless and visit cannot throw.
  return std::visit(Overloaded{
                        [](const Unary& unary) { return name_of(unary.fn); },
                        [](const Binary& binary) { return name_of(binary.fn); },
                        [](const Softmax& softmax) { return name_of(softmax.kind); },
                        [](const LayerNorm& norm) { return name_of(norm.kind); },
                        [](const Reduce& reduce) { return name_of(reduce.fn); },
                        [](const Cumulate& c) -> std::string_view { return c.product ? "cumprod" : "cumsum"; },
                        [](const Pool& pool) -> std::string_view { return pool.average ? "average_pool" : "max_pool"; },
                        [](const Rnn& rnn) { return name_of(rnn.cell); },
                        [](const auto& other) { return fixed_name(other); },
                    },
                    op);
}

}  // namespace attn::graph
