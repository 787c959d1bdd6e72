#include "attn/weights/initialize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "attn/base/rng.h"
#include "attn/io/tensor_file.h"
#include "support.h"

namespace attn::weights {
namespace {

using graph::Initializer;
using graph::WeightSpec;
using nlohmann::json;

Initializer initializer_of(const json& entry) {
  const json& config = entry["config"];
  Initializer out = initializer(entry["class_name"]);
  const auto take = [&](const char* key, auto& value) {
    if (config.contains(key) && !config[key].is_null()) config[key].get_to(value);
  };
  take("scale", out.scale);
  take("mode", out.mode);
  take("distribution", out.distribution);
  take("mean", out.mean);
  take("stddev", out.stddev);
  take("minval", out.minval);
  take("maxval", out.maxval);
  take("gain", out.gain);
  take("value", out.value);
  take("input_axes", out.input_axes);
  take("output_axes", out.output_axes);
  if (config.contains("seed")) out.seed = config["seed"].get<std::int64_t>();
  return out;
}

/// The distance of two numbers in steps of the dtype at the larger one.
double steps_between(double a, double b, DType dtype) {
  const std::map<DType, int> digits = {
      {DType::float64, 53}, {DType::float32, 24}, {DType::float16, 11}, {DType::bfloat16, 8}};
  if (a == b) return 0.0;
  const int exponent = std::max(std::ilogb(std::max(std::fabs(a), std::fabs(b))), -14);
  return std::fabs(a - b) / std::ldexp(1.0, exponent + 1 - digits.at(dtype));
}

TEST_CASE("initialize: an integer seed gives the numbers of Keras on TensorFlow") {
  std::ifstream file(data_path("initializers.json"));
  const json cases = json::parse(file);
  std::map<std::string, Tensor> expected;
  for (const NamedTensor& array : io::read_tensors(data_path("initializers.npz"))) expected[array.name] = array.tensor;
  REQUIRE(cases.size() == expected.size());
  for (const json& entry : cases) {
    CAPTURE(entry.dump());
    const Shape shape(entry["shape"].get<std::vector<Dim>>());
    const DType dtype = *dtype_of(entry["dtype"].get<std::string>());
    const Tensor drawn = initialize(weight("w", shape, initializer_of(entry), dtype), 0);
    const Tensor& keras = expected[entry["key"]];
    REQUIRE(drawn.dtype() == dtype);
    REQUIRE(drawn.shape() == shape);
    REQUIRE(keras.shape() == shape);
    const std::string name = entry["class_name"];
    // Normals: logf and sincosf are accurate to the last bit, and two roundings follow. Orthogonal: TensorFlow
    // factorizes in the weight's own precision.
    const bool normal = name.find("Normal") != std::string::npos || name == "VarianceScaling";
    double worst_steps = 0.0;
    double worst = 0.0;
    for (std::int64_t i = 0; i < drawn.size(); ++i) {
      worst = std::max(worst, std::fabs(drawn.at(i) - keras.at(i)));
      worst_steps = std::max(worst_steps, steps_between(drawn.at(i), keras.at(i), dtype));
    }
    if (name == "Orthogonal") {
      CHECK(worst <= (dtype == DType::float64 ? 1e-14 : 1e-6));
    } else {
      CHECK(worst_steps <= (normal ? 1.0 : 0.0));
    }
  }
}

struct Moments {
  double mean = 0.0, stddev = 0.0, min = 0.0, max = 0.0;
};

Moments moments_of(const Tensor& tensor) {
  Moments out{0.0, 0.0, tensor.at(0), tensor.at(0)};
  const auto count = static_cast<double>(tensor.size());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    out.mean += tensor.at(i) / count;
    out.min = std::min(out.min, tensor.at(i));
    out.max = std::max(out.max, tensor.at(i));
  }
  for (std::int64_t i = 0; i < tensor.size(); ++i) out.stddev += std::pow(tensor.at(i) - out.mean, 2) / count;
  out.stddev = std::sqrt(out.stddev);
  return out;
}

// With 20,000 draws, the standard error of a standard normal's mean is 0.007 and that of its deviation 0.005. The draws
// are always the same; the bounds are four standard errors.
TEST_CASE("initialize: a weight without its own seed has its distribution's moments") {
  const Shape shape{100, 200};
  Initializer normal = initializer("RandomNormal");
  normal.mean = 2.0;
  normal.stddev = 3.0;
  Moments m = moments_of(initialize(weight("a", shape, normal), 0));
  CHECK(m.mean == doctest::Approx(2.0).epsilon(0.04));
  CHECK(m.stddev == doctest::Approx(3.0).epsilon(0.02));
  CHECK(m.max > 2.0 + 3.0 * 3.0);

  normal.class_name = "TruncatedNormal";
  m = moments_of(initialize(weight("b", shape, normal), 0));
  CHECK(m.mean == doctest::Approx(2.0).epsilon(0.04));
  CHECK(m.stddev == doctest::Approx(3.0 * 0.8796).epsilon(0.02));
  CHECK(m.min > -4.0);
  CHECK(m.max < 8.0);
  CHECK(m.max > 7.9);

  m = moments_of(initialize(weight("c", shape, initializer("GlorotUniform")), 0));
  CHECK(std::fabs(m.mean) < 0.001);
  CHECK(m.max <= static_cast<float>(std::sqrt(6.0 / 300.0)));
  CHECK(m.max > 0.141);
  CHECK(m.min < -0.141);

  m = moments_of(initialize(weight("d", shape, initializer("HeNormal")), 0));
  CHECK(m.stddev == doctest::Approx(std::sqrt(2.0 / 100.0)).epsilon(0.02));
}

TEST_CASE("initialize: only the seed and the path determine a weight") {
  const WeightSpec spec = weight("dense/kernel", {4, 4}, initializer("GlorotUniform"));
  const Tensor first = initialize(spec, 7);
  static_cast<void>(initialize(weight("other", {9}, initializer("RandomNormal")), 7));
  CHECK(same_bytes(first, initialize(spec, 7)));
  CHECK_FALSE(same_bytes(first, initialize(spec, 8)));
  CHECK_FALSE(same_bytes(first, initialize(weight("dense_1/kernel", {4, 4}, initializer("GlorotUniform")), 7)));
}

TEST_CASE("initialize: draws without a seed come from the stream of the command's seed and the path") {
  Initializer uniform = initializer("RandomUniform");
  uniform.minval = -1.0;
  uniform.maxval = 3.0;
  const Tensor drawn = initialize(weight("w", {5}, uniform, DType::float64), 11);
  RandomStream stream(11, "w");
  for (std::int64_t i = 0; i < drawn.size(); ++i) CHECK(drawn.at(i) == -1.0 + 4.0 * stream.uniform());
}

TEST_CASE("initialize: batched draws on any number of threads equal single draws") {
  struct Distribution {
    const char* class_name;
    double first, second;
    double (*next)(RandomStream& stream);
  };
  const auto uniform = [](RandomStream& stream) { return stream.uniform(); };
  const auto normal = [](RandomStream& stream) { return stream.normal(); };
  const auto truncated = [](RandomStream& stream) {
    for (;;)
      if (const double value = stream.normal(); std::fabs(value) < 2.0) return value;
  };
  const std::vector<Distribution> distributions = {
      {"RandomUniform", -0.05, 0.05, uniform},   {"RandomNormal", 0.0, 0.02, normal},
      {"RandomNormal", 3.0, 1e-3, normal},       {"RandomNormal", 0.0, 0.0, normal},
      {"RandomNormal", -1e-30, 1e-38, normal},   {"TruncatedNormal", 0.0, 0.02, truncated},
      {"TruncatedNormal", 100.0, 7.0, truncated}};
  for (const Distribution& distribution : distributions) {
    Initializer initializer_given = initializer(distribution.class_name);
    initializer_given.minval = initializer_given.mean = distribution.first;
    initializer_given.maxval = initializer_given.stddev = distribution.second;
    const bool is_uniform = distribution.next == static_cast<double (*)(RandomStream&)>(uniform);
    const double factor = is_uniform ? distribution.second - distribution.first : distribution.second;
    for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
      // 300,000 exceeds the number of truncated normals that are drawn ahead.
      for (const std::int64_t size : {1, 2, 3, 5, 511, 4096, 4097, 300'000}) {
        RandomStream stream(3, "w");
        const Tensor expected(dtype, {size});
        for (std::int64_t i = 0; i < size; ++i)
          expected.set(i, distribution.first + factor * distribution.next(stream));
        for (const int threads : {1, 2, 5}) {
          CAPTURE(distribution.class_name);
          CAPTURE(distribution.first);
          CAPTURE(name_of(dtype));
          CAPTURE(size);
          CAPTURE(threads);
          CHECK(same_bytes(initialize(weight("w", {size}, initializer_given, dtype), 3, threads), expected));
        }
      }
    }
  }
}

TEST_CASE("initialize: seeded numbers and orthogonal vectors do not depend on threads") {
  Initializer seeded = initializer("TruncatedNormal");
  seeded.seed = 9;
  for (const Initializer& one : {seeded, initializer("Orthogonal")})
    CHECK(same_bytes(initialize(weight("w", {90, 130}, one), 1, 1), initialize(weight("w", {90, 130}, one), 1, 3)));
}

TEST_CASE("initialize: an integer seed does not depend on the path or the command's seed") {
  Initializer seeded = initializer("HeNormal");
  seeded.seed = 3;
  CHECK(same_bytes(initialize(weight("a", {4, 4}, seeded), 1), initialize(weight("b", {4, 4}, seeded), 2)));
}

TEST_CASE("initialize: Orthogonal has orthonormal rows or columns, whichever are fewer") {
  for (const Shape& shape : {Shape{40, 21}, Shape{5, 3, 33}, Shape{17, 17}, Shape{1, 4}, Shape{4, 1}, Shape{0, 3}}) {
    CAPTURE(shape.str());
    const Tensor q = initialize(weight("w", shape, initializer("Orthogonal"), DType::float64), 5);
    const std::int64_t columns = shape.back();
    const std::int64_t rows = shape.slice(0, shape.rank() - 1).size();
    const bool wide = rows < columns;
    const std::int64_t count = std::min(rows, columns), length = std::max(rows, columns);
    const auto at = [&](std::int64_t vector, std::int64_t i) {
      return wide ? q.at(vector * columns + i) : q.at(i * columns + vector);
    };
    for (std::int64_t a = 0; a < count; ++a) {
      for (std::int64_t b = 0; b <= a; ++b) {
        double dot = 0.0;
        for (std::int64_t i = 0; i < length; ++i) dot += at(a, i) * at(b, i);
        CHECK(std::fabs(dot - (a == b ? 1.0 : 0.0)) < 1e-12);
      }
    }
  }
}

TEST_CASE("initialize: a constant may be a number or an array of the weight's size") {
  Initializer constant = initializer("Constant");
  constant.value = 2.5;
  CHECK(initialize(weight("w", {2}, constant, DType::bfloat16), 0).at(1) == 2.5);
  constant.value = 0.1;
  CHECK(initialize(weight("w", {2}, constant, DType::float64), 0).at(1) == 0.1F);
  constant.values = {1.0, 2.0};
  CHECK(initialize(weight("w", {2}, constant, DType::int32), 0).at(1) == 2.0);
  for (const Shape& shape : {Shape{3}, Shape{2, 2}}) {
    CHECK(refusal([&] { static_cast<void>(initialize(weight("w", shape, constant), 0)); }) ==
          "weight 'w': its constant has 2 elements, but the shape is " + shape.str());
  }
}

TEST_CASE("initialize: an LSTM's bias is one for the forget gate, and drawn separately for the gates around it") {
  Initializer drawn = initializer("RandomUniform");
  drawn.seed = 5;
  const Tensor first = initialize(weight("lstm/bias", {3}, drawn), 0);
  const Tensor last = initialize(weight("lstm/bias", {6}, drawn), 0);
  for (Initializer whole : {initializer("Zeros"), drawn}) {
    const bool zeros = whole.class_name == "Zeros";
    whole.unit_forget = true;
    const Tensor bias = initialize(weight("lstm/bias", {12}, whole), 0);
    for (std::int64_t i = 0; i < 3; ++i) {
      CHECK(bias.at(i) == (zeros ? 0.0 : first.at(i)));
      CHECK(bias.at(3 + i) == 1.0);
    }
    for (std::int64_t i = 0; i < 6; ++i) CHECK(bias.at(6 + i) == (zeros ? 0.0 : last.at(i)));
    CHECK(initialize(weight("lstm/bias", {0}, whole), 0).size() == 0);
    CHECK(refusal([&] { static_cast<void>(initialize(weight("w", {6}, whole), 0)); }) ==
          "weight 'w': four gates need equal parts of one axis, but the shape is (6,)");
  }
}

TEST_CASE("initialize: an initializer that does not suit the weight is rejected in one sentence") {
  const auto refused = [](const WeightSpec& spec) { return refusal([&] { static_cast<void>(initialize(spec, 0)); }); };
  CHECK(refused(weight("a/b", {2}, initializer("GlorotUnifrom"))) ==
        "weight 'a/b': unknown initializer 'GlorotUnifrom' (did you mean 'GlorotUniform'?)");
  CHECK(refused(weight("w", {2}, initializer("Identity"))) ==
        "weight 'w': Identity needs a matrix, but the shape is (2,)");
  CHECK(refused(weight("w", {2}, initializer("Orthogonal"))) ==
        "weight 'w': Orthogonal needs at least two axes, but the shape is (2,)");
  CHECK(refused(weight("w", {2, 2}, initializer("HeNormal"), DType::int32)) ==
        "weight 'w': HeNormal draws floating-point numbers, but the weight is of int32");
  CHECK(refused(weight("w", {2, kUnknown})) == "weight 'w': its shape (2, None) is not known");
  Initializer scaling = initializer("VarianceScaling");
  scaling.mode = "fan";
  CHECK(refused(weight("w", {2, 2}, scaling)) ==
        "weight 'w': the mode of its initializer must be fan_in, fan_out or fan_avg, got 'fan'");
  scaling = initializer("VarianceScaling");
  scaling.distribution = "cauchy";
  CHECK(refused(weight("w", {2, 2}, scaling)) ==
        "weight 'w': the distribution of its initializer must be uniform, truncated_normal or untruncated_normal, got "
        "'cauchy'");
  scaling = initializer("VarianceScaling");
  scaling.scale = 0.0;
  CHECK(refused(weight("w", {2, 2}, scaling)) == "weight 'w': the scale of its initializer must be > 0, got 0");
  scaling = initializer("GlorotUniform");
  scaling.input_axes = {2};
  CHECK(refused(weight("w", {2, 2}, scaling)) ==
        "weight 'w': its GlorotUniform counts axis 2 among its inputs or outputs, but the shape is (2, 2)");
}

TEST_CASE("initialize: a weight that does not fit in memory is an error") {
  try {
    static_cast<void>(initialize(weight("w", {std::int64_t{1} << 40, std::int64_t{1} << 20}), 0));
    FAIL("it was made");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::no_memory);
  }
}

}  // namespace
}  // namespace attn::weights
