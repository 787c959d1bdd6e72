set(uses open keras run weights io report backends)
# Weights in HDF5 are read by that program.
add_dependencies(${target} attn-hdf5)
