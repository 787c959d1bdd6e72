// Ranks that have a GPU each, by NCCL: the one unit that knows it. The library is opened at run time.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "attn/communicators/communicator.h"

struct ncclComm;

namespace attn::cuda {

struct NcclLibrary;

/// The ranks of another communicator, which stays what carries bytes of the host's memory, and by which they met; what
/// lies on this rank's GPU goes by NCCL, on a stream, which may be capturing. The GPU is the calling thread's current
/// one, and no other rank's. Where a collective fails or is given up, NCCL is ended, and cannot be used again.
class Nccl final : public communicators::Communicator {
 public:
  /// Throws Error (no_device) where NCCL is missing or too old, or this build has none: before any rank is asked.
  static void expect_library();

  /// All ranks join. Throws Error (no_device).
  explicit Nccl(std::unique_ptr<communicators::Communicator> host);
  ~Nccl() override;

  /// "NCCL 2.28.9 and Open MPI 4.1.4"
  [[nodiscard]] std::string library() const override;
  void abort(int code) noexcept override;

  /// Whether NCCL adds such numbers as they are, without loss: not halves, which would be rounded at every rank.
  [[nodiscard]] static bool adds(DType dtype);

  // As the collectives of the host, in memory of the GPU; they are not counted here.
  void sum_on(cudaStream_t stream, const std::byte* in, std::byte* out, std::int64_t count, DType dtype,
              communicators::Reduction how);
  void gather_on(cudaStream_t stream, const std::byte* own, std::byte* all, std::span<const std::int64_t> bytes);
  void scatter_on(cudaStream_t stream, const std::byte* all, std::byte* own, std::span<const std::int64_t> counts,
                  DType dtype);
  void shift_on(cudaStream_t stream, std::span<const std::byte> give, std::span<std::byte> take);

  /// Returns when the stream is done; throws Error (no_device) where a rank is lost or the deadline passes.
  void wait(cudaStream_t stream);
  /// Counts a collective that a pass on the GPU had in it. Its time is the GPU's, and is not known apart.
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
  bool only_counts_ = false;  // a pass has done it
};

}  // namespace attn::cuda
