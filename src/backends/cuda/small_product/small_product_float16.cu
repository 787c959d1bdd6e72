#include "small_product_kernel.h"

namespace attn::cuda {

template Launch make_small_product<__half>(const SmallProduct& product, const SmallProductMaps& maps,
                                           const SmallTiling& tiling);

}  // namespace attn::cuda
