// The sharded optimizer: the ranges that each rank updates, and their exchange.
#include <algorithm>
#include <numeric>

#include "attn/train/trainer.h"

namespace attn::train {
namespace {

/// The approximate bytes of one message in the exchange of weights.
constexpr std::int64_t kMessage = 25 << 20;

}  // namespace

bool Trainer::shares_optimizer() const {
  return options_.shares_optimizer && options_.compile.ranks != nullptr && options_.compile.ranks->size() > 1;
}

std::int64_t Trainer::optimizer_bytes() const {
  std::int64_t bytes = 0;
  const std::vector<NamedTensor>& state = optimizer_->state();
  for (std::size_t i = 0; i < state.size(); ++i) {
    const auto pieces = optimizer_->pieces(i);
    bytes += pieces ? pieces->whole.size() * bytes_of(state[i].tensor.dtype()) : state[i].tensor.bytes();
  }
  return bytes;
}

std::vector<NamedTensor> Trainer::optimizer_state() const {
  std::vector<NamedTensor> out = optimizer_->state();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto pieces = optimizer_->pieces(i);
    if (!pieces) continue;
    communicators::Communicator& ranks = *options_.compile.ranks;
    const Tensor whole(out[i].tensor.dtype(), pieces->whole);
    ranks.all_gather(out[i].tensor.data(), whole.data(), pieces->bytes);
    out[i].tensor = ranks.rank() == 0 ? whole : Tensor();
  }
  return out;
}

/// Sends the updated shard of this rank to all ranks.
void Trainer::exchange_weights() const {
  communicators::Communicator& ranks = *options_.compile.ranks;
  const std::vector<Tensor> weights = trained();
  const auto size = static_cast<std::size_t>(ranks.size());
  for (std::size_t first = 0, last = 0; first < weights.size(); first = last) {
    std::int64_t all = 0;
    for (; last < weights.size() && (last == first || all + weights[last].bytes() <= kMessage); ++last)
      all += weights[last].bytes();
    std::vector<std::int64_t> bytes(size, 0);
    const auto for_each_piece = [&](std::size_t rank, const auto& visit) {
      const std::vector<optimizers::Range>& moved = optimizer_->moved_by(static_cast<int>(rank));
      for (std::size_t n = first; n < last; ++n) {
        const std::int64_t number = bytes_of(weights[n].dtype());
        visit(weights[n].data() + moved[n].begin * number, moved[n].size() * number);
      }
    };
    for (std::size_t rank = 0; rank < size; ++rank)
      for_each_piece(rank, [&](const std::byte*, std::int64_t count) { bytes[rank] += count; });
    const auto own_rank = static_cast<std::size_t>(ranks.rank());
    std::vector<std::byte> own(static_cast<std::size_t>(bytes[own_rank])), together(static_cast<std::size_t>(all));
    std::byte* to = own.data();
    for_each_piece(own_rank, [&](const std::byte* from, std::int64_t count) { to = std::copy_n(from, count, to); });
    ranks.all_gather(own.data(), together.data(), bytes);
    const std::byte* from = together.data();
    for (std::size_t rank = 0; rank < size; ++rank)
      for_each_piece(rank, [&](std::byte* place, std::int64_t count) {
        std::copy_n(from, count, place);
        from += count;
      });
  }
}

}  // namespace attn::train
