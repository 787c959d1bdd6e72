// attn convert to ONNX, as scripts see it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "../places.h"
#include "../text.h"
#include "program.h"

using attn::test::contains;
using attn::test::fixture;
using attn::test::in_repository;
using attn::test::read_text;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::TemporaryFolder;

namespace {

const std::string kNested = "model/nested/model.keras";

}  // namespace

TEST_CASE("convert: .onnx has the model under its weights' names, and reports what a file of weights would") {
  const TemporaryFolder folder;
  const Result done = run_attn({"convert", fixture(kNested), folder / "m.onnx", "--json"});
  CHECK(done.code == 0);
  CHECK(nlohmann::json::parse(done.out)["weights"] == 20);
  const std::string file = read_text(folder / "m.onnx");
  CHECK(contains(file, "multi_head_attention/query/kernel"));
  CHECK(contains(file, "batch"));
  CHECK(folder.names() == std::vector<std::string>{"m.onnx"});
}

TEST_CASE("convert: a wrong extension is an error that lists all formats") {
  const TemporaryFolder folder;
  const Result wrong = run_attn({"convert", fixture(kNested), folder / "m.xyz"});
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, ".weights.h5, .keras, .h5, .safetensors, .onnx or .npz"));
}

TEST_CASE("convert: lengths in .onnx that may differ have separate names, and equal ones share a name") {
  const TemporaryFolder folder;
  const auto names = [&](const std::string& model) {
    REQUIRE(run_attn({"convert", in_repository("tests/data/generation/" + model), folder / "m.onnx"}).code == 0);
    std::set<std::string> out;
    const std::string file = read_text(folder / "m.onnx");
    for (const char* name : {"encoder_length", "decoder_length", "\x06length", "token_ids_1"})
      if (contains(file, name)) out.insert(name);
    return out;
  };
  CHECK(names("bart/preset") == std::set<std::string>{"encoder_length", "decoder_length"});
  CHECK(names("gpt2/preset") == std::set<std::string>{"\x06length"});
}

TEST_CASE("convert: --opset, --batch-size, --seq-len and --shape require ONNX and are checked") {
  const TemporaryFolder folder;
  CHECK(run_attn({"convert", fixture(kNested), folder / "m.npz", "--opset", "20"}).code == 2);
  CHECK(run_attn({"convert", fixture(kNested), folder / "m.onnx", "--opset", "17"}).code == 2);
  CHECK(run_attn({"convert", fixture(kNested), folder / "m.onnx", "--shape", "nobody=1,2"}).code == 2);
  const Result fixed = run_attn({"convert", fixture(kNested), folder / "m.onnx", "--opset", "18", "--batch-size", "3"});
  CHECK(fixed.code == 0);
  CHECK(!contains(read_text(folder / "m.onnx"), "batch"));
}

TEST_CASE("convert: an ONNX value with too many elements is rejected before a file is created") {
  const TemporaryFolder folder;
  for (const char* batch : {"9223372036854775807", "4611686018427387904"}) {
    const Result done = run_attn({"convert", fixture(kNested), folder / "m.onnx", "--batch-size", batch});
    CHECK(done.code == 3);
    CHECK(contains(done.err, "fix smaller sizes"));
  }
  CHECK(folder.names().empty());
}

TEST_CASE("convert: --quantize writes a .keras file that can be exported, and does not write ONNX") {
  const TemporaryFolder folder;
  const Result direct = run_attn({"convert", fixture(kNested), folder / "m.onnx", "--quantize", "int8"});
  CHECK(direct.code == 2);
  CHECK(contains(direct.err, "quantize to .keras first"));
  CHECK(run_attn({"convert", fixture(kNested), folder / "m.keras", "--quantize", "int8"}).code == 0);
  CHECK(run_attn({"convert", folder / "m.keras", folder / "m.onnx"}).code == 0);
  CHECK(contains(read_text(folder / "m.onnx"), "MatMulInteger"));
}

TEST_CASE("bench: --dtype int8 measures integer weights, and --train rejects it") {
  const Result done =
      run_attn({"bench", fixture(kNested), "--dtype", "int8", "--iterations", "1", "--profile", "--json"});
  CHECK(done.code == 0);
  CHECK(contains(done.out, "quantized_linear"));
  const Result train = run_attn({"bench", fixture(kNested), "--train", "--dtype", "int8"});
  CHECK(train.code == 2);
  CHECK(contains(train.err, "quantized weights have no gradients"));
}

TEST_CASE("convert: a model with dependent lengths requires them for ONNX") {
  const TemporaryFolder folder;
  const std::string model = fixture("families/merge/model.keras");
  const Result open = run_attn({"convert", model, folder / "m.onnx"});
  CHECK(open.code == 3);
  CHECK(contains(open.err, "--seq-len"));
  CHECK(folder.names().empty());
}
