// attn's trust in attn-hdf5, which a file may have taken over: the input is the output of that process.
#include "hdf5/hdf5_answer.h"

#include <string>

#include "answer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  constexpr std::size_t kFile = 4096;
  static const std::string zeros(kFile, '\0');
  static const io::Bytes file = io::Bytes::copy_of(std::as_bytes(std::span(zeros)));
  fuzz::read_answer_of(data, size,
                       [](io::Channel& channel) { static_cast<void>(io::read_answer(channel, file, "x.h5")); });
  return 0;
}
