// The GPU form of a plan's steps: launches with fixed addresses, ready for capture.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"
#include "attn/graph/op.h"

namespace attn::cuda {

class Device;

/// The elements of a value: dense, row-major, on the device. The address is fixed for the executable's lifetime.
struct Operand {
  std::byte* data = nullptr;
  DType dtype = DType::float32;
  Shape shape;
  bool still = false;  ///< whether no step of a pass writes it: it is a weight, a constant, or prepared from these

  template <typename T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data);
  }
  [[nodiscard]] std::int64_t size() const { return shape.size(); }
  [[nodiscard]] std::int64_t bytes() const { return size() * bytes_of(dtype); }
};

/// Invalid input values that only the device sees. The first fault is kept; after it, no step writes to a state.
struct Fault {
  enum Kind : int {
    warming_up = -1,  ///< faults are ignored during a pass over meaningless values
    none = 0,
    index_out_of_range,
    integer_division_by_zero,
    integer_to_negative_power,
    rows_beyond_cache,
    length_beyond_cache,
    source_beyond_cache
  };
  int kind = none;
  int node = 0;             ///< graph::NodeId
  std::int64_t number = 0;  ///< the index, the dividend, the exponent, the position, the length, the entry
  std::int64_t other = 0;   ///< the size of the axis of an index, or the element of the sources
};

/// Memory that steps share, because only one runs at a time. It is reserved while kernels are made, and allocated
/// before the first launch.
struct Scratch {
  std::int64_t bytes = 0;
  std::byte* data = nullptr;  ///< null until allocation; kernels read the pointer at launch

  void reserve(std::int64_t wanted) { bytes = wanted > bytes ? wanted : bytes; }
};

/// The inputs of kernel selection.
struct Step {
  const graph::Op& op;
  int node = 0;  ///< graph::NodeId
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  const Device& device;
  Scratch& scratch;
  Fault* fault = nullptr;  ///< on the device
};

/// Puts the step's work on a stream, which may be capturing. It neither allocates nor synchronizes. Throws Error.
using Launch = std::function<void(cudaStream_t)>;

/// A kernel, or the reason why there is none.
struct Choice {
  std::string name;  ///< "layer_norm warp", "cublaslt bf16 bias+relu", "plain"
  Launch launch;
  std::string why_not;

  Choice(std::string kernel, Launch launched) : name(std::move(kernel)), launch(std::move(launched)) {}
  explicit Choice(std::string reason) : why_not(std::move(reason)) {}
  [[nodiscard]] bool made() const { return launch != nullptr; }
};

/// Makes plain kernels for every operation (plain.cu and its siblings): one thread per element of the result, any
/// dtype, any shape. They define the results of the fast kernels. For Unary, Binary and Select, an output may alias an
/// input of the same shape and dtype. Every output must have elements.
[[nodiscard]] Choice make_plain(const Step& step);

/// Makes a fast kernel, or gives the reason why there is none. Tried before the plain kernels.
[[nodiscard]] Choice make_fast(const Step& step);

}  // namespace attn::cuda
