#include "attn/graph/op.h"

#include <utility>

namespace attn::graph {

template <typename T>
requires(!std::is_base_of_v<detail::OpVariant, T>) Op::Op(T op) : Variant(std::in_place_type<T>, std::move(op)) {}

#define ATTN_FROM(type, name) template Op::Op(type);
ATTN_OPS(ATTN_FROM)
#undef ATTN_FROM

Op::Op(const Op& other) = default;
Op::Op(Op&& other) noexcept = default;
Op& Op::operator=(const Op& other) = default;
Op& Op::operator=(Op&& other) noexcept = default;
Op::~Op() = default;

}  // namespace attn::graph
