#include "collective.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "device.h"
#include "kernels/plain.h"
#include "nccl_ranks.h"
#include "time_limits.h"

namespace attn::cuda {
namespace {

using communicators::Collective;
using communicators::Reduction;

std::int64_t sum_of(const std::vector<std::int64_t>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
}

/// Returns the type in which arrays of this dtype are reduced. If NCCL cannot add a type, a wider one is used, and
/// results are rounded once.
DType added_as(DType dtype) {
  if (Nccl::adds(dtype)) return dtype;
  return dtype == DType::float16 || dtype == DType::bfloat16 ? DType::float32 : DType::int32;
}

/// The shards of an axis. Each rank contributes or receives its columns of all outer rows, concatenated.
struct Blocks {
  std::int64_t outer = 1;
  std::vector<std::int64_t> parts;  ///< bytes of a row for each rank

  Blocks(const Shape& shape, int axis, const std::vector<Dim>& sizes, std::int64_t element)
      : outer(shape.slice(0, axis).size()) {
    const std::int64_t inner = shape.slice(axis + 1, shape.rank()).size() * element;
    for (const Dim size : sizes) parts.push_back(size * inner);
  }
  [[nodiscard]] std::int64_t row() const { return sum_of(parts); }
  [[nodiscard]] std::vector<std::int64_t> bytes() const {
    std::vector<std::int64_t> all;
    for (const std::int64_t part : parts) all.push_back(part * outer);
    return all;
  }
};

/// Copies every rank's block between an array and the concatenated shards.
void copy_blocks(const Blocks& blocks, std::byte* array, std::byte* parts, bool from_parts, cudaStream_t stream) {
  std::int64_t before = 0;
  for (const std::int64_t part : blocks.parts) {
    std::byte *const in_array = array + before, *const in_parts = parts + before * blocks.outer;
    const auto width = static_cast<std::size_t>(part), rows = static_cast<std::size_t>(blocks.outer),
               row = static_cast<std::size_t>(blocks.row());
    if (width > 0 && rows > 0) {
      check(from_parts
                ? cudaMemcpy2DAsync(in_array, row, in_parts, width, width, rows, cudaMemcpyDeviceToDevice, stream)
                : cudaMemcpy2DAsync(in_parts, width, in_array, row, width, rows, cudaMemcpyDeviceToDevice, stream),
            "copying parts of an array");
    }
    before += part;
  }
}

/// One collective over NCCL. Its intermediate results use the scratch memory that steps share.
class NcclCollective {
 public:
  NcclCollective(const Step& step, Nccl& ranks)
      : in_(step.inputs[0]),
        out_(step.outputs[0]),
        ranks_(ranks),
        device_(step.device),
        scratch_(step.scratch),
        node_(step.node),
        fault_(step.fault) {}

  Launch make(const graph::AllReduce& op) {
    const DType wide = added_as(in_.dtype);
    const auto how = op.maximum ? Reduction::max : Reduction::sum;
    if (wide == in_.dtype)
      return [this_ = *this, how](cudaStream_t stream) {
        this_.ranks_.sum_on(stream, this_.in_.data, this_.out_.data, this_.in_.size(), this_.in_.dtype, how);
      };
    scratch_.reserve(in_.size() * bytes_of(wide));
    return [this_ = *this, how, wide](cudaStream_t stream) {
      const Operand sum{this_.scratch_.data, wide, this_.in_.shape};
      this_.cast(this_.in_, sum, stream);
      this_.ranks_.sum_on(stream, sum.data, sum.data, sum.size(), wide, how);
      this_.cast(sum, this_.out_, stream);
    };
  }

  Launch make(const graph::AllGather& op) {
    const Blocks blocks(out_.shape, op.axis, op.sizes, bytes_of(out_.dtype));
    if (blocks.outer == 1)
      return [this_ = *this, bytes = blocks.bytes()](cudaStream_t stream) {
        this_.ranks_.gather_on(stream, this_.in_.data, this_.out_.data, bytes);
      };
    scratch_.reserve(out_.bytes());
    return [this_ = *this, blocks](cudaStream_t stream) {
      this_.ranks_.gather_on(stream, this_.in_.data, this_.scratch_.data, blocks.bytes());
      copy_blocks(blocks, this_.out_.data, this_.scratch_.data, true, stream);
    };
  }

  Launch make(const graph::ReduceScatter& op) {
    const DType wide = added_as(in_.dtype);
    const std::int64_t element = bytes_of(wide);
    const Blocks blocks(in_.shape, op.axis, op.sizes, element);
    std::vector<std::int64_t> counts = blocks.bytes();
    for (std::int64_t& count : counts) count /= element;
    const bool widens = wide != in_.dtype, moves = blocks.outer != 1;
    // Scratch memory holds the widened array, its concatenated shards, and this rank's shard of the sum.
    const std::int64_t array = widens ? in_.size() * element : 0, parts = moves ? in_.size() * element : 0;
    scratch_.reserve(array + parts + (widens ? out_.size() * element : 0));
    return [this_ = *this, wide, blocks, counts, widens, moves, array, parts](cudaStream_t stream) {
      std::byte* from = this_.in_.data;
      if (widens) {
        const Operand whole{this_.scratch_.data, wide, this_.in_.shape};
        this_.cast(this_.in_, whole, stream);
        from = whole.data;
      }
      if (moves) {
        std::byte* const packed = this_.scratch_.data + array;
        copy_blocks(blocks, from, packed, false, stream);
        from = packed;
      }
      const Operand part{widens ? this_.scratch_.data + array + parts : this_.out_.data, wide, this_.out_.shape};
      this_.ranks_.scatter_on(stream, from, part.data, counts, wide);
      if (widens) this_.cast(part, this_.out_, stream);
    };
  }

  Launch make(const graph::Shift&) {
    return [this_ = *this](cudaStream_t stream) {
      this_.ranks_.shift_on(stream, {this_.in_.data, static_cast<std::size_t>(this_.in_.bytes())},
                            {this_.out_.data, static_cast<std::size_t>(this_.out_.bytes())});
    };
  }

  template <typename Op>
  Launch make(const Op& op) {
    throw internal_error("{} is not a collective", graph::name_of(graph::Op(op)));
  }

 private:
  void cast(const Operand& from, const Operand& to, cudaStream_t stream) const {
    if (from.size() == 0) return;
    const graph::Cast op{to.dtype};
    const graph::Op any = op;
    make_plain(op, Step{any, node_, {from}, {to}, device_, scratch_, fault_}).launch(stream);
  }

  Operand in_, out_;
  Nccl& ranks_;
  const Device& device_;
  Scratch& scratch_;
  int node_;
  Fault* fault_;
};

Launch over_host(const Step& step, const graph::Graph& graph, communicators::Communicator* ranks) {
  const Tensor in(step.inputs[0].dtype, step.inputs[0].shape), out(step.outputs[0].dtype, step.outputs[0].shape);
  const double limit = seconds_allowed(graph);
  return [=, &graph, from = step.inputs[0], to = step.outputs[0], id = step.node](cudaStream_t stream) {
    const auto copy = [&](void* target, const void* source, std::int64_t bytes, cudaMemcpyKind kind) {
      if (bytes == 0) return;
      check(cudaMemcpyAsync(target, source, static_cast<std::size_t>(bytes), kind, stream),
            "copying data between ranks");
    };
    await(stream, limit, "running the pass");  // a copy to pageable memory would wait without a time limit
    copy(in.data(), from.data, in.bytes(), cudaMemcpyDeviceToHost);
    await(stream, limit, "copying data between ranks");
    const Tensor ins[] = {in}, outs[] = {out};
    backends::evaluate(graph.nodes[graph::at(id)], graph, ins, outs, ranks);
    copy(to.data, out.data(), out.bytes(), cudaMemcpyHostToDevice);
  };
}

Collective collective_of(const graph::Op& op) {
  if (std::holds_alternative<graph::AllReduce>(op)) return Collective::all_reduce;
  if (std::holds_alternative<graph::AllGather>(op)) return Collective::all_gather;
  return std::holds_alternative<graph::ReduceScatter>(op) ? Collective::reduce_scatter : Collective::shift;
}

}  // namespace

CollectiveLaunch make_collective(const Step& step, const graph::Graph& graph, communicators::Communicator* ranks) {
  CollectiveLaunch made;
  made.collective = collective_of(step.op);
  made.bytes = (made.collective == Collective::all_gather ? step.outputs[0] : step.inputs[0]).bytes();
  if (auto* const nccl = dynamic_cast<Nccl*>(ranks)) {
    made.name = "nccl";
    made.can_be_recorded = true;
    made.launch = std::visit([&](const auto& op) { return NcclCollective(step, *nccl).make(op); }, step.op);
  } else {
    made.name = "over the host";
    made.launch = over_host(step, graph, ranks);
  }
  return made;
}

}  // namespace attn::cuda
