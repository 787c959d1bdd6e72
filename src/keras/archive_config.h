// The differences between a config on its own and the config.json of an archive.
#pragma once

#include "config/json.h"

namespace attn::keras {

/// Keras writes the ids of shared objects into archives only.
void remove_shared_ids(Json& json);

/// Renames layers of a model from Keras 2 that Keras 3 could not load under their names. Where a config does not hand
/// masks over as arguments, loading it makes operations for the masks, with names such as "concatenate": a layer of
/// such a name would be a second one. "concatenate" becomes "concatenate_layer".
void rename_like_mask_operations(Json& model);

}  // namespace attn::keras
