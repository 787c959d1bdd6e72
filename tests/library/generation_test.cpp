// Text generation through attn/attn.h: the tokens that KerasHub computed for a preset.
#include "support.h"

using namespace attn;
using namespace attn::test;

namespace {

const std::vector<std::int32_t> kPrompt = {399, 51, 257, 308, 67, 68, 75};
const std::vector<std::int32_t> kContinued = {399, 51, 257, 308, 67,  68,  75,  24,  370, 375, 71, 40,
                                              43,  40, 79,  341, 341, 341, 340, 355, 57,  57,  57, 23};
constexpr const char* kText = "The model9ange):hILIpromromromomourZZZ8";

GenerateOptions greedy() {
  GenerateOptions options;
  options.sampler = "greedy";
  options.max_length = 24;
  return options;
}

Generator gpt2() { return Model::open(generation_case("gpt2/preset")).generator(); }

}  // namespace

TEST_CASE("Tokenizer: a preset's tokenizer encodes a text and decodes its tokens") {
  const Tokenizer tokenizer = Tokenizer::open(generation_case("gpt2/preset"));
  const std::vector<std::int32_t> tokens(kPrompt.begin() + 1, kPrompt.end());  // without the start token
  CHECK(tokenizer.encode("The model") == tokens);
  CHECK(tokenizer.decode(tokens) == "The model");
  CHECK(tokenizer.start_id() == kPrompt.front());
  CHECK(tokenizer.size() > 399);
  CHECK(tokenizer.end_id().has_value());
  CHECK_FALSE(tokenizer.token(-1).has_value());
  CHECK_THROWS_AS((void)Tokenizer::open("/nowhere"), Error);
}

TEST_CASE("Generator: greedy decoding gives KerasHub's tokens and text") {
  Generator generator = gpt2();
  CHECK(generator.generate_ids({kPrompt}, greedy()) == std::vector<std::vector<std::int32_t>>{kContinued});
  CHECK(generator.generate({"The model"}, greedy()) == std::vector<std::string>{kText});
  GenerateOptions shorter = greedy();
  shorter.strip_prompt = true;
  shorter.stop = {"hILI"};
  CHECK(generator.generate({"The model"}, shorter) == std::vector<std::string>{"9ange):"});
  GenerateOptions two;
  two.sampler = "greedy";
  two.max_new_tokens = 2;
  CHECK(generator.generate_ids({kPrompt}, two).front().size() == kPrompt.size() + 2);
}

TEST_CASE("Generator: a text from greedy decoding scores higher than another") {
  Generator generator = gpt2();
  const std::vector<double> scores = generator.score(kContinued);
  REQUIRE(scores.size() == kContinued.size() - 1);
  std::vector<std::int32_t> other = kContinued;
  other.back() = 24;
  CHECK(scores.back() > generator.score(other).back());
  CHECK_THROWS_AS((void)generator.score({1}), Error);
}

TEST_CASE("Generator: impossible requests are usage errors, and a classifier is not a decoder") {
  Generator generator = gpt2();
  GenerateOptions options;
  options.sampler = "best";
  CHECK_THROWS_WITH_AS((void)generator.generate({"a"}, options), doctest::Contains("sampler 'best'"), Error);
  options = greedy();
  options.temperature = 0.0;
  CHECK_THROWS_WITH_AS((void)generator.generate({"a"}, options), doctest::Contains("temperature 0"), Error);
  for (const std::int64_t beams : {0, -1, -5}) {  // rejected before the decoder is created
    options = greedy();
    options.sampler = "beam";
    options.beams = beams;
    CHECK_THROWS_WITH_AS((void)generator.generate({"a"}, options), doctest::Contains("num_beams is"), Error);
    options.sampler = "contrastive";
    options.top_k = beams;
    CHECK_THROWS_WITH_AS((void)generator.generate({"a"}, options), doctest::Contains("k is"), Error);
  }
  CHECK_THROWS_AS((void)generator.generate_ids({{1'000'000}}, greedy()), Error);
  CHECK_THROWS_AS((void)generator.generate_ids({{}}, greedy()), Error);
  options = greedy();
  options.stop_ids = {3, 400};
  CHECK_THROWS_WITH_AS((void)generator.generate_ids({{5}}, options), doctest::Contains("token 400 is outside"), Error);
  const Model classifier = Model::open(generation_case("bert_classifier/preset"));
  CHECK_THROWS_WITH_AS((void)classifier.generator(), doctest::Contains("is not a decoder"), Error);
}
