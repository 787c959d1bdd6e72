// Tests of trainable parameters (keras/src/layers/layer.py, trainable_variables).
#include <doctest/doctest.h>

#include <string>

#include "attn/keras/model.h"

namespace {

using attn::keras::Model;
using attn::keras::Summary;

/// A Sequential on (None, 6, 8) with one layer.
Summary summary_of(const std::string& class_name, const std::string& config) {
  return Model::read("test", R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"batch_shape": [null, 6, 8], "name": "i"}},
      {"class_name": ")" + class_name +
                                 R"(", "config": {"name": "l", "trainable": false, )" + config + "}}]}}")
      .summary();
}

}  // namespace

TEST_CASE("trainable: a frozen Dense and a frozen LSTM have no trainable parameters") {
  const Summary dense = summary_of("Dense", R"("units": 3)");
  CHECK(dense.total_params == 27U);
  CHECK(dense.trainable_params == 0U);
  CHECK(dense.rows[0].trainable == false);
  CHECK(summary_of("LSTM", R"("units": 3)").trainable_params == 0U);
}

TEST_CASE("trainable: a frozen wrapper does not freeze its inner layer, as in Keras") {
  const Summary wrapped =
      summary_of("TimeDistributed", R"("layer": {"class_name": "Dense", "config": {"name": "d", "units": 3}})");
  CHECK(wrapped.trainable_params == 27U);
  CHECK(wrapped.rows[0].trainable == false);
  CHECK(wrapped.rows[0].trainable_params == 0U);
}

TEST_CASE("trainable: a frozen model has no trainable parameters") {
  const Summary frozen = Model::read("test", R"({"class_name": "Functional", "config": {"name": "m", "trainable": false,
      "layers": [{"class_name": "InputLayer", "name": "i", "config": {"batch_shape": [null, 8], "name": "i"},
                  "inbound_nodes": []},
                 {"class_name": "Dense", "name": "d", "config": {"name": "d", "units": 3}, "inbound_nodes": [{"args": [
                    {"class_name": "__keras_tensor__", "config": {"keras_history": ["i", 0, 0]}}], "kwargs": {}}]}],
      "input_layers": [["i", 0, 0]], "output_layers": [["d", 0, 0]]}})")
                             .summary();
  CHECK(frozen.trainable_params == 0U);
  CHECK(frozen.non_trainable_params == 27U);
}

TEST_CASE("trainable: a Sequential drops its own flag when it is read, as in Keras") {
  const Summary frozen = Model::read("test", R"({"class_name": "Sequential", "config": {"name": "s", "trainable": false,
      "layers": [{"class_name": "InputLayer", "config": {"batch_shape": [null, 8], "name": "i"}},
                 {"class_name": "Dense", "config": {"name": "d", "units": 3}}]}})")
                             .summary();
  CHECK(frozen.trainable_params == 27U);
}
