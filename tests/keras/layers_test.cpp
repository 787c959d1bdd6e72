// The errors of layers, and the shapes in summaries; numbers are checked in tests/fixtures.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/keras/model.h"

namespace {

using namespace attn;

std::string layer_json(const std::string& class_name, const std::string& config) {
  return R"({"module": "keras.layers", "class_name": ")" + class_name + R"(", "config": {"name": "it", )" + config +
         R"(}, "registered_name": null})";
}

/// The layer's row in the summary of a model around it; otherwise the error.
std::string shown_shape(const std::string& class_name, const std::string& config, const Shape& input) {
  try {
    keras::ReadOptions options;
    options.input_shape = input;
    const auto model = keras::Model::read("it.json", layer_json(class_name, config), options);
    return model.summary().rows.back().output_shape_text;
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    return error.what();
  }
}

std::string nested(const std::string& class_name, const std::string& config) {
  return R"({"module": "keras.layers", "class_name": ")" + class_name + R"(", "config": {)" + config + "}}";
}

}  // namespace

TEST_CASE("layers: configs that Keras rejects are rejected with place and reason") {
  struct Row {
    std::string class_name, config;
    Shape input;
    std::string reason;
  };
  const std::string lstm = nested("LSTM", R"("name": "lstm", "units": 3)");
  const std::vector<Row> rows = {
      {"GroupNormalization", R"("groups": 0)", {4, 6}, "expected an integer > 0, or -1"},
      {"GroupNormalization", R"("groups": 4)", {4, 6}, "6 channels cannot be divided into 4 groups"},
      {"LayerNormalization", R"("axis": 3)", {4, 6}, "axis 3 is out of bounds"},
      {"LayerNormalization", R"("axis": [2, -1])", {4, 6}, "an axis is listed twice"},
      {"LayerNormalization", R"("axis": 1)", {kUnknown, 6}, "its sizes must be known"},
      {"Dot", R"("axes": [1, 2, 3])", {4, 6}, "expected an integer or a list of 2"},
      {"Dot", R"("axes": 0)", {4, 6}, "cannot contract the batch axis"},
      {"Reshape", R"("target_shape": [-1, -1])", {4, 6}, "only one dimension can be -1"},
      {"Reshape", R"("target_shape": [5, -1])", {4, 6}, "cannot be reshaped to (None, 5, None)"},
      {"Permute", R"("dims": [1, 3])", {4, 6}, "expected each of 1, 2"},
      {"RepeatVector", R"("n": 2)", {4, 6}, "expected an input of rank 2"},
      {"Cropping1D", R"("cropping": [2, 2])", {4, 6}, "leaves nothing of axis 1"},
      {"ZeroPadding2D", R"("padding": [1, -1])", {4, 6, 2}, "/config/padding/1"},
      {"UpSampling2D", R"("interpolation": "cubic")", {4, 6, 2}, "expected one of nearest"},
      {"MaxPooling1D", R"("padding": "causal")", {4, 6}, "expected one of valid, same"},
      {"Conv1D", R"("filters": 4, "kernel_size": 2, "groups": 3)", {4, 6}, "4 filters cannot be divided into 3 groups"},
      {"Conv1D",
       R"("filters": 4, "kernel_size": 2, "strides": 2, "dilation_rate": 2)",
       {9, 6},
       "cannot be used together"},
      {"Conv2D", R"("filters": 4, "kernel_size": 2, "padding": "causal")", {4, 6, 2}, "expected one of valid, same"},
      {"Conv2DTranspose", R"("filters": 4, "kernel_size": 2, "output_padding": 1)", {4, 6, 2}, "less than strides"},
      {"Conv1DTranspose",
       R"("filters": 1, "kernel_size": 4611686018427387904, "dilation_rate": 4)",
       {4, 6},
       "too large"},
      {"EinsumDense", R"("equation": "ab,bc", "output_shape": 3)", {4}, "expected an equation"},
      {"EinsumDense",
       R"("equation": "ab,bc->ac", "output_shape": 3, "bias_axes": "z")",
       {4},
       "does not have all of these"},
      {"EinsumDense", R"("equation": "ab,zc->ac", "output_shape": 3)", {4}, "neither in the input nor in the output"},
      {"EinsumDense", R"("equation": "ab,bc->ac", "output_shape": [3])", {4, 6}, "does not fit an input"},
      {"EinsumDense", R"("equation": "abc,cde->abde", "output_shape": [3])", {4, 6}, "output_shape needs 3 dimensions"},
      {"ReLU", R"("negative_slope": -1)", {4}, "expected a number >= 0"},
      {"PReLU", R"("shared_axes": [3])", {4, 6}, "shared_axes holds 3"},
      {"Normalization", R"("mean": 1.0)", {4}, "are needed together"},
      {"Normalization", R"("mean": [1, [2]], "variance": 1)", {4}, "expected a number"},
      {"GaussianNoise", R"("stddev": 2)", {4}, "expected a number from 0 to 1"},
      {"LSTM", R"("units": 3, "activation": "glu")", {4, 6}, "needs an activation that keeps the shape"},
      {"LSTM", R"("units": 3, "time_major": true)", {4, 6}, "time in front"},
      {"LSTM", R"("units": 4611686018427387904)", {4, 6}, "units are too many"},
      {"GRU", R"("units": 3)", {4, 6, 2}, "expected an input (batch, time, width)"},
      {"RNN", R"("cell": )" + lstm, {4, 6}, "expected a recurrent cell, got a LSTM"},
      {"Bidirectional", R"("layer": )" + nested("Dense", R"("units": 3)"), {4, 6}, "wraps recurrent layers"},
      {"Bidirectional", R"("layer": )" + lstm + R"(, "backward_layer": )" + lstm, {4, 6}, "must go backwards"},
      {"Bidirectional", R"("merge_mode": "or", "layer": )" + lstm, {4, 6}, "expected one of concat"},
      {"TimeDistributed", R"("layer": )" + lstm, {4}, "expected an input (batch, time"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.class_name);
    CAPTURE(row.config);
    const std::string got = shown_shape(row.class_name, row.config, row.input);
    CAPTURE(got);
    CHECK(got.find(row.reason) != std::string::npos);
  }
}

TEST_CASE("layers: shapes with unknown dimensions equal Keras's") {
  struct Row {
    std::string class_name, config;
    Shape input;
    std::string shape;
  };
  const Shape sequence = {kUnknown, 6};
  const std::vector<Row> rows = {
      {"Add", R"("dtype": "float32")", sequence, "(None, None, 6)"},
      {"Concatenate", R"("axis": 1)", sequence, "(None, None, 6)"},
      {"Dot", R"("axes": 2)", sequence, "(None, None, None)"},
      {"Reshape", R"("target_shape": [3, -1, 2])", sequence, "(None, 3, None, 2)"},
      {"Reshape", R"("target_shape": [null, 12])", {4, 6}, "(None, None, 12)"},
      {"Flatten", R"("data_format": null)", sequence, "(None, None)"},
      {"GroupNormalization", R"("groups": 3)", {kUnknown, kUnknown, 6}, "(None, None, None, 6)"},
      {"Conv1D", R"("filters": 4, "kernel_size": 3, "padding": "causal", "strides": 2)", sequence, "(None, None, 4)"},
      {"Conv1DTranspose", R"("filters": 4, "kernel_size": 3, "strides": 2)", sequence, "(None, None, 4)"},
      {"Conv1DTranspose", R"("filters": 4, "kernel_size": 3, "strides": 2)", {5, 6}, "(None, 11, 4)"},
      {"EinsumDense", R"("equation": "abc,cd->abd", "output_shape": [null, 8])", {5, 6}, "(None, None, 8)"},
      {"EinsumDense", R"("equation": "...c,cd->...d", "output_shape": 8)", {5, 6}, "(None, 5, 8)"},
      {"LSTM", R"("units": 3, "return_sequences": true, "return_state": true)", sequence,
       "[(None, None, 3), (None, 3), (None, 3)]"},
      {"Bidirectional", R"("merge_mode": null, "layer": )" + nested("GRU", R"("units": 3)"), sequence,
       "[(None, 3), (None, 3)]"},
      {"TimeDistributed", R"("layer": )" + nested("Flatten", ""), {kUnknown, 5, 6}, "(None, None, 30)"},
      {"TimeDistributed", R"("layer": )" + nested("LSTM", R"("units": 3)"), {kUnknown, kUnknown, 6}, "(None, None, 3)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.class_name);
    CAPTURE(row.config);
    CHECK(shown_shape(row.class_name, row.config, row.input) == row.shape);
  }
}

TEST_CASE("layers: a summary of 10^12 parameters allocates no weights") {
  CHECK(shown_shape("LSTM", R"("units": 500000000)", {4, 6}) == "(None, 500000000)");
  CHECK(shown_shape("EinsumDense", R"("equation": "ab,bc->ac", "output_shape": 1000000000000)", {4}) ==
        "(None, 1000000000000)");
}

TEST_CASE("layers: axes of a built layer are written as lists, as in Keras") {
  const std::string text = layer_json("LayerNormalization", R"("axis": -1)");
  keras::ConfigOptions options;
  options.format = keras::ConfigFormat::python;
  CHECK(keras::Model::read("it.json", text).config(options).find("'axis': -1,") != std::string::npos);
  keras::ReadOptions built;
  built.input_shape = Shape{4, 6};
  CHECK(keras::Model::read("it.json", text, built).config(options).find("'axis': [-1],") != std::string::npos);
}

TEST_CASE("layers: keys are written only for Keras versions that have them") {
  const auto config = [](const std::string& class_name, const std::string& fields, int version) {
    keras::ConfigOptions options;
    options.format = keras::ConfigFormat::python;
    options.version = version;
    return keras::Model::read("it.json", layer_json(class_name, fields)).config(options);
  };
  const auto has = [](const std::string& text, const std::string& key) {
    return text.find("'" + key + "'") != std::string::npos;
  };
  CHECK_FALSE(has(config("BatchNormalization", R"("axis": 1)", 306), "renorm"));
  CHECK(has(config("BatchNormalization", R"("axis": 1)", 314), "renorm"));
  CHECK_FALSE(has(config("Conv1DTranspose", R"("filters": 2, "kernel_size": 2)", 314), "output_padding"));
  CHECK(has(config("Conv1DTranspose", R"("filters": 2, "kernel_size": 2)", 315), "output_padding"));
  CHECK_FALSE(has(config("ELU", R"("alpha": 1.0)", 306), "alpha"));
  // Keras 3.6 accepts an alpha but does not write it.
  CHECK(has(config("ELU", R"("alpha": 0.5)", 306), "alpha"));
  CHECK(config("ELU", R"("alpha": 0.5)", 315).find("{'name': 'it', 'alpha': 0.5, 'trainable': True") == 0);
}

TEST_CASE("layers: Bidirectional derives its backward layer from the forward one") {
  const std::string layer = nested("LSTM", R"("name": "lstm", "units": 3, "return_sequences": true)");
  const std::string text = layer_json("Bidirectional", R"("layer": )" + layer);
  keras::ReadOptions options;
  options.input_shape = Shape{4, 6};
  const auto model = keras::Model::read("it.json", text, options);
  std::vector<std::string> paths;
  for (const auto& weight : model.weights()) paths.push_back(weight.path);
  CHECK(paths ==
        std::vector<std::string>{"it/forward_lstm/lstm_cell/kernel", "it/forward_lstm/lstm_cell/recurrent_kernel",
                                 "it/forward_lstm/lstm_cell/bias", "it/backward_lstm/lstm_cell/kernel",
                                 "it/backward_lstm/lstm_cell/recurrent_kernel", "it/backward_lstm/lstm_cell/bias"});
  keras::ConfigOptions python;
  python.format = keras::ConfigFormat::python;
  const std::string config = model.config(python);
  CHECK(config.find("'go_backwards': True") != std::string::npos);
  CHECK(config.find("'zero_output_for_mask': False") == std::string::npos);
}
