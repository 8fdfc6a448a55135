// The cassettes of `recordings`, compiled in.
#ifndef PUSHSIM_RECORDINGS_H
#define PUSHSIM_RECORDINGS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    // Without ".har".
    const char *name;
    const uint8_t *bytes;
    size_t size;
} pushsim_recording;

// By name, from 0; null behind the last.
const pushsim_recording *pushsim_recording_at(size_t index);

#endif
