#include "attn/report/weights_view.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace attn;
using namespace attn::report;
using nlohmann::json;

namespace {

WeightsReport two_arrays() {
  WeightsReport out;
  out.file = "w.npz";
  out.arrays = {{"dense/kernel", {2, 3}, DType::float32, 6, 24, -1, 2, 0.5, 1.25, 0, 0, 1, ""},
                {"dense/bias", {3}, DType::bfloat16, 3, 6, 0, 0, 0, 0, 2, 1, 0, ""}};
  return out;
}

ModelCheck failing_check() {
  ModelCheck check;
  check.model = "small";
  check.weights = 3;
  check.missing = {{"a", {1}, {}, DType::float32, {}}};
  check.extra = {{"b", {}, {2}, {}, DType::int8}};
  check.mismatched = {{"c", {1, 2}, {2, 1}, DType::float32, DType::float16}};
  return check;
}

DiffReport difference() {
  DiffReport out{"a.npz", "b.npz", 0, 0, {}};
  run::PairedArray equal;
  equal.name = "same";
  equal.shape_a = equal.shape_b = {1};
  equal.values = run::OutputComparison{};
  equal.equal = true;
  run::PairedArray other = equal;
  other.name = "w";
  other.equal = false;
  other.values = run::OutputComparison{"w", false, "", 2, 1, 0.5, {1}, 4, 4.5};
  other.similarity.relative = 0.1;
  other.similarity.cosine = 0.99;
  run::PairedArray shapes = equal;
  shapes.name = "s";
  shapes.shape_b = {2};
  shapes.dtype_b = DType::float16;
  shapes.equal = false;
  shapes.values.reset();
  out.result.both = {equal, other, shapes};
  out.result.only_a = {{"gone", {2, 2}, DType::float64}};
  return out;
}

}  // namespace

TEST_CASE("weights: the text shows the table, the totals and the findings of the check") {
  WeightsReport weights = two_arrays();
  weights.check = failing_check();
  CHECK(render(Format::table, weights) ==
        "Array         Shape   Dtype     Bytes  Min  Max  Mean   Std  NaN  Inf\n"
        "────────────  ──────  ────────  ─────  ───  ───  ────  ────  ───  ───\n"
        "dense/kernel  (2, 3)  float32      24   -1    2   0.5  1.25    0    0\n"
        "dense/bias    (3,)    bfloat16      6    0    0     0     0    2    1\n"
        "\n"
        "2 arrays, 9 elements, 30.00 B\n"
        "NaN or infinite values in 1 array\n"
        "Not the weights of small:\n"
        "  missing: a (1,)\n"
        "  not the model's: b (2,)\n"
        "  c: expected float32 (1, 2), found float16 (2, 1)\n");
  weights.check = ModelCheck{"small", 2, {}, {}, {}};
  CHECK(render(Format::table, weights).ends_with("All 2 weights of small\n"));
}

TEST_CASE("weights: JSON has numbers as numbers, and the lists of the check") {
  WeightsReport weights = two_arrays();
  weights.check = failing_check();
  const json parsed = json::parse(render(Format::json, weights));
  CHECK(parsed["schema"] == "attn.weights/1");
  CHECK(parsed["arrays"][0]["zeros"] == 1);
  CHECK(parsed["total_elements"] == 9);
  CHECK(parsed["model"]["missing"][0]["shape"] == json({1}));
  CHECK(parsed["model"]["mismatched"][0]["expected_dtype"] == "float32");
  CHECK(parsed["model"]["mismatched"][0]["dtype"] == "float16");
}

TEST_CASE("weights: a page shows the totals as a list below its table") {
  CHECK(render(Format::markdown, two_arrays())
            .ends_with("|\n\n- 2 arrays, 9 elements, 30.00 B\n- NaN or infinite values in 1 array\n"));
}

TEST_CASE("weights: a difference shows only arrays that differ") {
  CHECK(render(Format::table, difference()) ==
        "Differs  Shape        Dtype              Values  Max abs  Relative  Cosine  Worst at  A    B\n───────  "
        "───────────  ─────────────────  ──────  ───────  ────────  ──────  ────────  ─  ───\nw        (1,)         "
        "float32                 1      0.5       0.1    0.99  [1]       4  4.5\ns        (1,) → (2,)  float32 → "
        "float16       -        -         -       -  -         -    -\n\nOnly in a.npz:\n  gone (2, 2) float64\nA "
        "a.npz, B b.npz: 1 equal, 2 different, 1 only in A, 0 only in B (rtol 0, atol 0)\n");
  const json parsed = json::parse(render(Format::json, difference()));
  CHECK(parsed["diff"]["equal"] == false);
  CHECK(parsed["diff"]["arrays"].size() == 3);
  CHECK(parsed["diff"]["only_a"][0]["dtype"] == "float64");
}
