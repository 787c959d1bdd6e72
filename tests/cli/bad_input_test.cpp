// Every error gives one line with file and location, the right exit code, and no partial file.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "../text.h"
#include "program.h"

using attn::test::contains;
using attn::test::fixture;
using attn::test::read_text;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;

namespace {

/// A model with one layer as JSON; `config` is the layer's.
std::string sequential(const std::string& class_name, const std::string& config) {
  return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
  {"class_name": "InputLayer", "config": {"batch_shape": [null, 4, 8], "name": "i"}},
  {"class_name": ")" +
         class_name + R"(", "config": )" + config + "}]}}";
}

struct Case {
  std::string name, text;
  const char* message;
};

}  // namespace

TEST_CASE("bad input: a wrong config is rejected with file, line, column, JSON pointer and exit code 3") {
  const std::vector<Case> cases = {
      {"broken JSON", "{\"input_shape\": [50, 512", "stdin:1:"},
      {"trailing text", "{} {}", "not valid JSON"},
      {"empty", "", "not valid JSON"},
      {"not an object", "[1, 2]", "expected an object, got a list"},
      {"no model", "{\"a\": 1}", "neither a Keras model nor a layer"},
      {"duplicate key", "{\"name\": \"a\",\n \"name\": \"b\"}", "stdin:2:7: the key 'name' occurs twice in one object"},
      {"too deep", std::string(100, '[') + std::string(100, ']'), "nesting deeper than 64"},
      {"truncated number", "{\"input_shape\": [50, 99999999999999999999]}", "an integer that 64 bits do not hold"},
      {"2^63", "{\"input_shape\": [50, 9223372036854775808]}", "2^63"},
      {"NaN", "{\"input_shape\": [50, NaN]}", "stdin:1:22: /input_shape/1: expected an integer ≥ 0, got NaN"},
      {"invalid UTF-8", "{\"name\": \"\xff\"}", "not valid JSON"},
      {"unknown class", sequential("Dens", "{\"name\": \"d\", \"units\": 2}"),
       "the layer 'Dens' is not known (did you mean 'Dense'?)"},
      {"unknown key", sequential("Dense", "{\"name\": \"d\", \"unit\": 2, \"units\": 2}"),
       "stdin:3:51: /config/layers/1/config/unit: unknown key (did you mean 'units'?)"},
      {"wrong type", sequential("Dense", "{\"name\": \"d\", \"units\": \"2\"}"),
       "/config/layers/1/config/units: expected an integer > 0, got \"2\""},
      {"a float for an integer", sequential("Dense", "{\"name\": \"d\", \"units\": 2.5}"),
       "expected an integer > 0, got 2.5"},
      {"a bool for an integer", sequential("Dense", "{\"name\": \"d\", \"units\": true}"),
       "expected an integer > 0, got true"},
      {"zero", sequential("Dense", "{\"name\": \"d\", \"units\": 0}"), "expected an integer > 0, got 0"},
      {"missing key", sequential("Dense", "{\"name\": \"d\"}"), "the key 'units' is missing"},
      {"unknown activation", sequential("Dense", "{\"name\": \"d\", \"units\": 2, \"activation\": \"rleu\"}"),
       "unknown activation 'rleu' (did you mean 'relu'?)"},
      {"unknown initializer",
       sequential("Dense", "{\"name\": \"d\", \"units\": 2, \"kernel_initializer\": \"glorot_unifrom\"}"),
       "did you mean 'glorot_uniform'?"},
      {"unknown regularizer", sequential("Dense", "{\"name\": \"d\", \"units\": 2, \"kernel_regularizer\": \"foo\"}"),
       "stdin:3:85: /config/layers/1/config/kernel_regularizer: unknown regularizer 'foo'"},
      {"unknown constraint",
       sequential("MultiHeadAttention",
                  "{\"name\": \"m\", \"num_heads\": 2, \"key_dim\": 2, \"bias_constraint\": \"non_negg\"}"),
       "/config/layers/1/config/bias_constraint: unknown constraint 'non_negg' (did you mean 'non_neg'?)"},
      {"a constraint where a regularizer stands",
       sequential("LayerNormalization", "{\"name\": \"n\", \"gamma_regularizer\": \"UnitNorm\"}"),
       "unknown regularizer 'UnitNorm'"},
      {"unknown regularizer of what any layer gives",
       sequential("Dropout", "{\"name\": \"d\", \"rate\": 0.5, \"activity_regularizer\": \"L3\"}"),
       "/config/layers/1/config/activity_regularizer: unknown regularizer 'L3' (did you mean 'L1', 'l1' or 'L2'?)"},
      {"a name of Keras 2 alone",
       sequential("Dense", "{\"name\": \"d\", \"units\": 2, \"kernel_regularizer\": \"l1_l2\"}"),
       "unknown regularizer 'l1_l2' (did you mean 'L1L2' or 'l1l2'?)"},
      {"a number for a regularizer", sequential("Dense", "{\"name\": \"d\", \"units\": 2, \"bias_regularizer\": 0.01}"),
       "/config/layers/1/config/bias_regularizer: expected the name of a regularizer, got 0.01"},
      {"a regularizer without a class",
       sequential("Dense", "{\"name\": \"d\", \"units\": 2, \"kernel_regularizer\": {\"l2\": 0.01}}"),
       "/config/layers/1/config/kernel_regularizer: the key 'class_name' is missing"},
      {"unknown dtype", sequential("Dense", "{\"name\": \"d\", \"units\": 2, \"dtype\": \"float31\"}"),
       "unknown dtype 'float31'"},
      {"code", sequential("Lambda", "{\"name\": \"l\"}"), "the layer 'Lambda' is refused: it carries Python code"},
      {"somebody's class", R"({"module": "my.code", "class_name": "Dense", "config": {"name": "d", "units": 2}})",
       "is not Keras's"},
      {"a registered class",
       R"({"class_name": "Dense", "registered_name": "Mine>Dense", "config": {"name": "d", "units": 2}})",
       "registered by custom code"},
      {"a function object",
       sequential("Dense", R"({"name": "d", "units": 2, "activation": {"module": "builtins", "class_name": "function",
                                "config": "eval", "registered_name": "function"}})"),
       "the function \"eval\" is not known; functions in a config are never run"},
      {"a function as a constraint",
       sequential("Dense", R"({"name": "d", "units": 2, "kernel_constraint": {"module": "builtins",
                                "class_name": "function", "config": "exec"}})"),
       "/config/layers/1/config/kernel_constraint/class_name: functions in a config are never run"},
      {"a foreign regularizer",
       sequential("Dense", R"({"name": "d", "units": 2, "kernel_regularizer": {"module": "os", "class_name": "system",
                                "config": {}}})"),
       "the class 'system' of the module 'os' is not Keras's"},
      {"a foreign initializer",
       sequential("Dense", R"({"name": "d", "units": 2, "kernel_initializer": {"module": "os", "class_name": "system",
                                "config": {"command": "touch pwned"}}})"),
       "unknown initializer 'system'"},
      {"a path for an activation", sequential("Dense", R"({"name": "d", "units": 2, "activation": "/etc/passwd"})"),
       "unknown activation '/etc/passwd'"},
      {"a URL for an initializer",
       sequential("Dense", R"({"name": "d", "units": 2, "kernel_initializer": "http://127.0.0.1/x"})"),
       "unknown initializer 'http://127.0.0.1/x'"},
      {"a path for numbers",
       sequential("Embedding", R"({"name": "e", "input_dim": 3, "output_dim": 2, "embeddings_initializer":
                                   {"class_name": "Constant", "config": {"value": "/etc/passwd"}}})"),
       "expected a number, got \"/etc/passwd\""},
      {"a vocabulary's path", sequential("StringLookup", R"({"name": "s", "vocabulary": "/etc/passwd"})"),
       "/vocabulary: a vocabulary's path or URL is never opened; give the list of its terms"},
      {"a term twice", sequential("StringLookup", R"({"name": "s", "vocabulary": ["a", "b", "a"]})"),
       "/vocabulary: the term 'a' occurs twice in the vocabulary"},
      {"a function for standardize",
       sequential("TextVectorization", R"({"name": "t", "standardize": {"class_name": "function", "config": "f"}})"),
       "/standardize: a function is Python code, which is never run; expected null or one of lower, strip_punctuation"},
      {"one_hot of texts that are split", sequential("TextVectorization", R"({"name": "t", "output_mode": "one_hot"})"),
       "/output_mode: rows of texts that are split have different lengths; 'one_hot' needs split=None"},
      {"weights of terms that are too few",
       sequential("TextVectorization",
                  R"({"name": "t", "output_mode": "tf_idf", "vocabulary": ["a", "b"], "idf_weights": [1.0]})"),
       "/idf_weights: 1 weights are given for 2 terms"},
      {"a salt of three", sequential("Hashing", R"({"name": "h", "num_bins": 3, "salt": [1, 2, 3]})"),
       "/salt: expected an integer or a list of two"},
      {"bins of floats", sequential("Hashing", R"({"name": "h", "num_bins": 3, "dtype": "float32"})"),
       "/dtype: with the output_mode 'int' it must be int32 or int64"},
      {"numbers for a layer of strings", sequential("StringLookup", R"({"name": "s", "vocabulary": ["a"]})"),
       "it reads strings; give it an Input of dtype 'string'"},
      {"a SavedModel's path", sequential("TFSMLayer", R"({"name": "s", "filepath": "/tmp"})"),
       "the layer 'TFSMLayer' is refused: it loads a SavedModel from a path, which is never opened"},
      {"a quantized dtype", sequential("Dense", R"({"name": "d", "units": 2, "dtype": "int5_from_float32"})"),
       "the quantized dtype policy 'int5_from_float32' is not known"},
      {"a quantized dtype policy",
       sequential("Dense", R"({"name": "d", "units": 2, "dtype": {"class_name": "QuantizedFloat8DTypePolicy",
                                "config": {"mode": "int8", "source_name": "float32"}}})"),
       "'int8' is not a mode of a QuantizedFloat8DTypePolicy"},
      {"shapes that do not fit", sequential("Reshape", "{\"name\": \"r\", \"target_shape\": [5, 7]}"), "Reshape 'r':"},
      {"short config, unknown key", "{\"input_shape\": [50, 512],\n  \"num_head\": 8}",
       "stdin:2:3: /num_head: unknown key (did you mean 'num_heads'?)"},
      {"short config, no heads", "{\"input_shape\": [50, 512]}", "'num_heads' is missing"},
  };
  for (const Case& item : cases) {
    CAPTURE(item.name);
    const Result result = run_attn({"summary", "-"}, item.text);
    CAPTURE(result.err);
    CHECK(result.code == 3);
    CHECK(result.out.empty());
    CHECK(contains(result.err, item.message));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}

TEST_CASE("bad input: a path in a config is never opened") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";  // opening it would wait for a writer that never comes
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::string url = "file://" + pipe;
  for (const std::string& path : {pipe, url}) {
    const std::string quoted = "\"" + path + "\"}";
    for (const std::string& layer : {sequential("StringLookup", R"({"name": "s", "vocabulary": )" + quoted),
                                     sequential("IntegerLookup", R"({"name": "s", "vocabulary": )" + quoted),
                                     sequential("TextVectorization", R"({"name": "s", "vocabulary": )" + quoted),
                                     sequential("TFSMLayer", R"({"name": "s", "filepath": )" + quoted),
                                     sequential("Dense", R"({"name": "s", "units": 2, "activation": )" + quoted),
                                     sequential("Dense", R"({"name": "s", "units": 2, "dtype": )" + quoted)}) {
      CAPTURE(layer);
      for (const char* command : {"summary", "run", "get-config"}) CHECK(run_attn({command, "-"}, layer).code == 3);
    }
  }
}

TEST_CASE("bad input: a wrong model graph is rejected with its place") {
  const auto model = [](const std::string& args, const std::string& outputs) {
    return R"({"class_name": "Functional", "config": {"name": "m", "trainable": true, "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "name": "i"}, "name": "i", "inbound_nodes": []},
    {"class_name": "Dense", "config": {"name": "d", "units": 2}, "name": "d", "inbound_nodes": [{"args": [)" +
           args + R"(], "kwargs": {}}]}], "input_layers": ["i", 0, 0], "output_layers": )" + outputs + "}}";
  };
  const auto tensor = [](const std::string& history) {
    return R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 4], "dtype": "float32", "keras_history": )" +
           history + "}}";
  };
  const std::string good = tensor(R"(["i", 0, 0])"), out = R"(["d", 0, 0])";
  CHECK(run_attn({"summary", "-"}, model(good, out)).code == 0);
  const std::vector<Case> cases = {
      {"a name that is not there", model(tensor(R"(["j", 0, 0])"), out), "there is no layer 'j'"},
      {"a call that is not there", model(tensor(R"(["i", 3, 0])"), out), "call 3 is requested"},
      {"a negative call", model(tensor(R"(["i", -1, 0])"), out), "expected an integer"},
      {"a result that is not there", model(tensor(R"(["i", 0, 1])"), out), "result 1 is requested"},
      {"a cycle", model(tensor(R"(["d", 0, 0])"), out), "cycle"},
      {"no output", model(good, "[]"), "a model needs an output"},
  };
  for (const Case& item : cases) {
    CAPTURE(item.name);
    const Result result = run_attn({"summary", "-"}, item.text);
    CAPTURE(result.err);
    CHECK(result.code == 3);
    CHECK(contains(result.err, item.message));
  }
}

TEST_CASE("bad input: files that are missing, or not models, are rejected by name") {
  CHECK(contains(run_attn({"summary", "nowhere.json"}).err, "nowhere.json"));
  CHECK(run_attn({"summary", "nowhere.json"}).code == 3);
  CHECK(run_attn({"summary", "configs"}).code == 3);
  CHECK(run_attn({"summary", fixture("model/encoder/inputs.npz")}).code == 3);
  CHECK(run_attn({"summary", fixture("model/encoder/model.weights.h5")}).code == 3);
}

TEST_CASE("bad input: mismatched weights are rejected: missing, extra, or of the wrong shape") {
  const std::string encoder = fixture("model/encoder/model.json"), other = fixture("model/frozen/model.weights.h5");
  const Result result = run_attn({"run", encoder, "--weights", other});
  CHECK(result.code == 3);
  CHECK(contains(result.err, "model.weights.h5"));
  CHECK(run_attn({"run", encoder, "--weights", fixture("model/encoder/model.weights.h5")}).code == 0);
  CHECK(run_attn({"run", encoder, "--weights", "configs/encoder.json"}).code == 3);
}

TEST_CASE("bad input: mismatched inputs are rejected: wrong name, shape or dtype, or no inputs") {
  const Result name =
      run_attn({"run", fixture("model/encoder/model.keras"), "--input", fixture("model/shared_layers/inputs.npz")});
  CHECK(name.code == 3);
  CHECK(contains(name.err, "the model has no input 'a'"));
  const Result shape = run_attn({"run", "--input", "input_layer=" + fixture("model/encoder/inputs.npz")});
  CHECK(shape.code == 3);
  CHECK(contains(shape.err, "(None, 50, 512)"));
  const Result dtype =
      run_attn({"run", "configs/gpt_small.json", "--input", "input_layer=" + fixture("dense/rank2/inputs.npz")});
  CHECK(dtype.code == 3);
  const TemporaryFolder folder;
  const std::string empty = folder / "empty.npz";
  std::ofstream(empty) << std::string("PK\5\6", 4) + std::string(18, '\0');
  CHECK(contains(run_attn({"run", "--input", empty}).err, "empty.npz: contains no arrays; the inputs are input_layer"));
}

TEST_CASE("bad input: an output that cannot be written is an error and leaves no file") {
  const TemporaryFolder folder;
  CHECK(run_attn({"run", "-o", folder / "no/such/out.npz"}).code == 3);
  CHECK(run_attn({"run", "-o", folder / "out.txt"}).code == 2);
  CHECK(run_attn({"run", "configs/lstm_attention.json", "-o", folder / "two.npy"}).code == 2);
  CHECK(run_attn({"summary", "-o", folder / "no/such/summary.txt"}).code == 3);
  CHECK(run_attn({"summary", "-o", "/dev/full"}).code != 0);
  CHECK(folder.names().empty());
}

TEST_CASE("bad input: an overwritten file is the old or the new one, never a part") {
  const TemporaryFolder folder;
  const std::string out = folder.file("out.npz", "old");
  CHECK(run_attn({"run", "--weights", "nowhere.h5", "-o", out}).code == 3);
  CHECK(read_text(out) == "old");
  CHECK(run_attn({"run", "-o", out}).code == 0);
  CHECK(read_text(out).rfind("PK", 0) == 0);
  CHECK(folder.names() == std::vector<std::string>{"out.npz"});
}

TEST_CASE("bad input: control sequences in names from a file do not reach the terminal") {
  const std::string text = sequential("Dense", R"({"name": "d\u001b]0;x\u0007\u009b31m", "units": 2})");
  for (const std::string format : {"table", "json", "markdown", "csv"}) {
    CAPTURE(format);
    const Result result = run_attn({"summary", "--format", format, "-"}, text);
    CHECK(result.code == 0);
    CHECK(std::none_of(result.out.begin(), result.out.end(), [](char c) { return c == '\x1b' || c == '\a'; }));
    CHECK_FALSE(contains(result.out, "\xc2\x9b"));
  }
}
