// The loss and the metrics of a model over data, as text.
#pragma once

#include <cstdint>
#include <string>

#include "attn/report/format.h"
#include "attn/report/values.h"
#include "attn/train/fit.h"

namespace attn::report {

struct EvaluationReport {
  Setting setting;
  std::string loss;  ///< "sparse_categorical_crossentropy"
  std::int64_t rows = 0, batch_size = 0;
  train::Logs values;  ///< sorted by name, as Keras prints them
  double seconds = 0;
};

/// table: a row for each value. json: "attn.evaluate/1".
[[nodiscard]] std::string render(Format format, const EvaluationReport& report);

}  // namespace attn::report
