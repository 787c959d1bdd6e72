// The weights of a file, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"
#include "attn/report/format.h"
#include "attn/run/compare_weights.h"

namespace attn::report {

/// One array. The statistics are over its finite elements, and 0 if there are none.
struct ArrayReport {
  std::string name;
  Shape shape;
  DType dtype = DType::float32;
  std::int64_t elements = 0, bytes = 0;
  double min = 0, max = 0, mean = 0, std = 0;
  std::int64_t nan_count = 0, inf_count = 0, zeros = 0;
  std::string sha256;  ///< SHA-256 of the array's bytes; "" if not requested
};

/// The result of matching a file with a model.
struct ModelCheck {
  struct Weight {
    std::string name;
    Shape expected, found;  ///< `found` is unset for a missing weight, `expected` for an extra one
    DType expected_dtype = DType::float32, found_dtype = DType::float32;
  };
  std::string model;
  std::int64_t weights = 0;  ///< number of weights in the model
  std::vector<Weight> missing, extra, mismatched;
  [[nodiscard]] bool pass() const { return missing.empty() && extra.empty() && mismatched.empty(); }
};

struct WeightsReport {
  std::string file;
  std::vector<ArrayReport> arrays;
  std::optional<ModelCheck> check;
};

/// table: the arrays, their totals, and the result of the check; markdown; csv: a record for each array; json
/// ("attn.weights/1")
[[nodiscard]] std::string render(Format format, const WeightsReport& report);

/// A file that a command has written.
struct SavedReport {
  std::string file;
  std::int64_t weights = 0, elements = 0, bytes = 0;
  struct Source {
    std::string array, weight;
  };
  std::vector<Source> sources;  ///< the source of each weight, if names were translated
};

/// table: one line; json: "attn.<command>/1"
[[nodiscard]] std::string render(Format format, const SavedReport& report, const std::string& command);

struct DiffReport {
  std::string a, b;  ///< names of the files
  double rtol = 0, atol = 0;
  run::WeightsComparison result;
};

/// table: the differences, and the number of equal arrays; markdown; csv: a record for each array of either side; json:
/// "attn.weights/1" with the member "diff" instead of "arrays"
[[nodiscard]] std::string render(Format format, const DiffReport& report);

}  // namespace attn::report
