// Operations with inputs of random shapes, whose gradients are compared with central differences.
#pragma once

#include <string>
#include <vector>

#include "attn/base/rng.h"
#include "attn/base/shape.h"
#include "attn/graph/op.h"

namespace attn::test {

/// The distribution of an input's elements.
enum class Numbers : std::uint8_t {
  normal,
  positive,  ///< in (0.2, 2)
  unit,      ///< in (−0.9, 0.9)
  above,     ///< in (1.2, 3)
  indices,   ///< integers in [−below, below)
  labels,    ///< integers in [0, below)
  mask,      ///< true for two of three
  counter    ///< the int64 number 3
};

struct Input {
  Shape shape;
  Numbers numbers = Numbers::normal;
  Dim below = 0;
  bool constant = false;  ///< its gradient is not requested
};

struct Case {
  std::string name;
  graph::Op op;
  std::vector<Input> inputs;
};

/// Random sizes.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_(seed, "sizes") {}
  Dim in(Dim low, Dim high) { return low + static_cast<Dim>(stream_.uniform() * static_cast<double>(high - low + 1)); }
  bool coin() { return stream_.uniform() < 0.5; }
  template <typename T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[static_cast<std::size_t>(in(0, static_cast<Dim>(choices.size()) - 1))];
  }

 private:
  RandomStream stream_;
};

/// At least one of each operation that has a gradient.
[[nodiscard]] std::vector<Case> gradient_cases(Dice& dice);

}  // namespace attn::test
