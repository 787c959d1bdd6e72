#include "classes/ops/promotion.h"

#include <array>
#include <cstdint>

#include "attn/base/error.h"

namespace attn::keras {
namespace {

// The nodes of the promotion lattice: every DType, then the two weak types.
constexpr int kWeakInt = 13, kWeakFloat = 14, kNodes = 15;
using NodeSet = std::uint32_t;

constexpr int node_of(DType dtype) { return static_cast<int>(dtype); }
constexpr NodeSet only(int node) { return NodeSet{1} << node; }
constexpr NodeSet only(DType dtype) { return only(node_of(dtype)); }

static_assert(node_of(DType::boolean) == kWeakInt - 1);

/// Returns for each node the set of this node and all nodes above it (_type_promotion_lattice in
/// keras/src/backend/common/dtypes.py).
constexpr std::array<NodeSet, kNodes> upper_bounds() {
  std::array<NodeSet, kNodes> above{};
  const auto edge = [&](DType from, NodeSet to) { above[static_cast<std::size_t>(node_of(from))] = to; };
  edge(DType::boolean, only(kWeakInt));
  edge(DType::uint8, only(DType::int16) | only(DType::uint16));
  edge(DType::uint16, only(DType::int32) | only(DType::uint32));
  edge(DType::uint32, only(DType::int64) | only(DType::uint64));
  edge(DType::uint64, only(kWeakFloat));
  above[kWeakInt] = only(DType::uint8) | only(DType::int8);
  edge(DType::int8, only(DType::int16));
  edge(DType::int16, only(DType::int32));
  edge(DType::int32, only(DType::int64));
  edge(DType::int64, only(kWeakFloat));
  above[kWeakFloat] = only(DType::bfloat16) | only(DType::float16);
  edge(DType::bfloat16, only(DType::float32));
  edge(DType::float16, only(DType::float32));
  edge(DType::float32, only(DType::float64));
  for (std::size_t node = 0; node < kNodes; ++node) above[node] |= only(static_cast<int>(node));
  for (int round = 0; round < kNodes; ++round) {
    for (NodeSet& set : above) {
      for (std::size_t node = 0; node < kNodes; ++node)
        if ((set & only(static_cast<int>(node))) != 0) set |= above[node];
    }
  }
  return above;
}
constexpr std::array<NodeSet, kNodes> kUpperBounds = upper_bounds();

int least_upper_bound(NodeSet nodes) {
  NodeSet common = ~NodeSet{0};
  for (std::size_t node = 0; node < kNodes; ++node)
    if ((nodes & only(static_cast<int>(node))) != 0) common &= kUpperBounds[node];
  for (std::size_t node = 0; node < kNodes; ++node) {
    const bool least = (common & ~kUpperBounds[node]) == 0;
    if ((common & only(static_cast<int>(node))) != 0 && least) return static_cast<int>(node);
  }
  throw internal_error("dtypes without a least upper bound");
}

int node_of(const Promoted& type) {
  if (!type.weak) return node_of(type.dtype);
  return is_floating(type.dtype) ? kWeakFloat : kWeakInt;
}

}  // namespace

DType result_type(std::span<const Promoted> types) {
  NodeSet nodes = 0;
  for (const Promoted& type : types) nodes |= only(node_of(type));
  switch (const int node = least_upper_bound(nodes); node) {
    case kWeakInt:
      return DType::int32;
    case kWeakFloat:
      return DType::float32;
    case node_of(DType::uint64):
      return DType::uint32;  // the result in JAX, for every backend
    default:
      return static_cast<DType>(node);
  }
}

DType as_accumulator(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::int8:
    case DType::int16:
      return DType::int32;
    case DType::uint8:
    case DType::uint16:
      return DType::uint32;
    default:
      return dtype;
  }
}

}  // namespace attn::keras
