// Helpers of this module's tests.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "../places.h"
#include "../refusal.h"
#include "../temporary_folder.h"
#include "attn/attn.h"
#include "attn/io/tensor_file.h"

namespace attn::test {

/// A file or folder of a model that KerasHub has written, with what it computes (tests/data/README.md).
inline std::string generation_case(std::string_view path) {
  return in_repository("tests/data/generation/").append(path);
}

/// The arrays of a case: those that begin with "in_" are inputs of its model, the others are expected outputs.
struct Expected {
  std::map<std::string, Tensor> inputs, outputs;
};

inline Expected expected_of(const std::string& name) {
  Expected out;
  for (NamedTensor& array : io::read_tensors(generation_case(name + "/backbone.npz"))) {
    const bool input = array.name.starts_with("in_");
    (input ? out.inputs : out.outputs).emplace(input ? array.name.substr(3) : array.name, std::move(array.tensor));
  }
  return out;
}

/// For float32 sums of some dozen products, compared with float64.
inline constexpr double kTolerance = 1e-5;

/// The largest difference divided by the largest expected number. A NaN on only one side is infinitely far.
inline double relative_difference(const Tensor& got, const Tensor& expected) {
  REQUIRE(got.shape() == expected.shape());
  double difference = 0, largest = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double a = got.at(i), b = expected.at(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    difference = std::isnan(a) || std::isnan(b) ? INFINITY : std::max(difference, std::abs(a - b));
    largest = std::max(largest, std::abs(b));
  }
  return difference / largest;
}

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace attn::test
