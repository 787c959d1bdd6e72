// Numbers that are far too large: exact if they are only counted, rejected if something would be allocated.
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "../places.h"
#include "attempt.h"

namespace attn::test {
namespace {

/// A model with one Dense layer of these sizes: in · units parameters.
std::string dense(const std::string& in, const std::string& units) {
  return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, )" +
         in + R"(], "name": "i"}}, {"class_name": "Dense", "config": {"name": "d", "use_bias": false, "units": )" +
         units + "}}]}}";
}

std::string total_of(const std::string& json) {
  const std::string key = "\"total_params\":";
  const std::size_t at = json.find(key);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = json.find_first_not_of(' ', at + key.size());
  return json.substr(begin, json.find_first_not_of("0123456789", begin) - begin);
}

}  // namespace

TEST_CASE("sizes: parameters are counted exactly, up to 10^18 and past 2^64") {
  struct Case {
    const char *in, *units, *total;
  };
  const std::vector<Case> cases = {
      {"1000", "1000000", "1000000000"},
      {"100000", "100000", "10000000000"},
      {"1000000", "1000000", "1000000000000"},
      {"10000000", "10000000", "100000000000000"},
      {"1000000000", "1000000", "1000000000000000"},
      {"1000000000", "1000000000", "1000000000000000000"},
      {"2147483647", "2147483647", "4611686014132420609"},
      {"65536", "65536", "4294967296"},
      {"65535", "65537", "4294967295"},
  };
  for (const Case& item : cases) {
    CAPTURE(item.total);
    const Attempt result = attempt({"summary", "--json", "-"}, dense(item.in, item.units));
    CAPTURE(result.err);
    CHECK(result.code == 0);
    CHECK(total_of(result.out) == item.total);
    check_costs(result, 0.5);
  }
  // Layers whose sum exceeds 64 bits.
  std::string text = R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 2147483647], "name": "i"}})";
  for (int i = 0; i < 8; ++i)
    text += R"(, {"class_name": "Dense", "config": {"name": "d)" + std::to_string(i) +
            R"(", "use_bias": false, "units": 2147483647}})";
  const Attempt sum = attempt({"summary", "--json", "-"}, text + "]}}");
  CHECK(sum.code == 0);
  CHECK(total_of(sum.out) == "36893488113059364872");
}

TEST_CASE("sizes: dimensions near 31, 32, 53, 62, 63 and 64 bits never wrap to small ones") {
  // Each is accepted and counted exactly, or rejected: a product must never overflow.
  const std::vector<std::string> edges = {
      "2147483646",           "2147483647",           "2147483648",           "2147483649",
      "4294967295",           "4294967296",           "4294967297",           "9007199254740991",
      "9007199254740992",     "9007199254740993",     "4611686018427387903",  "4611686018427387904",
      "4611686018427387905",  "9223372036854775806",  "9223372036854775807",  "9223372036854775808",
      "18446744073709551615", "18446744073709551616", "18446744073709551617", "36893488147419103232"};
  for (const std::string& edge : edges) {
    CAPTURE(edge);
    for (const std::string& text :
         {dense(edge, "1"), dense("1", edge), dense(edge, edge), dense("4294967296", edge), dense(edge, "8")}) {
      const Attempt result = attempt({"summary", "--json", "-"}, text);
      CAPTURE(result.err);
      if (result.code == 0) {
        // No product of these is smaller than its largest factor.
        CHECK(total_of(result.out).size() >= edge.size());
      } else {
        check_refused(result, "stdin");
      }
    }
  }
}

TEST_CASE("sizes: shapes larger than any memory are rejected with their layer") {
  const std::vector<std::pair<std::string, std::string>> layers = {
      {"Reshape", R"({"name": "r", "target_shape": [4611686018427387904, 4611686018427387904]})"},
      {"RepeatVector", R"({"name": "r", "n": 9223372036854775807})"},
      {"ZeroPadding1D", R"({"name": "r", "padding": [9223372036854775807, 9223372036854775807]})"},
      {"UpSampling1D", R"({"name": "r", "size": 9223372036854775807})"},
      {"Conv1D", R"({"name": "r", "filters": 4611686018427387904, "kernel_size": [4611686018427387904]})"},
      {"Conv1D",
       R"({"name": "r", "filters": 2, "kernel_size": [3], "strides": [4611686018427387904], "dilation_rate": [4611686018427387904]})"},
      {"MultiHeadAttention", R"({"name": "r", "num_heads": 4611686018427387904, "key_dim": 4611686018427387904})"},
      {"Embedding", R"({"name": "r", "input_dim": 4611686018427387904, "output_dim": 4611686018427387904})"},
      {"LSTM", R"({"name": "r", "units": 4611686018427387904})"},
      {"GRU", R"({"name": "r", "units": 3074457345618258603})"},
      {"EinsumDense", R"({"name": "r", "equation": "abc,cd->abd", "output_shape": [null, 4611686018427387904]})"},
      {"DepthwiseConv1D", R"({"name": "r", "kernel_size": [3], "depth_multiplier": 4611686018427387904})"},
      {"GroupQueryAttention",
       R"({"name": "r", "head_dim": 4611686018427387904, "num_query_heads": 4, "num_key_value_heads": 2})"},
  };
  for (const auto& row : layers) {
    const auto& name = row.first;
    const auto& config = row.second;
    CAPTURE(name);
    const Attempt result = attempt({"summary", "--json", "-"}, model_of(name, config));
    CAPTURE(result.err);
    CHECK((result.code == 0 || result.code == 3));
    CHECK(is_clean(result.err));
    CHECK_FALSE(contains(result.out, ": -"));
  }
}

TEST_CASE("sizes: a length with too many pairs of positions is rejected before distances are computed") {
  for (const char* model :
       {"keras/families/deberta_v3/model.keras", "keras/families/xlnet/model.keras", "generation/t5/preset"}) {
    CAPTURE(model);
    const Attempt result =
        attempt({"plan", in_repository(std::string("tests/data/") + model), "--seq-len", "3037000500"}, "");
    CHECK(result.code == 4);
    check_costs(result, 2);
  }
}

TEST_CASE("sizes: short configs of any size are counted quickly") {
  for (const char* layers : {"1000000000", "1000000", "9223372036854775807"}) {
    const Attempt result =
        attempt({"summary", "-"}, R"({"input_shape": [50, 512], "num_layers": )" + std::string(layers) +
                                      R"(, "num_heads": 8, "key_dim": 64, "intermediate_dim": 2048})");
    CAPTURE(layers);
    check_refused(result, "stdin", "num_layers");
  }
}

TEST_CASE("sizes: integers of KerasHub's configs have 31 bits, so that products of two have 62") {
  const auto gpt2 = [](const std::string& width, const std::string& more = "") {
    return R"({"module": "keras_hub.src.models.gpt2.gpt2_backbone", "class_name": "GPT2Backbone",
      "registered_name": "keras_hub>GPT2Backbone", "config": {"name": "b", "vocabulary_size": 8, "num_layers": 1,
      "num_heads": 1, "hidden_dim": 4, "intermediate_dim": )" +
           width + more + "}}";
  };
  for (const char* width : {"2147483648", "-2147483648", "4611686018427387904"}) {
    CAPTURE(width);
    const Attempt result = attempt({"summary", "-"}, gpt2(width));
    CHECK(result.code == 3);
    CHECK_MESSAGE(result.err.find("/config/intermediate_dim: expected an integer") != std::string::npos, result.err);
  }
  CHECK(attempt({"summary", "-"}, gpt2("2147483647")).code == 0);
  CHECK(attempt({"summary", "-"}, gpt2("8", R"(, "dtype": {"module": "keras", "class_name": "DTypePolicy",
    "config": {"name": "float32"}, "registered_name": null, "shared_object_id": 139891664269968})"))
            .code == 0);
}

TEST_CASE("sizes: models of KerasHub with sizes of 2^31 and more neither overflow nor fill memory") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(in_repository("tests/data/hostile/sizes"))) {
    const std::string path = entry.path().string();
    CAPTURE(path);
    const Attempt result = attempt({"summary", path});
    CHECK_MESSAGE((result.code == 0 || result.code == 3 || result.code == 4), result.err);
    check_costs(result, kMostSeconds, std::int64_t{512} << 20);
    ++count;
  }
  CHECK(count >= 20);
}

}  // namespace attn::test
