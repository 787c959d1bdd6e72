set(uses keras io base)
target_link_libraries(${target} PRIVATE ZLIB::ZLIB)
