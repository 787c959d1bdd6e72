// Quantized models whose configs and files do not match.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "../places.h"
#include "attempt.h"
#include "attn/backends/cpu.h"
#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/io/file.h"
#include "attn/io/keras_archive.h"
#include "attn/keras/model.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"
#include "attn/run/session.h"
#include "attn/weights/bind.h"
#include "attn/weights/quantize.h"
#include "attn/weights/read_store.h"

namespace attn::test {
namespace {

std::string dense_of(const std::string& dtype, const std::string& more = "") {
  return model_of("Dense", fmt::format(R"({{"name": "d", "units": 4, "dtype": {}{}}})", dtype, more));
}

std::string policy(const std::string& class_name, const std::string& config) {
  return fmt::format(R"({{"module": "keras.dtype_policies", "class_name": "{}", "config": {}}})", class_name, config);
}

/// A model of tests/data/quantized and its arrays, after `change`.
struct Changed {
  keras::Model model;
  weights::Store store;
};

Changed changed(const std::string& name, const std::function<void(std::vector<NamedTensor>&)>& change) {
  const std::string file = in_repository("tests/data/quantized/" + name + "/model.keras");
  const io::Bytes bytes = io::read_file(file);
  Changed out{keras::Model::read("model", io::parse_keras_archive(bytes, file).config),
              weights::parse_store(bytes, "weights")};
  change(out.store.weights);
  return out;
}

Tensor& array(std::vector<NamedTensor>& arrays, const std::string& name) {
  for (NamedTensor& item : arrays)
    if (item.name == name) return item.tensor;
  throw internal_error("no array {}", name);
}

/// The error message: one sentence, exit code 3.
std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    CHECK(is_clean(error.what()));
    return error.what();
  }
  return "";
}

std::string bind_refusal(const std::string& name, const std::function<void(std::vector<NamedTensor>&)>& change) {
  const Changed all = changed(name, change);
  return refusal([&] { (void)weights::bind(all.model.weights(), all.store); });
}

}  // namespace

TEST_CASE("hostile: a policy with an unknown quantization is rejected with its place") {
  check_refused(summarise(dense_of(R"("int5_from_float32")")), "/dtype", "'int5_from_float32' is not known");
  check_refused(summarise(dense_of(R"("int4/0_from_float32")")), "/dtype", "is not known");
  check_refused(summarise(dense_of(R"("int4/-2_from_float32")")), "/dtype", "is not known");
  check_refused(summarise(dense_of(R"("gptq/5/8_from_float32")")), "/dtype", "is not known");
  check_refused(summarise(dense_of(R"("int8_from_int8_from_float32")")), "/dtype", "is not known");
  check_refused(summarise(dense_of(policy("QuantizedDTypePolicy", R"({"mode": "int4/8"})"))), "/mode",
                "is not a mode of");
  check_refused(summarise(dense_of(policy("Int4DTypePolicy", R"({"mode": "int8"})"))), "/mode", "is not a mode of");
  check_refused(summarise(dense_of(policy("DTypePolicyMap", R"({"default_policy": null, "policy_map": 3})"))),
                "/policy_map", "expected");
  const std::string map = policy("DTypePolicyMap", R"({"default_policy": null, "policy_map": {}})");
  check_refused(summarise(dense_of(
                    policy("DTypePolicyMap", fmt::format(R"({{"default_policy": {}, "policy_map": {{}}}})", map)))),
                "/default_policy", "default of another");
}

TEST_CASE("hostile: a quantization config must fit the policy, and its quantizers 8 bits") {
  const auto config = [](const std::string& class_name, const std::string& inside) {
    return fmt::format(R"(, "quantization_config": {{"class_name": "{}", "config": {}}})", class_name, inside);
  };
  const std::string int8 = R"("int8_from_float32")";
  check_refused(summarise(dense_of(int8, config("Int4QuantizationConfig", "{}"))), "'d'", "another mode");
  check_refused(summarise(dense_of(int8, config("SparseConfig", "{}"))), "/class_name", "is not known");
  check_refused(
      summarise(dense_of(int8, config("Int8QuantizationConfig",
                                      R"({"activation_quantizer": {"class_name": "Lambda", "config": {}}})"))),
      "/class_name", "is not known");
  check_refused(summarise(dense_of(int8, config("Int8QuantizationConfig",
                                                R"({"activation_quantizer": {"class_name": "AbsMaxQuantizer",
                                                    "config": {"value_range": [-300, 300]}}})"))),
                "/value_range", "within");
}

TEST_CASE("hostile: arrays that do not fit a quantized kernel are rejected with both shapes") {
  const std::string place = "layers/dense/vars/";
  const auto resized = [&](const std::string& index, const Shape& shape) {
    return bind_refusal("dense_int4_block", [&](auto& arrays) {
      Tensor& tensor = array(arrays, place + index);
      tensor = Tensor(tensor.dtype(), shape);
    });
  };
  CHECK(contains(resized("0", {24, 21}), "expected (24, 20), found (24, 21)"));  // an odd size
  CHECK(contains(resized("2", {4, 40}), "expected (3, 40), found (4, 40)"));
  CHECK(contains(resized("3", {3, 39}), "expected (3, 40), found (3, 39)"));
  CHECK(contains(resized("4", {23}), "expected (24,), found (23,)"));
}

TEST_CASE("hostile: arrays that do not fit an embedding, a GPTQ or an AWQ kernel are rejected with both shapes") {
  struct Row {
    const char *model, *array;
    Shape shape;
    const char* said;
  };
  const std::vector<Row> rows = {
      {"embedding_int8", "layers/embedding/vars/1", {32}, "expected (33,), found (32,)"},
      {"embedding_int4", "layers/embedding/vars/0", {33, 10}, "expected (33, 9), found (33, 10)"},
      {"embedding_int4_block", "layers/embedding/vars/3", {17}, "expected (18,), found (17,)"},
      {"untied_embedding_int4_block",
       "layers/reversible_embedding/vars/4",
       {10, 33},
       "expected (9, 33), found (10, 33)"},
      {"dense_gptq", "layers/dense/vars/1", {8, 24}, "expected (9, 24), found (8, 24)"},
      {"dense_gptq", "layers/dense/vars/3", {17, 2}, "expected (17, 3), found (17, 2)"},
      {"dense_awq", "layers/dense/vars/5", {25}, "expected (24,), found (25,)"}};
  for (const Row& row : rows) {
    CAPTURE(row.model);
    const std::string said = bind_refusal(row.model, [&](auto& arrays) {
      Tensor& tensor = array(arrays, row.array);
      tensor = Tensor(tensor.dtype(), row.shape);
    });
    CAPTURE(said);
    CHECK(contains(said, fmt::format("'{}' ({})", row.array, row.said)));
    CHECK(!contains(said, "the config"));
  }
}

TEST_CASE("hostile: a quantization mismatch between file and config is rejected with both names") {
  struct Kind {
    std::string model, name;
  };
  const std::vector<std::vector<Kind>> families = {
      {{"dense_int8", "int8"},
       {"dense_int4", "int4"},
       {"dense_int4_block", "int4 in blocks"},
       {"dense_float8", "float8"},
       {"dense_gptq", "GPTQ"},
       {"dense_awq", "AWQ"}},
      {{"einsum_dense_int8", "int8"}, {"einsum_dense_int4", "int4"}, {"einsum_dense_int4_block", "int4 in blocks"}},
      {{"embedding_int8", "int8"}, {"embedding_int4", "int4"}, {"embedding_int4_block", "int4 in blocks"}},
      {{"untied_embedding_int8", "int8"},
       {"untied_embedding_int4", "int4"},
       {"untied_embedding_int4_block", "int4 in blocks"}}};
  for (const std::vector<Kind>& family : families) {
    for (const Kind& config : family) {
      for (const Kind& file : family) {
        if (config.model == file.model) continue;
        const Changed other = changed(file.model, [](auto&) {});
        const std::string said =
            bind_refusal(config.model, [&](std::vector<NamedTensor>& arrays) { arrays = other.store.weights; });
        CAPTURE(said);
        CHECK_MESSAGE(contains(said, fmt::format("; the config has {}, but the file has {}", config.name, file.name)),
                      fmt::format("{} with the arrays of {}", config.model, file.model));
      }
    }
  }
}

TEST_CASE("hostile: a quantized model cannot be quantized again, however it is recognized") {
  // The config of an attention layer does not list its quantized projections; only the file shows them.
  for (const char* name : {"dense_int8", "dense_int4", "dense_int4_block", "dense_float8", "dense_gptq", "dense_awq",
                           "embedding_int8", "mha_int8", "mha_int4", "block_int8", "block_float8", "lora_int8"}) {
    for (const char* how : {"int8", "int4:2"}) {
      CAPTURE(name);
      open::ReadingOptions reading;
      reading.quantize = how;
      const std::string file = in_repository(fmt::format("tests/data/quantized/{}/model.keras", name));
      const std::string said = refusal([&] { (void)open::load_model(file, reading, open::Silent()); });
      CHECK_MESSAGE(contains(said, "is already quantized; a quantized model cannot be quantized again"), said);
    }
  }
}

TEST_CASE("hostile: integers in the file of a float model are reported, and floats in that of an integer model") {
  const Changed integers = changed("dense_int4", [](auto&) {});
  const std::string floats = refusal([&] {
    const std::string text = model_of("Dense", R"({"name": "dense", "units": 40})");
    keras::Model model = keras::Model::read("model", text);
    std::vector<graph::WeightSpec> specs = model.weights();
    specs[0].store_path = "layers/dense/vars/0";
    specs[1].store_path = "layers/dense/vars/1";
    specs[0].shape = {24, 40};
    (void)weights::bind(specs, integers.store);
  });
  CAPTURE(floats);
  CHECK(contains(floats, "; the file is quantized, but the config is not"));
  const std::string int8 = bind_refusal("dense_int8", [](auto& arrays) {
    Tensor& kernel = array(arrays, "layers/dense/vars/0");
    kernel = kernel.cast(DType::float32);
  });
  CHECK(contains(int8, "expected int8, found float32"));
  CHECK(contains(int8, "quantized"));
}

TEST_CASE("hostile: any arrays in place of nested layers' weights are read or rejected in a sentence") {
  const std::vector<std::function<void(Tensor&)>> changes = {[](Tensor& t) { t = Tensor(t.dtype(), {}); },
                                                             [](Tensor& t) { t = Tensor(t.dtype(), {0}); },
                                                             [](Tensor& t) {
                                                               t = Tensor(t.dtype(), {1, 1, 1, 1, 1, 1, 1});
                                                             },
                                                             [](Tensor& t) {
                                                               t = Tensor(t.dtype(), {7, 3});
                                                             },
                                                             [](Tensor& t) { t = Tensor(DType::int8, t.shape()); },
                                                             [](Tensor& t) { t = Tensor(DType::uint8, t.shape()); },
                                                             [](Tensor& t) { t = Tensor(DType::float64, t.shape()); },
                                                             [](Tensor& t) {
                                                               for (std::int64_t i = 0; i < t.size(); ++i)
                                                                 t.set(i, is_floating(t.dtype()) ? std::nan("") : -1.0);
                                                             },
                                                             [](Tensor& t) {
                                                               for (std::int64_t i = 0; i < t.size(); ++i)
                                                                 t.set(i, is_floating(t.dtype()) ? 1e30 : 0.0);
                                                             }};
  for (const char* name : {"mha_int8", "mha_int4", "mha_int4_block"}) {
    const std::string file = in_repository(std::string("tests/data/quantized/") + name + "/model.keras");
    const io::Bytes bytes = io::read_file(file);
    const std::string config = io::parse_keras_archive(bytes, file).config;
    const weights::Store store = weights::parse_store(bytes, "weights");
    for (std::size_t i = 0; i < store.weights.size(); ++i) {
      for (std::size_t c = 0; c <= changes.size(); ++c) {
        CAPTURE(fmt::format("{} {} {}", name, store.weights[i].name, c));
        weights::Store changed = store;
        if (c < changes.size()) {
          Tensor& tensor = changed.weights[i].tensor;
          tensor = tensor.cast(tensor.dtype());  // its own
          changes[c](tensor);
        } else {
          changed.weights.erase(changed.weights.begin() + static_cast<std::ptrdiff_t>(i));
        }
        (void)refusal([&] {
          keras::ReadOptions options;
          options.stored = [&] { return changed.weights; };
          const keras::Model model = keras::Model::read("model", config, options);
          (void)weights::bind(model.weights(), changed);
        });
      }
    }
  }
}

TEST_CASE("hostile: non-finite numbers are not quantized, and are reported with weight and place") {
  const std::string config = model_of("Dense", R"({"name": "d", "units": 4})");
  const auto of = [&](const std::string& how) {
    keras::ReadOptions options;
    if (!how.empty()) options.quantize = how;
    return keras::Model::read("model", config, options).weights();
  };
  for (const char* how : {"int8", "int4", "int4/-1"}) {
    for (const double number : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      std::vector<Tensor> floats{Tensor(DType::float32, {8, 4}), Tensor(DType::float32, {4})};
      floats[0].set(5, number);
      const std::string said =
          refusal([&] { (void)weights::quantize(of(how), of(""), [&](std::size_t i) { return floats[i]; }); });
      CAPTURE(said);
      CHECK(contains(said, fmt::format("the weight 's/d/kernel' cannot be quantized: its element 5 is {}", number)));
    }
  }
}

TEST_CASE("hostile: every backend rejects a row of a missing group") {
  for (const double group : {7.0, -1.0}) {
    Changed all =
        changed("dense_int4_block", [&](auto& arrays) { array(arrays, "layers/dense/vars/4").set(3, group); });
    const std::vector<Tensor> numbers = weights::bind(all.model.weights(), all.store);
    for (const bool is_fast : {false, true}) {
      const auto backend = is_fast ? backends::make_cpu_backend() : backends::make_reference_backend();
      const std::string said = refusal([&] {
        run::Session session(*backend, all.model.lower({}), numbers, {});
        session.run(std::vector<Tensor>{Tensor(DType::float32, Shape{1, 7, 24})});
      });
      CHECK(contains(said, fmt::format("group {} of a weight's rows", group)));
    }
  }
}

}  // namespace attn::test
