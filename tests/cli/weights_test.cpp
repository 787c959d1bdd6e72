// attn weights, convert and init as scripts see them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "../places.h"
#include "../text.h"
#include "program.h"

using attn::test::contains;
using attn::test::fixture;
using attn::test::read_text;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;
using nlohmann::json;

namespace {

/// A model that real Keras saved in many formats; element i of weight w is 1000 w + i.
std::string saved(const std::string& name) { return attn::test::in_repository("tests/data/weights/") + name; }

/// Builds a .safetensors file with one-dimensional float32 arrays, because it is only a header and bytes.
std::string safetensors(const std::vector<std::pair<std::string, std::vector<float>>>& arrays) {
  json header;
  std::string data;
  for (const auto& [name, values] : arrays) {
    const std::size_t start = data.size();
    data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    header[name] = {{"dtype", "F32"}, {"shape", {values.size()}}, {"data_offsets", {start, data.size()}}};
  }
  const std::string text = header.dump();
  const std::uint64_t size = text.size();
  std::string out(sizeof size, '\0');
  std::memcpy(out.data(), &size, sizeof size);
  return out + text + data;
}

json json_of(const Result& result) {
  CAPTURE(result.err);
  REQUIRE(json::accept(result.out));
  return json::parse(result.out);
}

}  // namespace

TEST_CASE("weights: a .keras archive's arrays have Keras's paths, in the model's order") {
  const json report = json_of(run_attn({"weights", saved("model.keras"), "--json"}));
  CHECK(report["schema"] == "attn.weights/1");
  CHECK(report["total_arrays"] == 64);  // 42 of them belong to the optimizer and the metrics
  const json& first = report["arrays"][0];
  CHECK(first["name"] == "attend/query/kernel");
  CHECK(first["shape"] == json({6, 2, 3}));
  CHECK(first["dtype"] == "float32");
  CHECK(first["bytes"] == 144);
  CHECK(first["min"] == 0.0);
  CHECK(first["max"] == 35.0);
  CHECK(first["mean"] == 17.5);
  CHECK(first["nan_count"] == 0);
  CHECK(report["arrays"][21]["name"] == "out/bias");
}

TEST_CASE("weights: every format of file is listed, under any name") {
  for (const char* name : {"model.weights.h5", "model.keras", "model.h5", "split.weights.json", "model.npz"}) {
    CAPTURE(name);
    const Result result = run_attn({"weights", saved(name), "--format", "csv"});
    CHECK(result.code == 0);
    CHECK(result.err.empty());
    CHECK(contains(result.out, "(6, 2, 3)"));
  }
  const Result one = run_attn({"weights", attn::test::in_repository("tests/data/io/float32.npy")});
  CHECK(contains(one.out, "1 array, 6 elements, 24.00 B"));
  CHECK(contains(run_attn({"weights", "-"}, read_text(saved("model.npz"))).out, "22 arrays, 360 elements"));
}

TEST_CASE("weights: NaN and infinities are counted, and excluded from the statistics") {
  const TemporaryFolder folder;
  const float nan = std::nanf("");
  const std::string path = folder.file("w.safetensors", safetensors({{"a", {1, nan, 3, INFINITY}}, {"b", {nan}}}));
  const json report = json_of(run_attn({"weights", path, "--json"}));
  CHECK(report["arrays"][0]["nan_count"] == 1);
  CHECK(report["arrays"][0]["inf_count"] == 1);
  CHECK(report["arrays"][0]["mean"] == 2.0);
  CHECK(contains(run_attn({"weights", path}).out, "NaN or infinite values in 2 arrays"));
}

TEST_CASE("weights: --match selects and --sort orders") {
  const Result result =
      run_attn({"weights", "--match", "*/kernel", saved("model.keras"), "--sort", "max", "--format", "csv"});
  CHECK(contains(result.out, "zeros\r\nout/kernel,"));
  CHECK_FALSE(contains(result.out, "bias"));
  CHECK(run_attn({"weights", saved("model.npz"), "--sort", "colour"}).code == 2);
}

TEST_CASE("weights: --model checks the file, and lists mismatches with exit code 1") {
  const Result good = run_attn({"weights", saved("model.weights.h5"), "--model", saved("model.keras")});
  CHECK(good.code == 0);
  CHECK(contains(good.out, "All 22 weights of small"));
  CHECK(contains(good.out, "attend/query/kernel"));

  const Result bad = run_attn({"weights", saved("model.npz"), "--model", fixture("mha/self/model.json"), "--json"});
  CHECK(bad.code == 1);
  const json model = json_of(bad)["model"];
  CHECK(model["pass"] == false);
  CHECK(model["missing"].size() == 8);
  CHECK(model["missing"][0]["name"] == "multi_head_attention/query/kernel");
  CHECK(model["extra"].size() == 22);
}

TEST_CASE("weights: --model lists weights of the wrong shape") {
  const TemporaryFolder folder;
  const std::string dense = R"({"class_name": "Dense", "config": {"name": "d", "units": 2}})";
  const std::string model = folder.file("dense.json", dense);
  const std::string path = folder.file("w.safetensors", safetensors({{"d/bias", {1, 2, 3}}, {"x", {1}}}));
  const Result result = run_attn({"weights", path, "--model", model, "--input-shape", "5,4"});
  CHECK(result.code == 1);
  CHECK(contains(result.out, "  missing: d/kernel (4, 2)\n"));
  CHECK(contains(result.out, "  d/bias: expected float32 (2,), found float32 (3,)\n"));
  CHECK(contains(result.out, "  not the model's: x (1,)\n"));
}

TEST_CASE("weights: --expect pairs weights by the model's paths, for any names in the files") {
  for (const char* name : {"model.weights.h5", "model.h5", "split.weights.json", "model.npz"}) {
    CAPTURE(name);
    const Result result = run_attn({"weights", saved("model.keras"), "--expect", saved(name)});
    CHECK(result.code == 0);
    CHECK(contains(result.out, "22 equal, 0 different, 0 only in A, 0 only in B (rtol 0, atol 0)"));
    CHECK(run_attn({"weights", saved(name), "--expect", saved("model.keras")}).code == 0);
  }
}

TEST_CASE("weights: --expect reports where and by how much arrays differ") {
  const TemporaryFolder folder;
  const std::string a = folder.file("a.safetensors", safetensors({{"same", {1}}, {"w", {3, 4}}, {"gone", {1, 2}}}));
  const std::string b = folder.file("b.safetensors", safetensors({{"same", {1}}, {"w", {3, 4.5}}, {"new", {1}}}));
  const Result result = run_attn({"weights", a, "--expect", b, "--json"});
  CHECK(result.code == 1);
  const json diff = json_of(result)["diff"];
  CHECK(diff["equal"] == false);
  CHECK(diff["only_a"][0]["name"] == "gone");
  CHECK(diff["only_b"][0]["name"] == "new");
  const json& w = diff["arrays"][1];
  CHECK(w["name"] == "w");
  CHECK(w["mismatches"] == 1);
  CHECK(w["max_abs_error"] == 0.5);
  CHECK(w["relative"] == 0.1);
  CHECK(w["worst_index"] == json({1}));
  CHECK(w["a"] == 4.0);
  CHECK(w["b"] == 4.5);
  const std::string text = run_attn({"weights", a, "--expect", b}).out;
  CHECK(contains(text, "1 equal, 1 different, 1 only in A, 1 only in B"));
  // All arrays are within the tolerance, except those that one side lacks.
  CHECK(run_attn({"weights", a, "--expect", b, "--atol", "0.5"}).code == 1);
  CHECK(run_attn({"weights", a, "--expect", b, "--atol", "0.5", "--match", "?*w*", "--match", "w"}).code == 1);
  CHECK(run_attn({"weights", a, "--expect", b, "--atol", "0.5", "--match", "w"}).code == 0);
  CHECK(run_attn({"weights", a, "--rtol", "0.5"}).code == 2);
}

TEST_CASE("convert: every format converts into every other and back to equal numbers") {
  const TemporaryFolder folder;
  const std::vector<std::string> sources = {"model.weights.h5", "model.keras", "model.h5", "split.weights.json",
                                            "model.npz"};
  for (const std::string& source : sources) {
    for (const char* target : {"w.weights.h5", "w.keras", "w.h5", "w.safetensors", "w.npz"}) {
      CAPTURE(source);
      CAPTURE(target);
      const Result done = run_attn({"convert", saved(source), folder / target, "--model", saved("model.keras")});
      CHECK(done.code == 0);
      CHECK(done.err.empty());
      CHECK(contains(done.out, "22 weights, 360 elements, 1.41 KB"));
      CHECK(run_attn({"weights", folder / target, "--expect", saved("model.keras")}).code == 0);
    }
  }
}

TEST_CASE("convert: --dtype stores float16 and bfloat16, and converts back") {
  const TemporaryFolder folder;
  for (const char* name : {"w.weights.h5", "w.keras", "w.safetensors"}) {
    for (const char* dtype : {"float16", "bfloat16"}) {
      CAPTURE(name);
      CAPTURE(dtype);
      REQUIRE(run_attn({"convert", saved("model.keras"), folder / name, "--dtype", dtype}).code == 0);
      const json report = json_of(run_attn({"weights", folder / name, "--model", saved("model.keras"), "--json"}));
      CHECK(report["arrays"][0]["dtype"] == dtype);
      CHECK(report["model"]["pass"] == true);
      // The mantissa has 8 bits: half of the last one is 2^-8.
      CHECK(run_attn({"weights", saved("model.keras"), "--expect", folder / name, "--rtol", "0.004"}).code == 0);
      REQUIRE(run_attn({"convert", folder / name, folder / "back.npz", "--model", saved("model.keras"), "--dtype",
                        "float32"})
                  .code == 0);
      CHECK(json_of(run_attn({"weights", folder / "back.npz", "--json"}))["arrays"][0]["dtype"] == "float32");
    }
  }
  const Result npz = run_attn({"convert", saved("model.keras"), folder / "w.npz", "--dtype", "bfloat16"});
  CHECK(npz.code == 0);
  CHECK(contains(npz.err, "this format has no bfloat16"));
}

TEST_CASE("convert: numbers outside float16's range are counted") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.safetensors", safetensors({{"w", {65504, 65536, -1e9, INFINITY}}}));
  const Result result = run_attn({"convert", path, folder / "b.npz", "--dtype", "float16"});
  CHECK(result.code == 0);
  CHECK(contains(result.err, "2 numbers are too large for float16 and became infinite"));
}

TEST_CASE("convert: a file without a layout requires --model for a format that has one") {
  const TemporaryFolder folder;
  for (const char* name : {"w.weights.h5", "w.h5"}) {
    const Result result = run_attn({"convert", saved("model.npz"), folder / name});
    CHECK(result.code == 2);
    CHECK(contains(result.err, "does not record the model paths of its arrays; give --model"));
  }
  const Result archive = run_attn({"convert", saved("model.weights.h5"), folder / "w.keras"});
  CHECK(archive.code == 2);
  CHECK(contains(archive.err, "a .keras archive contains the model too; give --model"));
  CHECK(folder.names().empty());
  // Names and paths in the file are kept.
  CHECK(run_attn({"convert", saved("model.npz"), folder / "w.safetensors"}).err.empty());
  CHECK(run_attn({"convert", saved("split.weights.json"), folder / "w.weights.h5"}).err.empty());
  CHECK(run_attn({"weights", folder / "w.weights.h5", "--expect", saved("model.weights.h5")}).code == 0);
  CHECK(contains(run_attn({"convert", saved("model.weights.h5"), folder / "p.npz"}).err,
                 "keep the names of Keras's file"));
}

TEST_CASE("convert: the input file is never overwritten") {
  const TemporaryFolder folder;
  const std::string path = folder.file("w.npz", read_text(saved("model.npz")));
  for (const std::string& out : {path, folder / "./w.npz"}) {
    const Result result = run_attn({"convert", path, out, "--dtype", "float16"});
    CHECK(result.code == 2);
    CHECK(contains(result.err, "cannot write to the input file"));
  }
  CHECK(read_text(path) == read_text(saved("model.npz")));
  const std::string model = folder.file("m.keras", read_text(saved("model.keras")));
  CHECK(run_attn({"convert", path, model, "--model", model}).code == 2);
  CHECK(run_attn({"init", model, "-o", model}).code == 2);
}

TEST_CASE("convert: the optimizer state and its config are copied between Keras files") {
  const TemporaryFolder folder;
  REQUIRE(run_attn({"convert", saved("model.keras"), folder / "w.keras"}).code == 0);
  CHECK(contains(run_attn({"weights", folder / "w.keras"}).out, "64 arrays"));
  CHECK(contains(run_attn({"get-config", folder / "w.keras", "--json"}).out, "keras.optimizers"));
  // Without the state, Keras would warn of missing optimizer variables.
  REQUIRE(run_attn({"init", saved("model.keras"), "-o", folder / "i.keras"}).code == 0);
  CHECK(contains(run_attn({"weights", folder / "i.keras"}).out, "22 arrays"));
  CHECK_FALSE(contains(run_attn({"get-config", folder / "i.keras", "--json"}).out, "keras.optimizers"));
}

TEST_CASE("convert: an archive that attn wrote runs as the original model") {
  const TemporaryFolder folder;
  for (const char* name : {"model/encoder", "model/nested", "model/shared_layers", "model/lstm_attention"}) {
    CAPTURE(name);
    const std::string folder_of_case = fixture(name);
    REQUIRE(run_attn({"convert", folder_of_case + "/model.keras", folder / "w.keras"}).code == 0);
    const Result run = run_attn({"run", folder / "w.keras", "--input", folder_of_case + "/inputs.npz", "--expect",
                                 folder_of_case + "/outputs.npz"});
    CHECK(run.code == 0);
  }
}

TEST_CASE("convert: --from torch requires a model and lists weights without a counterpart") {
  const TemporaryFolder folder;
  const std::string path =
      folder.file("w.safetensors", safetensors({{"norm.weight", {1, 2}}, {"norm.bias", {3, 4}}, {"x", {1}}}));
  CHECK(run_attn({"convert", "--from", "torch", path, folder / "w.npz"}).code == 2);
  const std::string model =
      folder.file("m.json", R"({"class_name": "LayerNormalization", "config": {"name": "norm"}})");
  const std::vector<std::string> words = {"convert", "--from", "torch",         path,  folder / "w.npz",
                                          "--model", model,    "--input-shape", "5,2", "--json"};
  const Result refused = run_attn(words);
  CHECK(refused.code == 3);
  CHECK(contains(refused.err, "no counterpart for 1 of the file's 3 arrays ('x')"));
  std::vector<std::string> with_ignore = words;
  with_ignore.insert(with_ignore.end(), {"--ignore", "x*"});
  const json report = json_of(run_attn(with_ignore));
  CHECK(report["schema"] == "attn.convert/1");
  CHECK(report["sources"][0] == json({{"array", "norm.weight"}, {"weight", "norm/gamma"}}));
  CHECK(run_attn({"convert", "--from", "jax", path, folder / "w.npz"}).code == 2);
}

TEST_CASE("init: equal seeds give equal weights, different seeds different ones, and run reads them") {
  const TemporaryFolder folder;
  for (const char* name : {"a.weights.h5", "a.keras", "a.h5", "a.safetensors", "a.npz"}) {
    CAPTURE(name);
    const Result result = run_attn({"init", "configs/encoder.json", "-o", folder / name, "--seed", "5", "--json"});
    CHECK(result.code == 0);
    const json report = json_of(result);
    CHECK(report["schema"] == "attn.init/1");
    CHECK(report["weights"] == 18);
    CHECK(report["elements"] == 3'415'040);
    CHECK(run_attn({"weights", folder / name, "--expect", folder / "a.weights.h5", "--model", "configs/encoder.json"})
              .code == 0);
  }
  REQUIRE(run_attn({"init", "-o", folder / "b.npz"}).code == 0);
  CHECK(run_attn({"weights", folder / "a.npz", "--expect", folder / "b.npz"}).code == 1);
  const Result first = run_attn({"run", "--seed", "5", "-o", folder / "y.npz"});
  const Result second = run_attn({"run", "--seed", "5", "--weights", folder / "a.safetensors", "--expect",
                                  folder / "y.npz", "--rtol", "0", "--atol", "0"});
  CHECK(first.code == 0);
  CHECK(second.code == 0);
}

TEST_CASE("init: weights larger than any memory are rejected before any is created") {
  const TemporaryFolder folder;
  const std::string model = folder.file(
      "big.json", R"({"input_shape": [5, 100000], "num_layers": 100, "num_heads": 10, "intermediate_dim": 1000000})");
  const Result result = run_attn({"init", model, "-o", folder / "w.npz"});
  CHECK(result.code == 4);
  CHECK(contains(result.err, "the weights take "));
  CHECK(run_attn({"init", "-o", folder / "w.pt"}).code == 2);
  CHECK(run_attn({"init", fixture("layers/dense.json"), "-o", folder / "w.keras"}).code == 3);
}

TEST_CASE("weights: hostile and damaged files give one sentence and exit code 3") {
  const TemporaryFolder folder;
  const std::string archive = read_text(saved("model.keras"));
  const std::vector<std::string> files = {folder.file("empty", ""), folder.file("text", "hello"),
                                          folder.file("cut.keras", archive.substr(0, archive.size() / 2)),
                                          folder.file("cut.h5", read_text(saved("model.h5")).substr(0, 3000)),
                                          folder / "absent"};
  for (const std::string& file : files) {
    CAPTURE(file);
    const std::vector<std::vector<std::string>> lines = {
        {"weights", file},
        {"weights", saved("model.npz"), "--expect", file},
        {"convert", file, folder / "w.npz"},
        {"convert", saved("model.npz"), folder / "w.h5", "--model", file}};
    for (const auto& words : lines) {
      const Result result = run_attn(words);
      CHECK(result.code == 3);
      CHECK(result.out.empty());
      CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    }
  }
}

TEST_CASE("weights: names from a file are escaped in every format") {
  const TemporaryFolder folder;
  const std::string path = folder.file("w.safetensors", safetensors({{"a\x1b[2J|`<b>", {1}}, {"=1+1", {2}}}));
  for (const char* format : {"table", "json", "markdown", "csv"}) {
    CAPTURE(format);
    for (const auto& words :
         {std::vector<std::string>{"weights", path}, {"weights", path, "--expect", saved("model.npz")}}) {
      std::vector<std::string> line = words;
      line.insert(line.end(), {"--format", format});
      CHECK(run_attn(line).out.find('\x1b') == std::string::npos);
    }
  }
  CHECK(contains(run_attn({"weights", path, "--format", "csv"}).out, "'=1+1"));
}
