#ifndef PUSHSIM_CURL_H
#define PUSHSIM_CURL_H

#include <stddef.h>
#include <stdint.h>

// Outbound HTTP by the system's libcurl, which is opened at first use: to link it would make every start of the program
// slower. Nothing is decoded, followed or retried.

// 0 where libcurl is there, or -1 and why not.
int pushsim_curl_open(char *message, size_t size);

// Transfers that one thread runs side by side.
typedef struct pushsim_multi pushsim_multi;

// How a transfer ended.
enum {
  PUSHSIM_CURL_GOOD,
  PUSHSIM_CURL_DNS,
  PUSHSIM_CURL_REFUSED,
  PUSHSIM_CURL_TLS,
  PUSHSIM_CURL_TIMEOUT,
  // The peer closed before any answer, and in the middle of one.
  PUSHSIM_CURL_CLOSED,
  PUSHSIM_CURL_CUT,
  PUSHSIM_CURL_RESET,
  PUSHSIM_CURL_MALFORMED,
  PUSHSIM_CURL_OTHER
};

typedef struct {
  const char *url;
  const char *method;
  // The request target as it is to stand on the wire.
  const char *target;
  // 0 asks with HTTP/1.0, 1 with HTTP/1.1.
  int minor_version;
  // "Name: value", or "Name;" for one without a value.
  const char *const *fields;
  size_t field_count;
  const uint8_t *body;
  size_t body_size;
  int has_body;
  long connect_milliseconds;
  long whole_milliseconds;
  // A file of certificates to trust instead of the system's, or NULL.
  const char *ca_file;
  void *context;
  // A line of a head, with its end; and octets of the body as they came, chunks and codings included.
  void (*head_line)(void *context, const uint8_t *bytes, size_t size);
  void (*body_part)(void *context, const uint8_t *bytes, size_t size);
  // Called once, unless the transfer is removed.
  void (*done)(void *context, int end, const char *message);
} pushsim_outbound;

pushsim_multi *pushsim_multi_make(void);
void pushsim_multi_free(pushsim_multi *multi);
// Runs what can be run, then waits for sockets, `pushsim_multi_wake`, or so many milliseconds.
void pushsim_multi_step(pushsim_multi *multi, int milliseconds);
// From any thread.
void pushsim_multi_wake(pushsim_multi *multi);
// The call's texts and body are copied. NULL where there is no memory.
void *pushsim_multi_add(pushsim_multi *multi, const pushsim_outbound *call);
void pushsim_multi_remove(pushsim_multi *multi, void *transfer);

#endif
