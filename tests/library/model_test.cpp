// attn/attn.h as other programs use it.
#include <doctest/doctest.h>

#include <thread>

#include "attn/attn.h"

using namespace attn;

namespace {

constexpr const char* kSmall = R"({"name": "small", "input_shape": [6, 8], "num_layers": 1, "num_heads": 2,
  "key_dim": 4, "intermediate_dim": 16, "activation": "gelu", "units": 3, "output_activation": "softmax"})";

/// One thread's requests to a model, and the answers.
struct Asked {
  RunOptions options;
  std::string summary, config;
  std::vector<double> numbers;

  void ask(const Model& model) {
    summary = model.summary();
    config = model.config();
    Runner runner = model.prepare(options);
    const Tensor output = runner.run({}).front().tensor;
    numbers.clear();
    for (std::int64_t i = 0; i < output.size(); ++i) numbers.push_back(output.at(i));
  }
};

}  // namespace

TEST_CASE("Model: two threads that share a model get the same results as one") {
  const Model model = Model::parse("small.json", kSmall);
  Asked first, second;
  // A dtype and a length that differ from the model's own are set on its layers while it is lowered.
  first.options.dtype = "bfloat16";
  first.options.threads = second.options.threads = 1;
  second.options.sequence_length = 9;
  Asked first_alone = first, second_alone = second;
  first_alone.ask(model);
  second_alone.ask(model);
  REQUIRE(first_alone.numbers.size() == 6 * 3);
  REQUIRE(second_alone.numbers.size() == 9 * 3);
  constexpr int kTimes = 20;
  bool equal[2] = {true, true};
  const auto repeat = [&](Asked& asked, const Asked& alone, bool& same) {
    for (int i = 0; i < kTimes; ++i) {
      asked.ask(model);
      same = same && asked.summary == alone.summary && asked.config == alone.config && asked.numbers == alone.numbers;
    }
  };
  std::thread other([&] { repeat(first, first_alone, equal[0]); });
  repeat(second, second_alone, equal[1]);
  other.join();
  CHECK(equal[0]);
  CHECK(equal[1]);
}

TEST_CASE("Model: impossible sizes are usage errors") {
  const Model model = Model::parse("small.json", kSmall);
  const auto refused = [&](const RunOptions& options, const char* field) {
    CHECK_THROWS_WITH_AS((void)model.prepare(options), doctest::Contains(field), Error);
  };
  for (const std::int64_t size : {0, -1, -3}) {
    RunOptions options;
    options.batch = size;
    refused(options, "batch");
    options = {};
    options.sequence_length = size;
    refused(options, "sequence_length");
  }
  for (const Dim size : {-1, -3}) {
    RunOptions options;
    options.input_shapes = {{model.input_names().front(), {1, size, 8}}};
    refused(options, "input_shapes");
  }
  OpenOptions open;
  open.input_shape = Shape{-3, 8};
  CHECK_THROWS_WITH_AS((void)Model::parse("small.json", kSmall, open), doctest::Contains("input_shape"), Error);
}

TEST_CASE("Error: messages name fields of the options, and no option of the program") {
  const Model model = Model::parse("small.json", kSmall);
  const auto error_of = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error;
    }
    return Error(ExitCode::done, "nothing was thrown");
  };
  RunOptions options;
  options.device = "tpu";
  const Error device = error_of([&] { (void)model.prepare(options); });
  CHECK(std::string(device.field()) == "device");
  CHECK(std::string(device.what()).starts_with("device 'tpu': expected cpu"));
  options = {};
  options.dtype = "float8";
  CHECK(std::string(error_of([&] { (void)model.prepare(options); }).field()) == "dtype");
  const Model layer = Model::parse("dense.json", R"({"class_name": "Dense", "config": {"units": 3}})");
  for (const Error& error : {error_of([&] { (void)layer.summary(); }), error_of([&] { (void)layer.prepare(); })}) {
    CHECK(std::string(error.field()) == "input_shape");
    CHECK(std::string(error.what()).find("--") == std::string::npos);
  }
}
