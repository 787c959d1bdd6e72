set(uses open run backends weights keras io base)
target_link_libraries(${target} PRIVATE ZLIB::ZLIB)
