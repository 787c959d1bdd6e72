// Helpers of this module's tests.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "../places.h"
#include "attn/base/error.h"
#include "attn/base/tensor.h"
#include "attn/graph/weight.h"

namespace attn::weights {

/// A file that real Keras wrote; tests/data/weights/generate.py describes it.
inline std::string data_path(std::string_view name) { return test::in_repository("tests/data/weights/").append(name); }

/// An empty folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "attn-weights-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string operator/(std::string_view name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

/// Returns the message of the Error (bad_input) that `act` throws; fails the test if it throws nothing or another
/// error.
inline std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    return error.what();
  }
  FAIL("nothing was refused");
  return {};
}

inline graph::WeightSpec weight(std::string path, Shape shape, graph::Initializer initializer = {},
                                DType dtype = DType::float32) {
  graph::WeightSpec spec;
  spec.path = std::move(path);
  spec.shape = std::move(shape);
  spec.initializer = std::move(initializer);
  spec.dtype = dtype;
  return spec;
}

/// The same with a name in .weights.h5.
inline graph::WeightSpec stored(const std::string& path, const std::string& store_path, const Shape& shape) {
  graph::WeightSpec spec = weight(path, shape);
  spec.store_path = store_path;
  return spec;
}

inline graph::Initializer initializer(std::string class_name) {
  graph::Initializer out;
  out.class_name = std::move(class_name);
  return out;
}

inline bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::equal(a.data(), a.data() + a.bytes(), b.data(), b.data() + b.bytes());
}

}  // namespace attn::weights
