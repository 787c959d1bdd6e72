#include "plain.h"

#include <variant>

namespace attn::cuda {
namespace {

Choice make_plain(const graph::Attention&, const Step&) {
  return Choice("attention has a table of kernels of its own");
}
Choice make_plain(const graph::CachedAttention&, const Step& step) { return make_plain(graph::Attention{}, step); }

}  // namespace

Choice make_plain(const Step& step) {
  return std::visit([&](const auto& op) { return make_plain(op, step); }, step.op);
}

}  // namespace attn::cuda
