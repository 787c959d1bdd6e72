#include "layered.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

namespace attn::report {
namespace {

constexpr double kRankGap = 40, kBoxGap = 28, kLineGap = 14;
constexpr double kPort = 14;  // distance in pixels between the ends of edges on one box
constexpr std::size_t kMostBends = 300'000;
constexpr std::size_t kMostPassed = 1'000'000;  // maximum number of ranks that edges cross, each of which is drawn
// Barycenters settle in a few rounds; large graphs get fewer rounds, so that time stays linear.
constexpr std::size_t kRounds = 12, kWork = 3'000'000;

/// A box, or a bend of a long edge in a rank that it crosses.
struct Item {
  int rank = 0;
  Size size;
  bool is_box = true;
  std::vector<int> above, below;
};

class Placing {
 public:
  Placing(const std::vector<Size>& boxes, const std::vector<Link>& links) : links_(links), boxes_(boxes.size()) {
    for (const Size& box : boxes) {
      items_.emplace_back();
      items_.back().size = box;
    }
  }

  Layout run() {
    choose_ranks();
    connect();
    order();
    move_sideways();
    return drawn();
  }

 private:
  struct Downward {
    int upper = 0, lower = 0;
  };
  [[nodiscard]] static Downward downward(const Link& link) {
    return {std::min(link.from, link.to), std::max(link.from, link.to)};
  }

  void choose_ranks() {
    std::vector<std::vector<int>> below(boxes_);
    std::vector<bool> has_above(boxes_);
    for (const Link& link : links_) {
      const Downward down = downward(link);
      if (down.upper == down.lower) continue;
      below[at(down.upper)].push_back(down.lower);
      has_above[at(down.lower)] = true;
    }
    for (std::size_t i = 0; i < boxes_; ++i)
      for (const int lower : below[i]) items_[at(lower)].rank = std::max(items_[at(lower)].rank, items_[i].rank + 1);
    // An input is placed directly above its first reader.
    for (std::size_t i = 0; i < boxes_; ++i) {
      if (has_above[i] || below[i].empty()) continue;
      int first = std::numeric_limits<int>::max();
      for (const int lower : below[i]) first = std::min(first, items_[at(lower)].rank);
      items_[i].rank = first - 1;
    }
    for (std::size_t i = 0; i < boxes_; ++i) ranks_ = std::max(ranks_, at(items_[i].rank) + 1);
  }

  /// Adds a bend in each rank that an edge crosses; edges from the same box share bends.
  void connect() {
    std::vector<std::vector<int>> lowers(boxes_);
    for (const Link& link : links_)
      if (link.from != link.to) lowers[at(downward(link).upper)].push_back(downward(link).lower);
    std::size_t bends = 0, passed = 0;
    for (std::size_t i = 0; i < boxes_; ++i) {
      for (const int lower : lowers[i]) passed += at(items_[at(lower)].rank - items_[i].rank - 1);
      std::sort(lowers[i].begin(), lowers[i].end());
      lowers[i].erase(std::unique(lowers[i].begin(), lowers[i].end()), lowers[i].end());
      bends += at(std::max(0, last_rank(lowers[i]) - items_[i].rank - 1));
    }
    straight_ = bends > kMostBends || passed > kMostPassed;
    chains_.resize(boxes_);
    for (std::size_t i = 0; i < boxes_; ++i) {
      const int last = straight_ ? 0 : last_rank(lowers[i]);
      int above = static_cast<int>(i);
      for (int rank = items_[i].rank + 1; rank < last; ++rank) {
        const int bend = static_cast<int>(items_.size());
        items_.emplace_back();
        items_.back().rank = rank;
        items_.back().is_box = false;
        chains_[i].push_back(bend);
        tie(above, bend);
        above = bend;
      }
      for (const int lower : lowers[i]) {
        const int distance = items_[at(lower)].rank - items_[i].rank;
        if (distance == 1) tie(static_cast<int>(i), lower);
        if (distance > 1 && !straight_) tie(chains_[i][at(distance - 2)], lower);
      }
    }
  }

  [[nodiscard]] int last_rank(const std::vector<int>& of) const {
    int last = 0;
    for (const int lower : of) last = std::max(last, items_[at(lower)].rank);
    return last;
  }

  void tie(int above, int below) {
    items_[at(above)].below.push_back(below);
    items_[at(below)].above.push_back(above);
  }

  void order() {
    rows_.resize(ranks_);
    for (std::size_t i = 0; i < items_.size(); ++i) rows_[at(items_[i].rank)].push_back(static_cast<int>(i));
    position_.resize(items_.size());
    number_positions();
    const std::size_t rounds = std::clamp<std::size_t>(kWork / (items_.size() + 1), 1, kRounds);
    std::vector<std::vector<int>> best = rows_;
    std::size_t fewest = crossings();
    for (std::size_t round = 0; round < rounds && fewest > 0; ++round) {
      for (std::size_t rank = 1; rank < ranks_; ++rank) sort_row(rank, &Item::above);
      for (std::size_t rank = ranks_ - 1; rank-- > 0;) sort_row(rank, &Item::below);
      const std::size_t now = crossings();
      if (now >= fewest) continue;
      fewest = now;
      best = rows_;
    }
    rows_ = std::move(best);
    number_positions();
  }

  void number_positions() {
    for (const std::vector<int>& row : rows_)
      for (std::size_t i = 0; i < row.size(); ++i) position_[at(row[i])] = static_cast<double>(i);
  }

  void sort_row(std::size_t rank, std::vector<int> Item::*neighbours) {
    std::vector<int>& row = rows_[rank];
    std::vector<std::pair<double, int>> keyed;
    for (const int item : row) {
      const std::vector<int>& near = items_[at(item)].*neighbours;
      double sum = 0;
      for (const int other : near) sum += position_[at(other)];
      keyed.emplace_back(near.empty() ? position_[at(item)] : sum / static_cast<double>(near.size()), item);
    }
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = keyed[i].second;
      position_[at(row[i])] = static_cast<double>(i);
    }
  }

  /// Returns the number of edge crossings, counted as inversions.
  [[nodiscard]] std::size_t crossings() const {
    std::size_t count = 0;
    for (std::size_t rank = 0; rank + 1 < ranks_; ++rank) {
      std::vector<std::size_t> ends;
      for (const int item : rows_[rank]) {
        std::vector<std::size_t> of_item;
        for (const int lower : items_[at(item)].below)
          of_item.push_back(static_cast<std::size_t>(position_[at(lower)]));
        std::sort(of_item.begin(), of_item.end());
        ends.insert(ends.end(), of_item.begin(), of_item.end());
      }
      std::vector<std::size_t> tree(rows_[rank + 1].size() + 1);
      std::size_t seen = 0;
      for (const std::size_t end : ends) {
        std::size_t not_behind = 0;
        for (std::size_t i = end + 1; i > 0; i -= i & (~i + 1)) not_behind += tree[i];
        count += seen++ - not_behind;
        for (std::size_t i = end + 1; i < tree.size(); i += i & (~i + 1)) ++tree[i];
      }
    }
    return count;
  }

  [[nodiscard]] double distance(int left, int right) const {
    const Item &a = items_[at(left)], &b = items_[at(right)];
    return (a.size.width + b.size.width) / 2 + (a.is_box || b.is_box ? kBoxGap : kLineGap);
  }

  void move_sideways() {
    x_.resize(items_.size());
    for (const std::vector<int>& row : rows_)
      for (std::size_t i = 1; i < row.size(); ++i) x_[at(row[i])] = x_[at(row[i - 1])] + distance(row[i - 1], row[i]);
    const std::size_t rounds = std::clamp<std::size_t>(kWork / (items_.size() + 1), 2, kRounds);
    for (std::size_t round = 0; round < rounds; ++round) {
      const bool last = round + 1 == rounds;
      for (std::size_t rank = 0; rank < ranks_; ++rank) settle(rows_[rank], true, last);
      for (std::size_t rank = ranks_; rank-- > 0;) settle(rows_[rank], last, true);
    }
  }

  /// Moves the items of a row as close to their neighbors as order and distances allow: least squares by pooling
  /// adjacent violators.
  void settle(const std::vector<int>& row, bool to_above, bool to_below) {
    struct Block {
      double sum = 0, weight = 0;
      std::size_t count = 0;
      [[nodiscard]] double mean() const { return sum / weight; }
    };
    std::vector<double> offset(row.size());
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) offset[i] = offset[i - 1] + distance(row[i - 1], row[i]);
      const auto [wanted, weight] = wish(row[i], to_above, to_below);
      Block block{(wanted - offset[i]) * weight, weight, 1};
      while (!blocks.empty() && blocks.back().mean() > block.mean()) {
        block.sum += blocks.back().sum;
        block.weight += blocks.back().weight;
        block.count += blocks.back().count;
        blocks.pop_back();
      }
      blocks.push_back(block);
    }
    std::size_t i = 0;
    for (const Block& block : blocks)
      for (std::size_t n = 0; n < block.count; ++n, ++i) x_[at(row[i])] = offset[i] + block.mean();
  }

  /// Returns the preferred position of an item, and its weight.
  [[nodiscard]] std::pair<double, double> wish(int item, bool to_above, bool to_below) const {
    const Item& self = items_[at(item)];
    double sum = 0, weight = 0;
    const auto add = [&](const std::vector<int>& near) {
      for (const int other : near) {
        const bool box = items_[at(other)].is_box;
        // Chains of boxes stay straight; long edges go around them.
        const double pull = self.is_box && box ? 20 : self.is_box || box ? 0.05 : 2;
        sum += pull * x_[at(other)];
        weight += pull;
      }
    };
    if (to_above) add(self.above);
    if (to_below) add(self.below);
    if (weight == 0) return {x_[at(item)], 0.01};
    return {sum / weight, weight};
  }

  Layout drawn() {
    std::vector<double> top(ranks_ + 1), height(ranks_);
    for (std::size_t i = 0; i < boxes_; ++i)
      height[at(items_[i].rank)] = std::max(height[at(items_[i].rank)], items_[i].size.height);
    for (std::size_t rank = 0; rank < ranks_; ++rank) top[rank + 1] = top[rank] + height[rank] + kRankGap;

    double left = std::numeric_limits<double>::max(), right = std::numeric_limits<double>::lowest();
    for (std::size_t i = 0; i < items_.size(); ++i) {
      left = std::min(left, x_[i] - items_[i].size.width / 2);
      right = std::max(right, x_[i] + items_[i].size.width / 2);
    }
    if (items_.empty()) left = right = 0;
    for (double& x : x_) x -= left;

    Layout out;
    out.size = {right - left, ranks_ == 0 ? 0 : top[ranks_] - kRankGap};
    for (std::size_t i = 0; i < boxes_; ++i) {
      const std::size_t rank = at(items_[i].rank);
      out.centres.push_back({x_[i], top[rank] + height[rank] / 2});
    }
    for (const Link& link : links_) out.routes.push_back(route(link, out.centres, top, height));
    spread_ends(out.routes);
    return out;
  }

  [[nodiscard]] Route route(const Link& link, const std::vector<Point>& centres, const std::vector<double>& top,
                            const std::vector<double>& height) const {
    Route out;
    out.is_backward = link.from >= link.to;
    if (link.from == link.to) return out;
    const Downward down = downward(link);
    const Item &upper = items_[at(down.upper)], &lower = items_[at(down.lower)];
    const Point from = centres[at(down.upper)], to = centres[at(down.lower)];
    const double start = from.y + upper.size.height / 2, end = to.y - lower.size.height / 2;
    // A box that is lower than its rank: first straight to the edge of the rank.
    out.points.push_back({from.x, start});
    out.points.push_back({from.x, straight_ ? start : top[at(upper.rank)] + height[at(upper.rank)]});
    for (int rank = upper.rank + 1; rank < lower.rank && !straight_; ++rank) {
      const double x = x_[at(chains_[at(down.upper)][at(rank - upper.rank - 1)])];
      out.points.push_back({x, top[at(rank)]});
      out.points.push_back({x, top[at(rank)] + height[at(rank)]});
    }
    out.points.push_back({to.x, straight_ ? end : top[at(lower.rank)]});
    out.points.push_back({to.x, end});
    return out;
  }

  /// Spreads the ends of edges on one box, in the order in which they arrive.
  void spread_ends(std::vector<Route>& routes) const {
    std::vector<std::vector<std::size_t>> ending(boxes_);
    for (std::size_t i = 0; i < routes.size(); ++i)
      if (!routes[i].points.empty()) ending[at(downward(links_[i]).lower)].push_back(i);
    for (std::size_t box = 0; box < boxes_; ++box) {
      std::vector<std::size_t>& lines = ending[box];
      if (lines.size() < 2) continue;
      const auto comes_from = [&](std::size_t i) { return routes[i].points[routes[i].points.size() - 3].x; };
      std::stable_sort(lines.begin(), lines.end(),
                       [&](std::size_t a, std::size_t b) { return comes_from(a) < comes_from(b); });
      const double room = std::max(0.0, items_[box].size.width - 2 * kPort);
      const double step = std::min(kPort, room / static_cast<double>(lines.size() - 1));
      for (std::size_t i = 0; i < lines.size(); ++i) {
        const double shift = (static_cast<double>(i) - static_cast<double>(lines.size() - 1) / 2) * step;
        std::vector<Point>& points = routes[lines[i]].points;
        points[points.size() - 2].x += shift;
        points.back().x += shift;
      }
    }
  }

  const std::vector<Link>& links_;
  std::size_t boxes_ = 0, ranks_ = 0;
  std::vector<Item> items_;               // the boxes, then the bends
  std::vector<std::vector<int>> chains_;  // for each box, its bends, from the next rank on
  std::vector<std::vector<int>> rows_;    // items of each rank, from left to right
  std::vector<double> position_, x_;      // for each item, its position in the row and its x
  bool straight_ = false;
};

}  // namespace

Layout place(const std::vector<Size>& boxes, const std::vector<Link>& links) { return Placing(boxes, links).run(); }

}  // namespace attn::report
