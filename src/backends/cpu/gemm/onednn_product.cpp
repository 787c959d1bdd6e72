#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "attn/base/size.h"
#include "primitive.h"
#include "product.h"

namespace attn::backends::cpu {
namespace {

/// Maximum rows per block: enough for full speed, and few enough that a block is in the cache for its epilogue.
constexpr std::int64_t kMostRows = 128;

constexpr Layout kLayout{Layout::Kind::onednn};

class OnednnProduct final : public Product {
 public:
  OnednnProduct(Engine& engine, const Size& size, const Weights& weights, const Fusion& fusion)
      : size_(size),
        // oneDNN adds the residual after the activation. If oneDNN does not compute the activation, the epilogue adds
        // the residual too.
        eltwise_(eltwise_of(fusion.activation)),
        adds_residual_(fusion.residual && (eltwise_ || fusion.activation.fn == graph::UnaryFn::linear)),
        finish_(eltwise_ ? graph::Unary{} : fusion.activation, fusion.residual && !adds_residual_) {
    const double operations =
        2.0 * static_cast<double>(size.rows) * static_cast<double>(size.depth) * static_cast<double>(size.width);
    team_ = engine.team_for(operations);
    // Splits the rows into blocks of similar height, with the same number of blocks for each thread.
    const std::int64_t most =
        std::max<std::int64_t>(1, std::min(kMostRows, (size.rows + team_.threads - 1) / team_.threads));
    const std::int64_t rounds = (size.rows + most * team_.threads - 1) / (most * team_.threads);
    rows_ = (size.rows + rounds * team_.threads - 1) / (rounds * team_.threads);
    blocks_ = (size.rows + rows_ - 1) / rows_;
    const OneThread scope;
    if (fusion.bias != nullptr) {
      const dnnl::memory::desc description = plain({1, size.width});
      bias_ = packed(engine, description, fusion.bias, description);
    }
    whole_ = calls(engine, rows_, weights);
    const std::int64_t last = size.rows - (blocks_ - 1) * rows_;
    if (last != rows_) last_ = calls(engine, last, weights);
  }

  void run(const void* x, const void* residual, void* y) override {
    parallel_for(blocks_, team_, [&](std::int64_t block, int thread) {
      const std::int64_t first = block * rows_, rows = std::min(rows_, size_.rows - first);
      BlockCall& call = (rows == rows_ ? whole_ : last_)[static_cast<std::size_t>(thread)];
      const float* const block_residual =
          residual == nullptr ? nullptr : static_cast<const float*>(residual) + first * size_.width;
      float* const block_y = static_cast<float*>(y) + first * size_.width;
      call.call.set_address(call.x, static_cast<const float*>(x) + first * size_.depth);
      call.call.set_address(call.y, block_y);
      if (adds_residual_) call.call.set_address(call.residual, block_residual);
      call.call.run();
      if (finish_.is_needed()) finish_.run(block_residual, block_y, rows * size_.width);
    });
  }

  [[nodiscard]] std::string_view name() const override { return "onednn matmul"; }

  [[nodiscard]] std::int64_t bytes() const override {
    std::int64_t sum = packed_bytes_ + (bias_ ? size_.width * bytes_of(DType::float32) : 0);
    for (const BlockCall& call : whole_) sum += call.call.bytes();
    for (const BlockCall& call : last_) sum += call.call.bytes();
    return sum;
  }

 private:
  struct BlockCall {
    Call call;
    std::size_t x, y, residual;
  };

  /// Makes the calls for a block of rows, one for each thread.
  std::vector<BlockCall> calls(Engine& engine, std::int64_t rows, const Weights& weights) {
    const dnnl::memory::desc x = plain({rows, size_.depth}), y = plain({rows, size_.width});
    const dnnl::memory::desc any({size_.depth, size_.width}, dnnl::memory::data_type::f32,
                                 dnnl::memory::format_tag::any);
    Packed unshared;
    Packed& shared = weights.packed == nullptr ? unshared : (*weights.packed)[kLayout];
    if (!weights_) weights_ = shared.blocked;
    const dnnl::memory::desc w = weights_ ? weights_.get_desc() : any;

    dnnl::post_ops after;
    if (eltwise_) after.append_eltwise(eltwise_->algorithm, eltwise_->alpha, eltwise_->beta);
    if (adds_residual_) after.append_binary(dnnl::algorithm::binary_add, y);
    dnnl::primitive_attr attributes = user_scratchpad();
    attributes.set_post_ops(after);
    const auto description = bias_ ? dnnl::matmul::primitive_desc(engine.engine, x, w, bias_.get_desc(), y, attributes)
                                   : dnnl::matmul::primitive_desc(engine.engine, x, w, y, attributes);
    if (!weights_) {
      const dnnl::memory::desc given({size_.depth, size_.width}, dnnl::memory::data_type::f32,
                                     weights.transposed ? dnnl::memory::format_tag::ba : dnnl::memory::format_tag::ab);
      weights_ = packed(engine, given, weights.numbers, description.weights_desc());
      packed_bytes_ = static_cast<std::int64_t>(weights_.get_desc().get_size());
      shared.blocked = weights_;
    }

    const dnnl::matmul primitive(description);
    std::vector<BlockCall> result;
    for (int thread = 0; thread < team_.threads; ++thread) {
      BlockCall block{Call(engine, primitive, description.scratchpad_desc()), 0, 0, 0};
      block.call.bind(DNNL_ARG_WEIGHTS, weights_);
      if (bias_) block.call.bind(DNNL_ARG_BIAS, bias_);
      block.x = block.call.bind(DNNL_ARG_SRC, x);
      block.y = block.call.bind(DNNL_ARG_DST, y);
      if (adds_residual_) {
        block.residual = block.call.bind(DNNL_ARG_ATTR_MULTIPLE_POST_OP(eltwise_ ? 1 : 0) | DNNL_ARG_SRC_1, y);
      }
      result.push_back(std::move(block));
    }
    return result;
  }

  Size size_;
  std::optional<Eltwise> eltwise_;
  bool adds_residual_;
  Finish finish_;
  Team team_;
  std::int64_t rows_, blocks_;
  std::int64_t packed_bytes_ = 0;
  dnnl::memory weights_, bias_;
  std::vector<BlockCall> whole_, last_;  // for each thread
};

bool takes(const ProductQuery& query) { return query.dtype == DType::float32 && query.weights == DType::float32; }

Layout layout(const ProductQuery&) { return kLayout; }

std::int64_t packed_bytes(const ProductQuery& query) {
  constexpr std::int64_t kBlock = 64;  // width of oneDNN's widest block
  const std::array factors{(query.size.width + kBlock - 1) / kBlock, kBlock, query.size.depth,
                           bytes_of(DType::float32)};
  return checked_product(factors).value_or(kMaxSize);
}

std::int64_t held_bytes(const ProductQuery& query) {
  return checked_mul(query.size.width, bytes_of(DType::float32)).value_or(kMaxSize);
}

std::int64_t scratch_bytes(const ProductQuery&, int) { return 0; }

std::unique_ptr<Product> make(Engine& engine, const Product::Size& size, DType, const Product::Weights& weights,
                              const Product::Fusion& fusion) {
  return std::make_unique<OnednnProduct>(engine, size, weights, fusion);
}

}  // namespace

constinit const ProductInfo kOnednnProduct{takes,
                                           layout,
                                           packed_bytes,
                                           held_bytes,
                                           scratch_bytes,
                                           make,
                                           /*hands_over=*/false,
                                           /*is_library=*/true};

}  // namespace attn::backends::cpu
