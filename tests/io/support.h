// Helpers of this module's tests.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../places.h"
#include "../refusal.h"
#include "../temporary_folder.h"
#include "attn/base/error.h"
#include "attn/base/tensor.h"
#include "attn/io/bytes.h"
#include "attn/io/file.h"

namespace attn::io {

/// A file that real NumPy, safetensors, h5py or Keras has written; tests/data/io/generate.py describes it.
inline std::string data_path(std::string_view name) { return test::in_repository("tests/data/io/").append(name); }
inline Bytes data_file(std::string_view name) { return read_file(data_path(name)); }

using test::refusal;
using test::TemporaryFolder;

inline Bytes bytes_of_text(std::string_view text) { return Bytes::copy_of(std::as_bytes(std::span(text))); }

/// Returns whether `act` succeeds rather than throwing an Error (bad_input); anything else fails the test.
inline bool is_accepted(const std::function<void()>& act) {
  try {
    act();
    return true;
  } catch (const Error& error) {
    CHECK_MESSAGE(error.code() == ExitCode::bad_input, error.what());
    return false;
  }
}

/// `parse` must reject every truncation of `whole`.
inline void check_prefixes_are_refused(std::string_view whole, const std::function<void(const Bytes&)>& parse) {
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes prefix = bytes_of_text(whole.substr(0, size));
    if (is_accepted([&] { parse(prefix); }))
      FAIL("the first " << size << " of " << whole.size() << " bytes were accepted");
  }
}

/// `parse` must accept or reject each text that differs in one bit of its first `size` bytes; returns the number of
/// accepted ones.
inline int count_accepted_flips(std::string_view whole, std::size_t size,
                                const std::function<void(const Bytes&)>& parse) {
  int accepted = 0;
  std::string text(whole);
  for (std::size_t bit = 0; bit < size * 8; ++bit) {
    const auto mask = static_cast<char>(1 << (bit % 8));
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
    const Bytes flipped = bytes_of_text(text);
    if (is_accepted([&] { parse(flipped); })) ++accepted;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ mask);
  }
  return accepted;
}

/// Element i is i, and bools alternate, as in generate.py.
inline void check_counts(const Tensor& tensor, DType dtype, const Shape& shape) {
  CHECK(tensor.dtype() == dtype);
  CHECK(tensor.shape() == shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    CAPTURE(i);
    CHECK(tensor.at(i) == static_cast<double>(dtype == DType::boolean ? i % 2 : i));
  }
}

inline Tensor counting(DType dtype, const Shape& shape) {
  const Tensor tensor(dtype, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, static_cast<double>(dtype == DType::boolean ? i % 2 : i));
  }
  return tensor;
}

inline constexpr DType kAllTypes[] = {DType::float64, DType::float32, DType::float16, DType::bfloat16, DType::int64,
                                      DType::int32,   DType::int16,   DType::int8,    DType::uint64,   DType::uint32,
                                      DType::uint16,  DType::uint8,   DType::boolean};

inline const Tensor& named(const std::vector<NamedTensor>& tensors, std::string_view name) {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == name) return tensor.tensor;
  }
  FAIL("no tensor " << std::string(name));
  return tensors.front().tensor;
}

}  // namespace attn::io
