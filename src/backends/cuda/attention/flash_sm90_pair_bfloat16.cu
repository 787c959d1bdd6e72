#include "flash_sm90_kernel.h"

namespace attn::cuda {

template Launch make_flash_sm90_pair<__nv_bfloat16>(const FlashSm90& given, const FlashSm90Tiles& tiles, int blocks);

}  // namespace attn::cuda
