#include "attn/run/weight_supply.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "attn/backends/gemv.h"
#include "attn/base/parallel.h"

namespace attn::run {
namespace {

/// Copies a tensor into anonymous memory, which the system backs with larger pages than a mapped file, so reads are
/// faster.
Tensor in_own_pages(const Tensor& from, int threads) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 22;
  Tensor copy(from.dtype(), from.shape());
  for_each_part((from.bytes() + kPiece - 1) / kPiece, threads, [&](std::int64_t piece) {
    const std::int64_t begin = piece * kPiece, count = std::min(kPiece, from.bytes() - begin);
    std::memcpy(copy.data() + begin, from.data() + begin, static_cast<std::size_t>(count));
  });
  return copy;
}

/// Scales, biases and group indices are kept after packing: an executable of another shape that needs one would
/// otherwise reload, and quantize, all weights.
constexpr std::int64_t kSmall = std::int64_t{1} << 16;

/// Returns whether a kernel multiplies these rows by the weight as it is stored, instead of packing it.
bool are_few(const Shape& x) { return x.slice(0, x.rank() - 1).size() <= backends::kMostGemvRows; }

/// Weights that a step reads in their stored layout, such as an embedding table that computes the logits.
std::set<std::int32_t> read_as_stored(const graph::Graph& graph) {
  std::set<std::int32_t> found;
  for (const graph::Node& node : graph.nodes) {
    if (!std::holds_alternative<graph::MatMul>(node.op)) continue;
    const graph::Value& right = graph.value(node.inputs[1]);
    if (right.kind == graph::ValueKind::weight && are_few(graph.value(node.inputs[0]).shape))
      found.insert(right.weight);
  }
  return found;
}

}  // namespace

std::vector<Tensor> WeightSupply::first(const plan::Plan& plan, int threads) {
  std::vector<Tensor> given = weights_.empty() ? reload_() : std::move(weights_);
  for (const std::int32_t i : read_as_stored(plan.graph)) {
    Tensor& weight = given[static_cast<std::size_t>(i)];
    weight = in_own_pages(weight, threads);
    kept_.push_back(weight);
  }
  for (Tensor& weight : given) {
    if (weight.data() == nullptr || weight.bytes() > kSmall) continue;
    weight = in_own_pages(weight, 1);  // otherwise this small view keeps the mapped file open
    kept_.push_back(weight);
  }
  read_still_.resize(given.size());
  return given;
}

std::vector<Tensor> WeightSupply::weights_for(const backends::Backend& backend, const plan::Plan& plan,
                                              const backends::CompileOptions& options) {
  if (!reload_) return weights_;
  std::vector<Tensor> given;
  if (read_still_.empty()) {
    given = first(plan, options.threads);
  } else {
    const std::vector<bool> reads = backend.reads(plan, options);
    std::vector<Tensor> again;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const graph::WeightSpec& spec = plan.graph.weights[i];
      given.emplace_back();
      if (!reads[i]) continue;
      if (auto bytes = read_still_[i].lock()) {
        given[i] = Tensor(spec.dtype, spec.shape, std::move(bytes));
      } else {
        if (again.empty()) again = reload_();
        given[i] = again[i];
        kept_.push_back(again[i]);  // a third plan will need it too
      }
    }
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i].data() != nullptr) read_still_[i] = given[i].owner();
  return given;
}

}  // namespace attn::run
