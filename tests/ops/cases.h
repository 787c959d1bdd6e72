// The table of operation cases, which checks every backend. A row is an operation with the shapes, dtypes and kinds of
// numbers of its inputs; the numbers are derived from the row's name.
#pragma once

#include <string>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/tensor.h"
#include "attn/graph/op.h"

namespace attn::test {

/// The distribution of an operand's elements.
enum class Numbers : std::uint8_t {
  normal,      ///< standard normal
  positive,    ///< |normal| + 0.1
  unit,        ///< uniform in (-1, 1)
  large,       ///< normal · 1e4
  tiny,        ///< normal · 1e-40: denormal in float32
  one_nan,     ///< normal, with NaN in the middle
  infinities,  ///< normal, with +inf at the first and -inf at the last element
  integers,    ///< -9 … 9, without 0
  indices,     ///< 0 … 4 and their negatives -5 … -1
  mask,        ///< true for two of three
  rows_off,    ///< mask, with every third row of the last axis all false
  all_false,
  bytes,    ///< any that one byte holds
  blocks,   ///< i / Operand::count for element i
  count,    ///< Operand::count everywhere
  entries,  ///< 0 … Operand::count − 1
  starts    ///< 0, 0, 1, 9, 36, …: the starts of sequences of 0, 1, 8, 27, … rows
};

struct Operand {
  Shape shape;
  Numbers numbers = Numbers::normal;
  DType dtype = DType::float32;
  bool weight = false;  ///< bound once, at compilation
  bool state = false;   ///< persists between runs
  std::int64_t count = 0;
};

struct Case {
  std::string name;
  graph::Op op;
  std::vector<Operand> inputs;
};

[[nodiscard]] std::vector<Case> all_cases();
/// The cases that every device runs: all but those of the last three functions below.
[[nodiscard]] std::vector<Case> forward_cases();
/// The cases that write or read a state.
[[nodiscard]] std::vector<Case> cache_cases();
/// The cases of quantized weights.
[[nodiscard]] std::vector<Case> quantized_cases();
/// The cases of training operations.
[[nodiscard]] std::vector<Case> training_cases();

/// The collectives, with a single rank.
[[nodiscard]] std::vector<Case> collective_cases();

/// The inputs of a case, drawn from RandomStream(0, name).
[[nodiscard]] std::vector<Tensor> draw(const Case& row);

/// Replaces the inputs that depend on others: the results of attention's forward pass.
void complete(const graph::Op& op, std::vector<Tensor>& tensors);

}  // namespace attn::test
