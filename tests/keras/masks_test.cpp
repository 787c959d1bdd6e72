// Traces of masks: the calls that create, use, keep or lose one. tests/oracle/check_masks.py compares this with real
// Keras.
#include "attn/keras/masks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/keras/model.h"

namespace {

using namespace attn;
using keras::MaskRow;
using keras::MaskTrace;

/// A layer of a Functional config; `calls` are the nodes, each with the arguments of one call.
std::string layer(const std::string& class_name, const std::string& name, const std::string& config,
                  const std::vector<std::string>& calls, const std::string& module = "keras.layers") {
  std::string nodes;
  for (const std::string& call : calls)
    nodes += (nodes.empty() ? "" : ",") + (R"({"args": [)" + call + R"(], "kwargs": {}})");
  return R"({"module": ")" + module + R"(", "class_name": ")" + class_name + R"(", "config": {"name": ")" + name +
         "\"" + (config.empty() ? "" : ", " + config) + R"(}, "registered_name": null, "name": ")" + name +
         R"(", "inbound_nodes": [)" + nodes + "]}";
}

/// The result of call `node` of a layer.
std::string from(const std::string& name, int node = 0, int tensor = 0) {
  return R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 7, 8], "dtype": "float32", "keras_history": [")" +
         name + "\", " + std::to_string(node) + ", " + std::to_string(tensor) + "]}}";
}

std::string functional(const std::string& name, const std::vector<std::string>& layers, const std::string& input,
                       const std::string& output) {
  std::string list;
  for (const std::string& one : layers) list += (list.empty() ? "" : ",") + one;
  return R"("name": ")" + name + R"(", "layers": [)" + list + R"(], "input_layers": [[")" + input +
         R"(", 0, 0]], "output_layers": [[")" + output + R"(", 0, 0]])";
}

const std::string kTokens = layer("InputLayer", "tokens", R"("batch_shape": [null, 7], "dtype": "int32")", {});
const std::string kEmbedding = layer("Embedding", "embedding", R"("input_dim": 9, "output_dim": 8, "mask_zero": true)",
                                     {R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 7],
                                       "dtype": "int32", "keras_history": ["tokens", 0, 0]}})"});

/// The trace of a model with a masked embedding followed by `layers`; the last one is the output.
MaskTrace trace_of(std::vector<std::string> layers, const std::string& output) {
  layers.insert(layers.begin(), {kTokens, kEmbedding});
  const std::string text = R"({"module": "keras", "class_name": "Functional", "config": {)" +
                           functional("model", layers, "tokens", output) + R"(}, "registered_name": "Functional"})";
  return keras::Model::read("it.json", text, {}).masks();
}

const MaskRow& row_of(const MaskTrace& trace, const std::string& name, int call = 0) {
  const auto found = std::find_if(trace.rows.begin(), trace.rows.end(),
                                  [&](const MaskRow& row) { return row.name == name && row.call == call; });
  REQUIRE(found != trace.rows.end());
  return *found;
}

const Shape kMask{kUnknown, 7};

}  // namespace

TEST_CASE("masks: Embedding creates a mask, Dropout passes it on, attention uses it, Flatten drops it") {
  const MaskTrace trace = trace_of({layer("Dropout", "dropout", R"("rate": 0.1)", {from("embedding")}),
                                    layer("MultiHeadAttention", "attention", R"("num_heads": 2, "key_dim": 4)",
                                          {from("dropout") + "," + from("dropout")}),
                                    layer("Flatten", "flatten", "", {from("attention")})},
                                   "flatten");
  REQUIRE(trace.rows.size() == 4);
  const MaskRow& embedding = row_of(trace, "embedding");
  CHECK((embedding.makes && !embedding.keeps && !embedding.drops));
  CHECK(embedding.outputs.at(0).mask == kMask);
  const MaskRow& dropout = row_of(trace, "dropout");
  CHECK((dropout.keeps && dropout.uses.empty()));
  CHECK(dropout.inputs.at(0).of == "embedding");
  const MaskRow& attention = row_of(trace, "attention");
  CHECK(attention.uses == std::vector<std::string>{"query_mask", "value_mask"});
  CHECK((attention.keeps && attention.takes_off));
  const MaskRow& flatten = row_of(trace, "flatten");
  CHECK((flatten.drops && !flatten.keeps));
  CHECK_FALSE(flatten.outputs.at(0).mask);
  REQUIRE(trace.warnings.size() == 1);
  CHECK(trace.warnings[0] ==
        "'flatten' (Flatten) does not support masks: that of 'attention' ends there, and Keras warns");
}

TEST_CASE("masks: attention that removes the residual's mask is reported, and so is the addition that drops it") {
  const MaskTrace trace = trace_of({layer("MultiHeadAttention", "attention", R"("num_heads": 2, "key_dim": 4)",
                                          {from("embedding") + "," + from("embedding")}),
                                    layer("Add", "add", "", {from("embedding") + "," + from("attention")}, "keras.ops"),
                                    layer("GlobalAveragePooling1D", "mean", "", {from("add")})},
                                   "mean");
  CHECK(row_of(trace, "add").drops);
  CHECK_FALSE(row_of(trace, "add").inputs.at(0).mask);
  CHECK(row_of(trace, "mean").uses.empty());
  CHECK(trace.warnings ==
        std::vector<std::string>{
            "'attention' removed the mask of the output of 'embedding', so 'add' (Add) reads it without one",
            "'add' (Add) silently drops the mask of 'attention', as all operations do"});
}

TEST_CASE("masks: a lost mask is a warning only if a later layer uses masks and gets none") {
  const std::string attention = layer("MultiHeadAttention", "attention", R"("num_heads": 2, "key_dim": 4)",
                                      {from("embedding") + "," + from("embedding")});
  const std::string add = layer("Add", "add", "", {from("embedding") + "," + from("attention")}, "keras.ops");
  CHECK(trace_of({attention, add, layer("Dense", "dense", R"("units": 2)", {from("add")})}, "dense").warnings.empty());

  std::string pool = layer("GlobalAveragePooling1D", "mean", "", {from("add")});
  const std::string none = R"("kwargs": {})";
  pool.replace(pool.find(none), none.size(), R"("kwargs": {"mask": )" + from("tokens") + "}");
  const MaskTrace handed = trace_of({attention, add, pool}, "mean");
  CHECK(row_of(handed, "mean").uses == std::vector<std::string>{"mask"});
  CHECK(handed.warnings.empty());

  // Layers between the loss of a mask and the layer that lacks it make no difference.
  const MaskTrace far = trace_of({attention, add, layer("LayerNormalization", "norm", "", {from("add")}),
                                  layer("GlobalAveragePooling1D", "mean", "", {from("norm")})},
                                 "mean");
  CHECK(far.warnings.size() == 2);
}

TEST_CASE("masks: attention probabilities carry a mask, which a Softmax uses") {
  std::string attention = layer("MultiHeadAttention", "attention", R"("num_heads": 2, "key_dim": 4)",
                                {from("embedding") + "," + from("embedding")});
  const std::string none = R"("kwargs": {})";
  attention.replace(attention.find(none), none.size(), R"("kwargs": {"return_attention_scores": true})");
  const MaskTrace trace = trace_of({attention, layer("Softmax", "softmax", "", {from("attention", 0, 1)})}, "softmax");
  const MaskRow& row = row_of(trace, "attention");
  REQUIRE(row.outputs.size() == 2);
  CHECK(row.outputs[1].mask == Shape{kUnknown, 1, 7, 7});
  REQUIRE(row_of(trace, "softmax").inputs.size() == 1);
  CHECK(row_of(trace, "softmax").inputs[0].mask == Shape{kUnknown, 1, 7, 7});
}

TEST_CASE("masks: a merge of two masks and a masked pooling are traced") {
  const MaskTrace trace = trace_of({layer("Masking", "masking", "", {from("embedding")}),
                                    layer("Add", "add", "", {"[" + from("embedding") + "," + from("masking") + "]"}),
                                    layer("GlobalAveragePooling1D", "mean", "", {from("add")})},
                                   "mean");
  CHECK(row_of(trace, "masking").merges);
  CHECK(row_of(trace, "add").merges);
  CHECK(row_of(trace, "add").outputs.at(0).mask == kMask);
  CHECK(row_of(trace, "mean").uses == std::vector<std::string>{"mask"});
  CHECK(trace.warnings.empty());
}

TEST_CASE("masks: calls in a nested model have separate rows, and repeated calls are counted") {
  const std::string inner =
      functional("sub",
                 {layer("InputLayer", "inner", R"("batch_shape": [null, 7, 8], "dtype": "float32")", {}),
                  layer("Dense", "dense", R"("units": 8)", {from("inner")})},
                 "inner", "dense");
  const MaskTrace trace = trace_of({R"({"module": "keras", "class_name": "Functional", "config": {)" + inner +
                                        R"(}, "registered_name": "Functional", "name": "sub", "inbound_nodes": [
                                      {"args": [)" +
                                        from("embedding") + R"(], "kwargs": {}},
                                      {"args": [)" +
                                        from("sub") + R"(], "kwargs": {}}]})",
                                    layer("GlobalAveragePooling1D", "mean", "", {from("sub", 1)})},
                                   "mean");
  CHECK(row_of(trace, "sub").level == 0);
  CHECK(row_of(trace, "sub", 1).level == 0);
  CHECK(row_of(trace, "dense").level == 1);
  CHECK(row_of(trace, "dense", 1).level == 1);
  CHECK(row_of(trace, "dense").keeps);
  CHECK(row_of(trace, "sub").keeps);
}

TEST_CASE("masks: a model without an input shape is rejected with the way out") {
  const std::string text =
      R"({"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": [)"
      R"({"module": "keras.layers", "class_name": "Dense", "config": {"name": "d", "units": 3}}]}})";
  try {
    static_cast<void>(keras::Model::read("it.json", text, {}).masks());
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    CHECK(error.field() == std::string("input_shape"));
  }
}
