#include "attn/weights/initialize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "draw.h"
#include "fans.h"
#include "orthogonalize.h"

namespace attn::weights {
namespace {

using graph::Initializer;
using graph::WeightSpec;

/// The arguments of VarianceScaling that its named variants fix.
struct Scaling {
  std::string_view class_name;
  double scale;
  std::string_view mode;
  std::string_view distribution;
};

constexpr std::array<Scaling, 6> kScalings = {{
    {"GlorotUniform", 1.0, "fan_avg", "uniform"},
    {"GlorotNormal", 1.0, "fan_avg", "truncated_normal"},
    {"LecunUniform", 1.0, "fan_in", "uniform"},
    {"LecunNormal", 1.0, "fan_in", "truncated_normal"},
    {"HeUniform", 2.0, "fan_in", "uniform"},
    {"HeNormal", 2.0, "fan_in", "truncated_normal"},
}};

constexpr std::array<std::string_view, 15> kClassNames = {
    "Zeros",        "Ones",          "Constant",        "Identity",        "Orthogonal",
    "RandomNormal", "RandomUniform", "TruncatedNormal", "VarianceScaling", "GlorotUniform",
    "GlorotNormal", "LecunUniform",  "LecunNormal",     "HeUniform",       "HeNormal"};

Error failure(const WeightSpec& spec, const std::string& what) {
  return bad_input("weight '{}': {}", printable(spec.path), what);
}

Draw scaled_draw(const WeightSpec& spec, const Scaling& scaling) {
  if (!(scaling.scale > 0.0))
    throw failure(spec, fmt::format("the scale of its initializer must be > 0, got {}", scaling.scale));
  const Fans fans = fans_of(spec);
  double fan = 0.0;
  if (scaling.mode == "fan_in") {
    fan = fans.in;
  } else if (scaling.mode == "fan_out") {
    fan = fans.out;
  } else if (scaling.mode == "fan_avg") {
    fan = (fans.in + fans.out) / 2.0;
  } else {
    throw failure(spec, fmt::format("the mode of its initializer must be fan_in, fan_out or fan_avg, got '{}'",
                                    printable(scaling.mode)));
  }
  const double variance = scaling.scale / std::max(1.0, fan);
  if (scaling.distribution == "uniform") {
    const double limit = std::sqrt(3.0 * variance);
    return {Distribution::uniform, -limit, limit};
  }
  if (scaling.distribution == "untruncated_normal") return {Distribution::normal, 0.0, std::sqrt(variance)};
  if (scaling.distribution == "truncated_normal" || scaling.distribution == "normal") {
    constexpr double kTruncatedStddev = .87962566103423978;  // deviation of a standard normal truncated at two standard
                                                             // deviations
    return {Distribution::truncated_normal, 0.0, std::sqrt(variance) / kTruncatedStddev};
  }
  throw failure(spec, fmt::format("the distribution of its initializer must be uniform, truncated_normal or "
                                  "untruncated_normal, got '{}'",
                                  printable(scaling.distribution)));
}

Draw draw_of(const WeightSpec& spec) {
  const Initializer& initializer = spec.initializer;
  const std::string& name = initializer.class_name;
  if (name == "RandomUniform") return {Distribution::uniform, initializer.minval, initializer.maxval};
  if (name == "RandomNormal") return {Distribution::normal, initializer.mean, initializer.stddev};
  if (name == "TruncatedNormal") return {Distribution::truncated_normal, initializer.mean, initializer.stddev};
  if (name == "VarianceScaling")
    return scaled_draw(spec, {name, initializer.scale, initializer.mode, initializer.distribution});
  for (const Scaling& scaling : kScalings)
    if (name == scaling.class_name) return scaled_draw(spec, scaling);
  if (const auto mark = name.find('>'); mark != std::string::npos) {
    const std::string_view shown = std::string_view(name).substr(name.starts_with("custom>") ? mark + 1 : 0);
    throw failure(spec, fmt::format("its initializer is custom code, '{}', which is never run", printable(shown)))
        .about("weights");
  }
  throw failure(spec, fmt::format("unknown initializer '{}'{}", printable(name), did_you_mean(name, kClassNames)));
}

/// The parameters of random draws.
struct Source {
  std::uint64_t seed;
  int threads;
};

Tensor random(const WeightSpec& spec, const Shape& shape, const Draw& draw, Source source) {
  if (!is_floating(spec.dtype)) {
    throw failure(spec, fmt::format("{} draws floating-point numbers, but the weight is of {}",
                                    printable(spec.initializer.class_name), name_of(spec.dtype)));
  }
  Tensor out(spec.dtype, shape);
  if (spec.initializer.seed) {
    draw_as_tensorflow(*spec.initializer.seed, draw, out, source.threads);
  } else {
    draw_from_stream(RandomStream(source.seed, spec.path), draw, out, source.threads);
  }
  return out;
}

Tensor filled(const WeightSpec& spec, double value) {
  Tensor out(spec.dtype, spec.shape);
  if (value == 0.0) return out;
  if (spec.dtype == DType::float32) {
    for (float& element : out.as<float>()) element = static_cast<float>(value);
  } else {
    for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, value);
  }
  return out;
}

Tensor constant(const WeightSpec& spec) {
  const std::vector<double>& values = spec.initializer.values;
  // Keras converts a number to a float32 tensor before it casts to the weight's dtype; an array is cast directly.
  if (values.empty()) return filled(spec, static_cast<float>(spec.initializer.value));
  if (values.size() == 1) return filled(spec, values.front());
  const auto count = static_cast<std::int64_t>(values.size());
  if (spec.shape.size() != count)
    throw failure(spec, fmt::format("its constant has {} elements, but the shape is {}", count, spec.shape.str()));
  Tensor out(spec.dtype, spec.shape);
  for (std::int64_t i = 0; i < count; ++i) out.set(i, values[static_cast<std::size_t>(i)]);
  return out;
}

Tensor identity(const WeightSpec& spec) {
  if (spec.shape.rank() != 2) {
    throw failure(spec, fmt::format("Identity needs a matrix, but the shape is {}", spec.shape.str()));
  }
  Tensor out(spec.dtype, spec.shape);
  for (Dim i = 0; i < std::min(spec.shape[0], spec.shape[1]); ++i)
    out.set(i * spec.shape[1] + i, spec.initializer.gain);
  return out;
}

/// Returns the Q of a normal matrix (long, short), transposed if the weight is wide.
Tensor orthogonal(const WeightSpec& spec, Source source) {
  if (spec.shape.rank() < 2) {
    throw failure(spec, fmt::format("Orthogonal needs at least two axes, but the shape is {}", spec.shape.str()));
  }
  const std::int64_t columns = spec.shape.back();
  const std::int64_t rows = spec.shape.slice(0, spec.shape.rank() - 1).size();
  const std::int64_t length = std::max(rows, columns);
  const std::int64_t count = std::min(rows, columns);
  const Tensor normal = random(spec, {length, count}, {Distribution::normal, 0.0, 1.0}, source);

  const Tensor vectors(DType::float64, {count, length});
  const std::span<double> v = vectors.as<double>();
  for (std::int64_t i = 0; i < length; ++i)
    for (std::int64_t j = 0; j < count; ++j) v[static_cast<std::size_t>(j * length + i)] = normal.at(i * count + j);
  orthogonalize(v, count, length, source.threads);

  Tensor out(spec.dtype, spec.shape);
  const bool wide = rows < columns;
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t i = 0; i < length; ++i)
      out.set(wide ? j * length + i : i * count + j,
              spec.initializer.gain * v[static_cast<std::size_t>(j * length + i)]);
  return out;
}

/// Matches the closure in LSTMCell.build (keras/src/layers/rnn/lstm.py): (initial(units), ones(units), initial(2
/// units)).
Tensor unit_forget_bias(const WeightSpec& spec, Source source) {
  if (spec.shape.rank() != 1 || spec.shape[0] % 4 != 0)
    throw failure(spec, fmt::format("four gates need equal parts of one axis, but the shape is {}", spec.shape.str()));
  const Dim units = spec.shape[0] / 4;
  Tensor out = filled(spec, 1.0);
  WeightSpec part = spec;
  part.initializer.unit_forget = false;
  const auto draw = [&](Dim first, Dim size) {
    part.shape = {size};
    const Tensor drawn = initialize(part, source.seed, source.threads);
    for (Dim i = 0; i < size; ++i) out.set(first + i, drawn.at(i));
  };
  draw(0, units);
  draw(2 * units, 2 * units);
  return out;
}

}  // namespace

Tensor initialize(const WeightSpec& spec, std::uint64_t seed, int threads) {
  const std::string& name = spec.initializer.class_name;
  if (!spec.shape.known()) throw failure(spec, fmt::format("its shape {} is not known", spec.shape.str()));
  if (spec.initializer.unit_forget) return unit_forget_bias(spec, {seed, threads});
  if (name == "Zeros") return filled(spec, 0.0);
  if (name == "Ones") return filled(spec, 1.0);
  if (name == "Constant") return constant(spec);
  if (name == "Identity") return identity(spec);
  if (name == "Orthogonal") return orthogonal(spec, {seed, threads});
  return random(spec, spec.shape, draw_of(spec), {seed, threads});
}

}  // namespace attn::weights
