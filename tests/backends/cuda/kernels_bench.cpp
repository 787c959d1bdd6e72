#include "kernels_bench.h"

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "attn/graph/graph.h"

namespace attn::test {
namespace {

constexpr std::int64_t kGuard = 64, kAligned = 16, kPage = 4096;
constexpr int kSentinel = 0x5A, kGarbage = 0xA5;

}  // namespace

Guarded::Guarded(DType dtype, const Shape& shape, int shift)
    : dtype_(dtype), shape_(shape), bytes_(shape.size() * bytes_of(dtype)) {
  const std::int64_t offset = shift * bytes_of(dtype);
  const std::int64_t size = (kGuard + offset + bytes_ + kAligned + kPage - 1) / kPage * kPage;
  void* const pages =
      mmap(nullptr, static_cast<std::size_t>(size + kPage), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  block_ = {static_cast<std::byte*>(pages),
            [size](std::byte* first) { munmap(first, static_cast<std::size_t>(size + kPage)); }};
  end_ = block_.get() + size;
  if (mprotect(end_, static_cast<std::size_t>(kPage), PROT_NONE) != 0) throw std::bad_alloc();
  data_ = block_.get() + (size - bytes_ - offset) / kAligned * kAligned + offset;
  std::memset(block_.get(), kSentinel, static_cast<std::size_t>(size));
  std::memset(data_, kGarbage, static_cast<std::size_t>(bytes_));
}

void Guarded::fill(const Tensor& numbers) {
  if (bytes_ > 0) std::memcpy(data_, numbers.data(), static_cast<std::size_t>(bytes_));
}

Tensor Guarded::numbers() const {
  Tensor result(dtype_, shape_);
  if (bytes_ > 0) std::memcpy(result.data(), data_, static_cast<std::size_t>(bytes_));
  return result;
}

bool Guarded::guards_are_intact() const {
  const auto intact = [](const std::byte* first, const std::byte* last) {
    return std::all_of(first, last, [](std::byte byte) { return byte == std::byte{kSentinel}; });
  };
  return intact(block_.get(), data_) && intact(data_ + bytes_, end_);
}

const cuda::Device& the_device() {
  static const cuda::Device device(0);
  return device;
}

Outcome run_kernel(const graph::Op& op, const std::vector<Tensor>& inputs, const Setting& setting) {
  std::vector<Guarded> ins, outs;
  std::vector<graph::TensorType> types;
  for (const Tensor& input : inputs) {
    ins.emplace_back(input.dtype(), input.shape(), setting.shift).fill(input);
    types.push_back({input.dtype(), input.shape()});
  }
  for (const graph::TensorType& type : graph::infer(op, types))
    outs.emplace_back(type.dtype, type.shape, setting.shift);

  cuda::Scratch scratch;
  const cuda::DeviceBytes fault = cuda::allocate_device(sizeof(cuda::Fault));
  std::memset(fault.get(), 0, sizeof(cuda::Fault));
  cuda::Step step{op, 7, {}, {}, the_device(), scratch, reinterpret_cast<cuda::Fault*>(fault.get())};
  for (const Guarded& in : ins) step.inputs.push_back(in.operand());
  for (const Guarded& out : outs) step.outputs.push_back(out.operand());
  if (setting.in_place >= 0) step.outputs[0].data = step.inputs[static_cast<std::size_t>(setting.in_place)].data;

  const cuda::Choice choice = setting.make(step);
  if (!choice.made()) return {{}, choice.why_not, "", {}};
  const cuda::DeviceBytes memory = cuda::allocate_device(scratch.bytes);
  scratch.data = memory.get();
  const cuda::Stream stream = cuda::make_stream();
  choice.launch(stream.get());
  cuda::check(cudaStreamSynchronize(stream.get()), "waiting");

  Outcome outcome;
  outcome.kernel = choice.name;
  std::memcpy(&outcome.fault, fault.get(), sizeof(cuda::Fault));
  for (std::size_t i = 0; i < ins.size(); ++i) {
    if (!ins[i].guards_are_intact()) outcome.problem = "bytes beside an input have changed";
    const bool same = inputs[i].bytes() == 0 || std::memcmp(ins[i].numbers().data(), inputs[i].data(),
                                                            static_cast<std::size_t>(inputs[i].bytes())) == 0;
    if (!same && static_cast<int>(i) != setting.in_place) outcome.problem = "an input has changed";
  }
  for (const Guarded& out : outs) {
    if (!out.guards_are_intact()) outcome.problem = "bytes beside an output have changed";
    outcome.outputs.push_back(out.numbers());
  }
  if (setting.in_place >= 0) {
    outcome.outputs[0] = ins[static_cast<std::size_t>(setting.in_place)].numbers();
  }
  return outcome;
}

}  // namespace attn::test
