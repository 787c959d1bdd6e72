#include "flash_sm90_kernel.h"

namespace attn::cuda {

template Launch make_flash_sm90_pair<__half>(const FlashSm90& given, const FlashSm90Tiles& tiles, int blocks);

}  // namespace attn::cuda
