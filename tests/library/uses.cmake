# That program reads weights in HDF5.
add_dependencies(${target} attn-hdf5)
