// The differences between a separate config and the config.json of an archive.
#pragma once

#include "config/json.h"

namespace attn::keras {

/// Removes the ids of shared objects, which Keras writes only into archives.
void remove_shared_ids(Json& json);

/// Renames layers of a Keras 2 model whose names Keras 3 cannot load. If a config does not pass masks as arguments,
/// Keras creates operations for them on loading, with names such as "concatenate", which would collide with a layer of
/// that name. "concatenate" becomes "concatenate_layer".
void rename_like_mask_operations(Json& model);

}  // namespace attn::keras
