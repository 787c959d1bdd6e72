// The gradient of attention, one row of scores at a time.
#include <cmath>

#include "attend.h"
#include "attn/base/stop.h"
#include "kernels.h"
#include "numbers.h"

namespace attn::backends::reference {
namespace {

using graph::AttentionPath;
using Vector = std::vector<double>;

/// A tensor (B,T,N,H), with access to the H elements of one head at one position.
struct Heads {
  Vector numbers;
  Dim positions, heads, size;

  explicit Heads(const Tensor& x) : Heads(x, read<double>(x)) {}
  static Heads zeros(const Tensor& like) { return {like, Vector(static_cast<std::size_t>(like.size()), 0.0)}; }

  [[nodiscard]] double* at(Dim b, Dim position, Dim head) {
    return numbers.data() + ((b * positions + position) * heads + head) * size;
  }

 private:
  Heads(const Tensor& x, Vector values)
      : numbers(std::move(values)), positions(x.shape()[1]), heads(x.shape()[2]), size(x.shape()[3]) {}
};

double dot(const double* x, const double* y, Dim n) {
  double sum = 0.0;
  for (Dim i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

void add(double* to, double factor, const double* x, Dim n) {
  for (Dim i = 0; i < n; ++i) to[i] += factor * x[i];
}

/// The inputs and outputs of the gradient.
class AttentionBackward {
 public:
  AttentionBackward(const graph::AttentionGrad& op, Tensors in)
      : op_(op.forward),
        wants_bias_(op.bias),
        given_(3U + (op_.bias ? 1U : 0U) + static_cast<std::size_t>(op_.masks)),
        q_(in[0]),
        k_(in[1]),
        v_(in[2]),
        context_(in[given_]),
        dcontext_(in[given_ + 2]),
        lse_(read<double>(in[given_ + 1])),
        dq_(Heads::zeros(in[0])),
        dk_(Heads::zeros(in[1])),
        dv_(Heads::zeros(in[2])),
        batch_(in[0].shape()[0]),
        rules_(rules_of(op_, in[0].dtype())) {
    rules_.read_further(op_, in.subspan(3, given_ - 3), {batch_, q_.heads, q_.positions, k_.positions});
    if (op_.scores) dscores_ = read<double>(in[given_ + 3]);
    if (wants_bias_) dbias_.assign(static_cast<std::size_t>(in[3].size()), 0.0);
    row_.resize(static_cast<std::size_t>(k_.positions));
  }

  void run(Tensors out) {
    for (Dim b = 0; b < batch_; ++b) {
      for (Dim n = 0; n < q_.heads; ++n) {
        for (Dim t = 0; t < q_.positions; ++t) {
          throw_if_stopped();
          row(b, n, t);
        }
      }
    }
    write(out[0], dq_.numbers);
    write(out[1], dk_.numbers);
    write(out[2], dv_.numbers);
    if (wants_bias_) write(out[3], dbias_);
  }

 private:
  /// Intermediate results for a pair of a query and a key.
  struct Pair {
    double probability = 0.0;
    double dprobability = 0.0;
    double slope = 1.0;  // derivative of the soft cap
  };

  void row(Dim b, Dim n, Dim t) {
    const Dim S = k_.positions, k = n / (q_.heads / k_.heads);
    const std::size_t at = static_cast<std::size_t>((b * q_.heads + n) * q_.positions + t);
    const double* const query = q_.at(b, t, n);
    const double* const dout = dcontext_.at(b, t, n);
    const double lse = lse_[at];
    if (std::isinf(lse) && lse < 0.0) return nothing_seen(b, n, t, k);
    double delta = dot(dout, context_.at(b, t, n), v_.size);
    for (Dim s = 0; s < S; ++s) {
      if (!rules_.sees(b, n, t, s)) continue;
      Pair& pair = row_[static_cast<std::size_t>(s)];
      const double product = dot(query, k_.at(b, s, k), q_.size);
      const double score = score_of(rules_, product, b, n, t, s);
      pair.probability = std::exp(score - lse);
      pair.dprobability = dot(dout, v_.at(b, s, k), v_.size);
      if (rules_.soft_cap > 0.0) {
        const double tanh = std::tanh(rules_.scale * product / rules_.soft_cap);
        pair.slope = 1.0 - tanh * tanh;
      }
      if (op_.scores) {
        const double dscore = dscores_[at * static_cast<std::size_t>(S) + static_cast<std::size_t>(s)];
        pair.dprobability += dscore;
        delta += pair.probability * dscore;
      }
    }
    for (Dim s = 0; s < S; ++s) {
      if (!rules_.sees(b, n, t, s)) continue;
      const Pair& pair = row_[static_cast<std::size_t>(s)];
      add(dv_.at(b, s, k), pair.probability, dout, v_.size);
      double gradient = pair.probability * (pair.dprobability - delta);
      if (wants_bias_) dbias_[rules_.bias->offset(b, n, t, s)] += gradient;
      if (rules_.soft_cap > 0.0) gradient *= pair.slope;
      gradient *= rules_.scale;
      add(dq_.at(b, t, n), gradient, k_.at(b, s, k), q_.size);
      add(dk_.at(b, s, k), gradient, query, q_.size);
    }
  }

  /// Adds the gradient of the values for a query that sees no key. On the fused path, all its scores are the same
  /// constant.
  void nothing_seen(Dim b, Dim n, Dim t, Dim k) {
    if (op_.path == AttentionPath::explicit_) return;
    const double probability = 1.0 / static_cast<double>(k_.positions);
    for (Dim s = 0; s < k_.positions; ++s) add(dv_.at(b, s, k), probability, dcontext_.at(b, t, n), v_.size);
  }

  const graph::Attention& op_;
  bool wants_bias_;
  std::size_t given_;  // number of inputs of `forward`
  Heads q_, k_, v_, context_, dcontext_;
  Vector lse_;  // (B,N,T)
  Heads dq_, dk_, dv_;
  Vector dscores_, dbias_;
  Dim batch_;
  Rules rules_;
  std::vector<Pair> row_;
};

}  // namespace

void compute(const graph::AttentionGrad& op, Tensors in, Tensors out) { AttentionBackward(op, in).run(out); }

}  // namespace attn::backends::reference
