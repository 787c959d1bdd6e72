#include "sources.h"

namespace attn::generate {

Sources::Sources(Dim rows, Dim branches, Dim first) : rows_(static_cast<std::size_t>(rows)) {
  for (Dim row = 0; row < rows; ++row)
    rows_[static_cast<std::size_t>(row)].assign(static_cast<std::size_t>(first),
                                                static_cast<std::int32_t>(row / branches * branches));
}

void Sources::follow(const std::vector<Dim>& parents, Dim position) {
  std::vector<std::vector<std::int32_t>> next;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    std::vector<std::int32_t> sources = rows_[static_cast<std::size_t>(parents[row])];
    sources.resize(static_cast<std::size_t>(position));
    sources.push_back(static_cast<std::int32_t>(row));
    next.push_back(std::move(sources));
  }
  rows_ = std::move(next);
}

std::span<const std::int32_t> Sources::before(Dim position) {
  flat_.clear();
  for (const auto& row : rows_) flat_.insert(flat_.end(), row.begin(), row.begin() + position);
  return flat_;
}

}  // namespace attn::generate
