# Weights in archives are HDF5, which that program reads.
add_dependencies(${target} attn-hdf5)
set(uses open keras weights plan io graph)
