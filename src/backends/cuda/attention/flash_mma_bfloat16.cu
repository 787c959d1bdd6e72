#include "flash_mma_launch.h"

namespace attn::cuda {

template Launch make_flash_mma<__nv_bfloat16>(FlashMma given, int size, int tiles);

}  // namespace attn::cuda
