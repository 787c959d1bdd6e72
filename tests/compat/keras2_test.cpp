// Every model in tests/data/keras2, compared with the results of tf_keras (tests/oracle/make_keras2_cases.py).
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/report/summary.h"
#include "support.h"

namespace {

namespace fs = std::filesystem;
using namespace attn;
using nlohmann::json;

/// float32: about ten roundings on either side; half precision: eight of Keras's own.
double tolerance(const std::string& dtype) {
  if (dtype == "bfloat16") return 8 * 0x1p-8;
  if (dtype == "float16") return 8 * 0x1p-11;
  return 20 * 0x1p-24;
}

void check_case(const fs::path& path, const std::string& backend) {
  const json meta = json::parse(test::read_text(path / "meta.json"));
  for (const char* file : {"model.h5", "model.keras"})
    if (fs::exists(path / file)) test::check_outputs(path / file, backend, tolerance(meta["dtype"]));
  test::check_outputs(path / "model.json", backend, tolerance(meta["dtype"]), (path / "model.h5").string());
}

}  // namespace

TEST_CASE("keras 2: the reference backend computes Keras 2's results") {
  for (const fs::path& path : test::cases("keras2")) CHECK_NOTHROW(check_case(path, "reference"));
}

TEST_CASE("keras 2: the onednn backend computes Keras 2's results") {
  for (const fs::path& path : test::cases("keras2")) CHECK_NOTHROW(check_case(path, "onednn"));
}

TEST_CASE("keras 2: parameter counts equal Keras 2's") {
  for (const fs::path& path : test::cases("keras2")) {
    CAPTURE(path.filename().string());
    const json meta = json::parse(test::read_text(path / "meta.json"));
    const keras::Summary summary = test::load(path / "model.json").model.summary();
    CHECK(summary.total_params == meta["total_params"].get<std::uint64_t>());
    CHECK(summary.trainable_params == meta["trainable_params"].get<std::uint64_t>());
  }
}

TEST_CASE("keras 2: the config is written in Keras 3's form, and reads back as the same model") {
  for (const fs::path& path : test::cases("keras2")) {
    CAPTURE(path.filename().string());
    const keras::Model model = test::load(path / "model.json").model;
    if (path.filename() == "hard_sigmoid") {
      CHECK_THROWS_WITH_AS(static_cast<void>(model.config({})),
                           "'lstm': Keras 3 has no activation like Keras 2's hard_sigmoid, max(0, min(1, x/5 + 1/2))",
                           Error);
      continue;
    }
    const std::string text = model.config({});
    const keras::Model again = keras::Model::read("model.json", text);
    CHECK(report::render(report::Format::table, again.summary(), {}) ==
          report::render(report::Format::table, model.summary(), {}));
    CHECK(again.config({}) == text);
    CHECK(again.warnings().empty());
  }
}
