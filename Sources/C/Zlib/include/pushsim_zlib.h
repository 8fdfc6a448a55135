#ifndef PUSHSIM_ZLIB_H
#define PUSHSIM_ZLIB_H

#include <zlib.h>

// inflateInit2 is a macro with a hidden size argument, which Swift does not import.
static inline int pushsim_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

#endif
