// A oneDNN primitive with its arguments, made once and run without allocating.
#pragma once

#include <dnnl.hpp>
#include <vector>

#include "attn/base/tensor.h"
#include "kernel.h"

namespace attn::backends::onednn {

/// A dense row-major description.
[[nodiscard]] dnnl::memory::desc plain(const dnnl::memory::dims& dims, DType dtype = DType::float32);

[[nodiscard]] dnnl::memory::data_type data_type_of(DType dtype);

/// Attributes that leave scratch memory to us.
[[nodiscard]] dnnl::primitive_attr user_scratchpad();

class Primitive {
 public:
  /// Runs with `threads` threads; the primitive must be made under a ThreadScope of as many.
  Primitive(Engine& engine, int threads) : engine_(&engine), threads_(threads) {}

  void set(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad);
  /// The argument is where the operand's numbers are at each run.
  void bind(int argument, const dnnl::memory::desc& description, const Operand& operand);
  /// The argument is the same memory at each run.
  void bind(int argument, const dnnl::memory& memory);
  /// The argument is at an address that set_address gives before each run.
  std::size_t bind(int argument, const dnnl::memory::desc& description);
  void set_address(std::size_t index, void* address) { memories_[index].set_data_handle(address); }

  void run();

  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct Moving {
    std::size_t memory;
    Operand operand;
  };
  Engine* engine_;
  int threads_;
  dnnl::primitive primitive_;
  dnnl::memory scratchpad_;
  std::vector<dnnl::memory> memories_;
  std::vector<Moving> moving_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// `numbers`, plain, in the layout that a primitive wants of its weights.
[[nodiscard]] dnnl::memory packed(Engine& engine, const dnnl::memory::desc& from, const void* numbers,
                                  const dnnl::memory::desc& to);

}  // namespace attn::backends::onednn
