// The generalized delta rule: one head of a sample after the other, one step after the other.
#include <algorithm>
#include <array>
#include <span>

#include "attn/base/stop.h"
#include "kernels.h"
#include "numbers.h"

namespace attn::backends::reference {
namespace {

using Vector = std::vector<double>;

/// The inputs, or their gradients, in the order of DeltaRule.
enum : std::size_t { kQuery, kDecay, kKey, kValue, kA, kB, kState, kInputs };

struct DeltaSize {
  std::size_t batch, steps, heads, keys, values;

  explicit DeltaSize(Tensors in)
      : batch(of(in[kQuery], 0)),
        steps(of(in[kQuery], 1)),
        heads(of(in[kQuery], 2)),
        keys(of(in[kQuery], 3)),
        values(of(in[kValue], 3)) {}

  static std::size_t of(const Tensor& x, int axis) { return static_cast<std::size_t>(x.shape()[axis]); }
  [[nodiscard]] std::size_t state() const { return values * keys; }
};

/// One head of a sample.
struct Head {
  const DeltaSize& size;
  std::size_t sample, head;

  /// Returns the vector of a step in an array (B, T, H, width).
  [[nodiscard]] std::span<double> at(Vector& numbers, std::size_t t, std::size_t width) const {
    return std::span(numbers).subspan(((sample * size.steps + t) * size.heads + head) * width, width);
  }
  /// Returns the state (V, K) in an array (B, H, V, K).
  [[nodiscard]] std::span<double> state(Vector& numbers) const {
    return std::span(numbers).subspan((sample * size.heads + head) * size.state(), size.state());
  }
};

double dot(std::span<const double> x, std::span<const double> y) {
  double sum = 0.0;
  for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * y[j];
  return sum;
}

/// Replaces the state before step t by the state after it.
void advance(const Head& head, std::array<Vector, kInputs>& in, std::size_t t, std::span<double> state) {
  const std::size_t keys = head.size.keys;
  const auto decay = head.at(in[kDecay], t, keys), key = head.at(in[kKey], t, keys), a = head.at(in[kA], t, keys),
             b = head.at(in[kB], t, keys), value = head.at(in[kValue], t, head.size.values);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto row = state.subspan(i * keys, keys);
    const double read = dot(row, a);
    for (std::size_t j = 0; j < keys; ++j) row[j] = row[j] * decay[j] + read * b[j] + value[i] * key[j];
  }
}

std::array<Vector, kInputs> read_inputs(Tensors in) {
  std::array<Vector, kInputs> numbers;
  for (std::size_t i = 0; i < kInputs; ++i) numbers[i] = read<double>(in[i]);
  return numbers;
}

template <typename Function>
void for_each_head(const DeltaSize& size, Function function) {
  for (std::size_t sample = 0; sample < size.batch; ++sample)
    for (std::size_t head = 0; head < size.heads; ++head) function(Head{size, sample, head});
}

/// Backpropagation through the steps of one head.
class DeltaRuleBackward {
 public:
  DeltaRuleBackward(const Head& head, std::array<Vector, kInputs>& in, std::array<Vector, kInputs>& gradients)
      : head_(head), in_(in), gradients_(gradients) {}

  /// `gradient` is that of the state after step t, and becomes that of the state before it.
  void step(std::size_t t, std::span<const double> before, std::span<const double> after, std::span<double> gradient,
            std::span<const double> dout) {
    const std::size_t keys = head_.size.keys;
    const auto vector = [&](std::size_t i) { return head_.at(in_[i], t, keys); };
    const auto slope = [&](std::size_t i) { return head_.at(gradients_[i], t, keys); };
    const auto query = vector(kQuery), decay = vector(kDecay), key = vector(kKey), a = vector(kA), b = vector(kB);
    const auto value = head_.at(in_[kValue], t, head_.size.values);
    const auto dvalue = head_.at(gradients_[kValue], t, head_.size.values);
    const auto dquery = slope(kQuery), ddecay = slope(kDecay), dkey = slope(kKey), da = slope(kA), db = slope(kB);
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto g = gradient.subspan(i * keys, keys);
      const auto old = before.subspan(i * keys, keys), now = after.subspan(i * keys, keys);
      for (std::size_t j = 0; j < keys; ++j) g[j] += dout[i] * query[j];
      const double read = dot(old, a), written = dot(g, b);
      dvalue[i] = dot(g, key);
      for (std::size_t j = 0; j < keys; ++j) {
        dquery[j] += now[j] * dout[i];
        dkey[j] += g[j] * value[i];
        ddecay[j] += g[j] * old[j];
        db[j] += g[j] * read;
        da[j] += old[j] * written;
        g[j] = g[j] * decay[j] + written * a[j];
      }
    }
  }

 private:
  const Head& head_;
  std::array<Vector, kInputs>& in_;
  std::array<Vector, kInputs>& gradients_;
};

}  // namespace

void compute(const graph::DeltaRule&, Tensors in, Tensors out) {
  const DeltaSize size(in);
  std::array<Vector, kInputs> numbers = read_inputs(in);
  Vector outputs(numbers[kValue].size());
  for_each_head(size, [&](const Head& head) {
    const auto state = head.state(numbers[kState]);
    for (std::size_t t = 0; t < size.steps; ++t) {
      throw_if_stopped();
      advance(head, numbers, t, state);
      const auto output = head.at(outputs, t, size.values), query = head.at(numbers[kQuery], t, size.keys);
      for (std::size_t i = 0; i < size.values; ++i) output[i] = dot(state.subspan(i * size.keys, size.keys), query);
    }
  });
  write(out[0], outputs);
  write(out[1], numbers[kState]);
}

void compute(const graph::DeltaRuleGrad&, Tensors in, Tensors out) {
  const DeltaSize size(in);
  std::array<Vector, kInputs> numbers = read_inputs(in), gradients;
  for (std::size_t i = 0; i < kState; ++i) gradients[i].resize(numbers[i].size());
  Vector doutputs = read<double>(in[kInputs]);
  gradients[kState] = read<double>(in[kInputs + 1]);
  for_each_head(size, [&](const Head& head) {
    std::vector<Vector> states;  // before the first step, and after each
    const auto first = head.state(numbers[kState]);
    states.emplace_back(first.begin(), first.end());
    for (std::size_t t = 0; t < size.steps; ++t) {
      throw_if_stopped();
      states.push_back(states.back());
      advance(head, numbers, t, states.back());
    }
    DeltaRuleBackward backward(head, numbers, gradients);
    for (std::size_t t = size.steps; t-- > 0;) {
      throw_if_stopped();
      backward.step(t, states[t], states[t + 1], head.state(gradients[kState]), head.at(doutputs, t, size.values));
    }
  });
  for (std::size_t i = 0; i < kInputs; ++i) write(out[i], gradients[i]);
}

}  // namespace attn::backends::reference
