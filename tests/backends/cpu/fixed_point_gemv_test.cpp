// Products of a few rows with integer panels: decomposed rows give the results of the widened panel.
#include "quantized/fixed_point_gemv.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "attn/base/rng.h"
#include "isa.h"
#include "quantized/integer_panels.h"

namespace attn::backends::cpu {
namespace {

/// Rows of floats, a panel of random integers, and scales and zero points of its groups.
struct Few {
  IntegerForm form;
  bool is_signed;
  std::int64_t rows, depth;
  std::vector<std::int64_t> ends;
  std::vector<float> x, scale, zero;
  std::vector<std::byte> panel;

  Few(IntegerForm form_of, bool has_sign, std::int64_t rows_of, std::vector<std::int64_t> ends_of)
      : form(form_of), is_signed(has_sign), rows(rows_of), depth(ends_of.back()), ends(std::move(ends_of)) {
    RandomStream stream(0, "digits");
    x.resize(static_cast<std::size_t>(rows * depth));
    for (float& number : x) number = static_cast<float>(stream.uniform() * 8.0 - 1.0);
    panel.resize(static_cast<std::size_t>(integer_panel_bytes(form, depth)));
    for (std::byte& byte : panel) byte = static_cast<std::byte>(stream.uniform() * 256.0);
    for (std::size_t i = 0; i < ends.size() * kPanel; ++i) {
      scale.push_back(static_cast<float>(stream.uniform() + 0.5));
      zero.push_back(std::floor(static_cast<float>(stream.uniform() * 16.0 - 8.0)));
    }
  }

  [[nodiscard]] PanelGroups groups() const {
    return {ends.data(), static_cast<std::int64_t>(ends.size()), scale.data(), zero.data(), true};
  }

  [[nodiscard]] int integer(std::int64_t k, std::int64_t j) const {
    const bool is_nibble = form == IntegerForm::nibbles;
    const std::int64_t rows_of_word = is_nibble ? 8 : 4;
    const std::int64_t at = (k / rows_of_word * kPanel + j) * 4 + (is_nibble ? k % 8 / 2 : k % 4);
    const int byte = static_cast<int>(panel[static_cast<std::size_t>(at)]);
    const int stored = is_nibble ? (k % 2 == 0 ? byte & 0xF : byte >> 4) : byte;
    return stored - added_to(form, is_signed);
  }

  /// Σ in double, and its tolerance: 2^-23 of the largest number per weight, plus float32 sums.
  [[nodiscard]] double number(std::int64_t i, std::int64_t j, double& off) const {
    double total = 0.0, magnitude = 0.0;
    std::int64_t k = 0;
    for (std::size_t g = 0; g < ends.size(); ++g) {
      const std::size_t at = g * kPanel + static_cast<std::size_t>(j);
      for (; k < ends[g]; ++k) {
        const double weight = (integer(k, j) - static_cast<double>(zero[at])) * scale[at];
        total += x[static_cast<std::size_t>(i * depth + k)] * weight;
        magnitude += std::abs(weight) * 8.0 + 16.0 * scale[at] * 8.0;
      }
    }
    off = magnitude * 0x1p-22;
    return total;
  }
};

TEST_CASE("fixed point gemv: a few decomposed rows equal int8 and int4 products in every group") {
  if (!has_int8_dots()) return;
  const std::vector<std::vector<std::int64_t>> all_ends{{8}, {3}, {16}, {35}, {8, 16, 40}, {64, 72, 99}, {128, 256}};
  for (const IntegerForm form : {IntegerForm::bytes, IntegerForm::nibbles}) {
    for (const bool is_signed : {true, false}) {
      for (std::int64_t rows = 1; rows <= kMostFixedPointRows; ++rows) {
        for (const std::vector<std::int64_t>& ends : all_ends) {
          const Few few(form, is_signed, rows, ends);
          const PanelGroups groups = few.groups();
          REQUIRE(has_fixed_point_gemv(form, few.depth, groups));
          // The byte after a row's scratch memory is unchanged.
          const std::int64_t bytes = fixed_point_bytes(form, few.depth, groups.count), stride = (bytes + 64) / 64 * 64;
          std::vector<std::byte> digits(static_cast<std::size_t>(rows * stride), std::byte{0x5A});
          for (std::int64_t i = 0; i < rows; ++i) {
            REQUIRE(to_fixed_point(form, few.x.data() + i * few.depth, groups, digits.data() + i * stride));
            CHECK(digits[static_cast<std::size_t>(i * stride + bytes)] == std::byte{0x5A});
          }
          std::vector<float> y(static_cast<std::size_t>(rows * kPanel));
          multiply_fixed_point(form, is_signed, digits.data(), stride, rows, few.panel.data(), groups, y.data());
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < kPanel; ++j) {
              double off = 0.0;
              const double expected = few.number(i, j, off);
              const double got = y[static_cast<std::size_t>(i * kPanel + j)];
              CHECK_MESSAGE(
                  std::abs(got - expected) <= off,
                  fmt::format("{} rows of {}, number {} of row {}: {} for {}", rows, few.depth, j, i, got, expected));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("fixed point gemv: rows with NaN, infinity or numbers that are too small are rejected") {
  if (!has_int8_dots()) return;
  for (const float number : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Few few(IntegerForm::nibbles, true, 1, {64});
    few.x[17] = number;
    std::vector<std::byte> digits(static_cast<std::size_t>(fixed_point_bytes(few.form, few.depth, 1)));
    CHECK_FALSE(to_fixed_point(few.form, few.x.data(), few.groups(), digits.data()));
  }
  Few few(IntegerForm::bytes, true, 1, {64});
  for (float& number : few.x) number *= 0x1p-110F;
  std::vector<std::byte> digits(static_cast<std::size_t>(fixed_point_bytes(few.form, few.depth, 1)));
  CHECK_FALSE(to_fixed_point(few.form, few.x.data(), few.groups(), digits.data()));
  for (float& number : few.x) number = 0.0F;
  CHECK(to_fixed_point(few.form, few.x.data(), few.groups(), digits.data()));
}

}  // namespace
}  // namespace attn::backends::cpu
