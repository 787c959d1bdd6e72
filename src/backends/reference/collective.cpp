// Collectives between ranks. Communicators handle only contiguous bytes. For arrays sharded along an inner axis, each
// rank's pieces of all outer rows are therefore made contiguous first.
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels.h"

namespace attn::backends::reference {
namespace {

/// The shards of an axis as blocks: `outer` rows, of which rank r has parts[r] bytes each.
struct Blocks {
  std::int64_t outer = 1;
  std::vector<std::int64_t> parts;

  [[nodiscard]] std::int64_t row() const { return std::accumulate(parts.begin(), parts.end(), std::int64_t{0}); }
};

Blocks blocks_of(const Shape& shape, int axis, const std::vector<Dim>& sizes, std::int64_t element) {
  Blocks blocks;
  blocks.outer = shape.slice(0, axis).size();
  const std::int64_t inner = shape.slice(axis + 1, shape.rank()).size() * element;
  for (const Dim size : sizes) blocks.parts.push_back(size * inner);
  return blocks;
}

/// Calls `move(offset in the array, offset in the concatenated shards, bytes)` for every block.
template <typename Move>
void for_each_block(const Blocks& blocks, const Move& move) {
  std::int64_t before = 0;  // bytes of a row that belong to lower ranks
  for (const std::int64_t part : blocks.parts) {
    for (std::int64_t i = 0; i < blocks.outer && part > 0; ++i)
      move(i * blocks.row() + before, before * blocks.outer + i * part, static_cast<std::size_t>(part));
    before += part;
  }
}

}  // namespace

void compute(const graph::AllReduce& op, Tensors in, Tensors out, Communicator& ranks) {
  ranks.all_reduce(in[0].data(), out[0].data(), in[0].size(), in[0].dtype(),
                   op.maximum ? communicators::Reduction::max : communicators::Reduction::sum);
}

void compute(const graph::AllGather& op, Tensors in, Tensors out, Communicator& ranks) {
  const Blocks blocks = blocks_of(out[0].shape(), op.axis, op.sizes, bytes_of(in[0].dtype()));
  std::vector<std::int64_t> bytes;
  for (const std::int64_t part : blocks.parts) bytes.push_back(part * blocks.outer);
  if (blocks.outer == 1) return ranks.all_gather(in[0].data(), out[0].data(), bytes);
  const auto parts = allocate_bytes(out[0].bytes());
  ranks.all_gather(in[0].data(), parts.get(), bytes);
  for_each_block(blocks, [&](std::int64_t whole, std::int64_t part, std::size_t size) {
    std::memcpy(out[0].data() + whole, parts.get() + part, size);
  });
}

void compute(const graph::ReduceScatter& op, Tensors in, Tensors out, Communicator& ranks) {
  const std::int64_t element = bytes_of(in[0].dtype());
  const Blocks blocks = blocks_of(in[0].shape(), op.axis, op.sizes, element);
  std::vector<std::int64_t> counts;
  for (const std::int64_t part : blocks.parts) counts.push_back(part * blocks.outer / element);
  if (blocks.outer == 1) return ranks.reduce_scatter(in[0].data(), out[0].data(), counts, in[0].dtype());
  const auto parts = allocate_bytes(in[0].bytes());
  for_each_block(blocks, [&](std::int64_t whole, std::int64_t part, std::size_t size) {
    std::memcpy(parts.get() + part, in[0].data() + whole, size);
  });
  ranks.reduce_scatter(parts.get(), out[0].data(), counts, in[0].dtype());
}

void compute(const graph::Shift&, Tensors in, Tensors out, Communicator& ranks) {
  ranks.shift({in[0].data(), static_cast<std::size_t>(in[0].bytes())},
              {out[0].data(), static_cast<std::size_t>(out[0].bytes())});
}

}  // namespace attn::backends::reference
