// Opens a model, shows it, runs it, and checks the outputs against themselves and its errors against their codes.
#include <attn/attn.h>

#include <cmath>
#include <iostream>

namespace {

int failures = 0;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "consumer: " << what << "\n";
  ++failures;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const attn::Model model = attn::Model::open(argv[1]);
  std::cout << model.summary(100);
  expect(model.config().find("\"class_name\"") != std::string::npos, "config() is Keras JSON");

  attn::RunOptions options;
  options.backend = "reference";
  attn::Runner slow = model.prepare(options);
  attn::Runner fast = model.prepare();
  std::map<std::string, attn::Tensor> inputs;
  for (const attn::NamedTensor& input : fast.inputs()) {
    for (std::int64_t i = 0; i < input.tensor.size(); ++i) input.tensor.set(i, static_cast<double>(i % 7));
    inputs.emplace(input.name, input.tensor);
  }
  const auto expected = slow.run(inputs), got = fast.run(inputs);
  expect(!got.empty() && got.size() == expected.size(), "a pass gives outputs");
  for (std::size_t i = 0; i < got.size(); ++i)
    for (std::int64_t k = 0; k < got[i].tensor.size(); ++k)
      if (!(std::abs(got[i].tensor.at(k) - expected[i].tensor.at(k)) <= 1e-4)) expect(false, "both backends agree");

  try {
    (void)attn::Model::parse("wrong", R"({"input_shape": [5, 8], "num_head": 2})");
    expect(false, "a wrong config is refused");
  } catch (const attn::Error& error) {
    expect(error.code() == attn::ExitCode::bad_input, "a wrong config is bad input");
    std::cout << error.what() << "\n";
  }
  return failures == 0 ? 0 : 1;
}
