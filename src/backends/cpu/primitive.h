// oneDNN's primitives, called by several threads at once without allocating.
#pragma once

#include <dnnl.hpp>
#include <vector>

#include "attn/base/tensor.h"
#include "engine.h"

namespace attn::backends::cpu {

/// A dense row-major description of float32 numbers.
[[nodiscard]] dnnl::memory::desc plain(const dnnl::memory::dims& dims);

/// Attributes that leave scratch memory to us.
[[nodiscard]] dnnl::primitive_attr user_scratchpad();

/// `numbers`, described by `from`, in the layout `to` that a primitive wants of its weights.
[[nodiscard]] dnnl::memory packed(Engine& engine, const dnnl::memory::desc& from, const void* numbers,
                                  const dnnl::memory::desc& to);

/// A primitive with the memory objects and scratch of one thread.
class Call {
 public:
  Call(Engine& engine, dnnl::primitive primitive, const dnnl::memory::desc& scratchpad);

  /// The argument is the same memory each time.
  void bind(int argument, const dnnl::memory& memory);
  /// The argument is where set_address says; gives its index.
  std::size_t bind(int argument, const dnnl::memory::desc& description);
  void set_address(std::size_t index, const void* address);

  void run();
  [[nodiscard]] std::int64_t bytes() const;  ///< of scratch

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  dnnl::memory scratchpad_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace attn::backends::cpu
