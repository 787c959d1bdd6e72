// Many copies of a pass, each with another value at one point.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attn/probe/subject.h"

namespace attn::probe {

/// The positions whose logits a sweep computes.
enum class LogitPositions { all_positions, last_position };

/// The pass of a prompt, and copies of it that share everything before the edited point. They run as rows of a batch.
class Sweep {
 public:
  /// Runs the prompt once, and keeps what copies with edits at these values of `lowered`, a graph for one row, need;
  /// and the values `others`.
  Sweep(const Subject& subject, Lowered lowered, Prompt prompt, std::vector<graph::ValueId> sites,
        LogitPositions wanted = LogitPositions::all_positions, const std::vector<graph::ValueId>& others = {});

  [[nodiscard]] const Lowered& lowered() const { return lowered_; }
  /// Returns the value of a site, or of one of the others, in the pass without edits, (1,…).
  [[nodiscard]] const Tensor& value(graph::ValueId site) const { return values_.at(site); }
  /// Returns the logits without edits: (T,V), or (1,V) if only the last position is wanted.
  [[nodiscard]] const Tensor& logits() const { return logits_; }

  /// Writes the site's value of one copy; the array holds the value without edits.
  using Fill = std::function<void(std::int64_t copy, const Tensor& value)>;
  /// Receives the logits of one copy, as a view that is valid during the call.
  using Visit = std::function<void(std::int64_t copy, const Tensor& logits)>;
  void run(graph::ValueId site, std::int64_t copies, const Fill& fill, const Visit& visit) const;

 private:
  /// Lowers the graph behind a site for a number of rows.
  [[nodiscard]] graph::Graph behind(graph::ValueId site, std::int64_t rows) const;

  const Subject& subject_;
  Lowered lowered_;
  Prompt prompt_;
  LogitPositions wanted_;
  std::map<graph::ValueId, std::vector<graph::ValueId>> frontiers_;
  Values values_;
  Tensor logits_;
};

}  // namespace attn::probe
