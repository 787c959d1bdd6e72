// Ranks with one GPU each, over NCCL. Only this unit uses NCCL; the library is opened at run time.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "attn/communicators/communicator.h"

struct ncclComm;

namespace attn::cuda {

struct NcclLibrary;

/// Wraps the communicator through which the ranks have met, which still carries host memory. Data on this rank's GPU
/// goes through NCCL, on a stream that may be capturing. The GPU is the calling thread's current one; no other rank may
/// use it. If a collective fails or is abandoned, NCCL is aborted and cannot be used any more.
class Nccl final : public communicators::Communicator {
 public:
  /// Throws Error (no_device) before any rank is contacted if NCCL is missing or too old, or this build has none.
  static void expect_library();

  /// Joins all ranks. Throws Error (no_device).
  explicit Nccl(std::unique_ptr<communicators::Communicator> host);
  ~Nccl() override;

  /// "NCCL 2.28.9 and Open MPI 4.1.4"
  [[nodiscard]] std::string library() const override;
  void abort(int code) noexcept override;

  /// Returns whether NCCL adds numbers of this dtype without loss. It is false for half precision, which every rank
  /// would round.
  [[nodiscard]] static bool adds(DType dtype);

  // Collectives over GPU memory, defined like the host's. They are not counted in counts().
  void sum_on(cudaStream_t stream, const std::byte* in, std::byte* out, std::int64_t count, DType dtype,
              communicators::Reduction how);
  void gather_on(cudaStream_t stream, const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes);
  void scatter_on(cudaStream_t stream, const std::byte* all, std::byte* own, std::span<const std::int64_t> counts,
                  DType dtype);
  void shift_on(cudaStream_t stream, std::span<const std::byte> give, std::span<std::byte> take);

  /// Waits until the stream is done. Throws Error (no_device) if a rank is lost or the deadline passes.
  void wait(cudaStream_t stream);
  /// Counts a collective of a pass on the GPU. Its time is part of the pass and not known separately.
  void passed(communicators::Collective collective, std::int64_t bytes);

 protected:
  void do_all_reduce(const std::byte* in, std::byte* out, std::int64_t count, DType dtype,
                     communicators::Reduction how) override;
  void do_all_gather(const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes) override;
  void do_reduce_scatter(const std::byte* all, std::byte* own, std::span<const std::int64_t> counts,
                         DType dtype) override;
  void do_shift(std::span<const std::byte> give, std::span<std::byte> take) override;
  void do_broadcast(std::span<std::byte> bytes, int root) override;
  void do_barrier() override;

 private:
  template <typename Calls>
  void grouped(const char* doing, const Calls& calls);
  void check(int code, const char* doing);
  void settle(const char* doing);
  [[noreturn]] void give_up(double passed, const char* doing);
  void end() noexcept;

  const NcclLibrary& library_;
  std::unique_ptr<communicators::Communicator> host_;
  ncclComm* comm_ = nullptr;
  bool only_counts_ = false;  // whether a pass has already executed the collective
};

}  // namespace attn::cuda
