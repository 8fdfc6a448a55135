#include "pushsim_curl.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  CURLcode (*global_init)(long);
  CURL *(*easy_init)(void);
  void (*easy_cleanup)(CURL *);
  CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
  CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
  const char *(*easy_strerror)(CURLcode);
  CURLM *(*multi_init)(void);
  CURLMcode (*multi_cleanup)(CURLM *);
  CURLMcode (*multi_add_handle)(CURLM *, CURL *);
  CURLMcode (*multi_remove_handle)(CURLM *, CURL *);
  CURLMcode (*multi_perform)(CURLM *, int *);
  CURLMcode (*multi_poll)(CURLM *, struct curl_waitfd *, unsigned, int, int *);
  CURLMcode (*multi_wakeup)(CURLM *);
  CURLMsg *(*multi_info_read)(CURLM *, int *);
  struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
  void (*slist_free_all)(struct curl_slist *);
} curl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char failure[256];

static void load(void) {
  static const char *const names[] = {
#ifdef __APPLE__
      "/usr/lib/libcurl.4.dylib",
#else
      "libcurl.so.4",
#endif
  };
  void *library = dlopen(names[0], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(failure, sizeof failure, "%s cannot be opened, which recording needs: install libcurl", names[0]);
    return;
  }
  const struct {
    const char *name;
    void *place;
  } symbols[] = {
      {"curl_global_init", &curl.global_init},
      {"curl_easy_init", &curl.easy_init},
      {"curl_easy_cleanup", &curl.easy_cleanup},
      {"curl_easy_setopt", &curl.easy_setopt},
      {"curl_easy_getinfo", &curl.easy_getinfo},
      {"curl_easy_strerror", &curl.easy_strerror},
      {"curl_multi_init", &curl.multi_init},
      {"curl_multi_cleanup", &curl.multi_cleanup},
      {"curl_multi_add_handle", &curl.multi_add_handle},
      {"curl_multi_remove_handle", &curl.multi_remove_handle},
      {"curl_multi_perform", &curl.multi_perform},
      {"curl_multi_poll", &curl.multi_poll},
      {"curl_multi_wakeup", &curl.multi_wakeup},
      {"curl_multi_info_read", &curl.multi_info_read},
      {"curl_slist_append", &curl.slist_append},
      {"curl_slist_free_all", &curl.slist_free_all},
  };
  for (size_t index = 0; index < sizeof symbols / sizeof symbols[0]; index++) {
    void *found = dlsym(library, symbols[index].name);
    if (!found) {
      snprintf(failure, sizeof failure, "%s is too old: it has no %s (7.68 or later is needed)", names[0],
               symbols[index].name);
      return;
    }
    memcpy(symbols[index].place, &found, sizeof found);
  }
  if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) snprintf(failure, sizeof failure, "libcurl does not start");
}

int pushsim_curl_open(char *message, size_t size) {
  pthread_once(&once, load);
  if (!failure[0]) return 0;
  snprintf(message, size, "%s", failure);
  return -1;
}

struct pushsim_multi {
  CURLM *handle;
};

typedef struct {
  CURL *easy;
  struct curl_slist *fields;
  uint8_t *body;
  char error[CURL_ERROR_SIZE];
  pushsim_outbound call;
  int has_answer;
} transfer;

pushsim_multi *pushsim_multi_make(void) {
  pushsim_multi *multi = calloc(1, sizeof *multi);
  if (!multi) return NULL;
  multi->handle = curl.multi_init();
  if (multi->handle) return multi;
  free(multi);
  return NULL;
}

void pushsim_multi_free(pushsim_multi *multi) {
  curl.multi_cleanup(multi->handle);
  free(multi);
}

static size_t take_head(char *bytes, size_t size, size_t count, void *context) {
  transfer *own = context;
  own->has_answer = 1;
  own->call.head_line(own->call.context, (const uint8_t *)bytes, size * count);
  return size * count;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
  transfer *own = context;
  own->call.body_part(own->call.context, (const uint8_t *)bytes, size * count);
  return size * count;
}

static void discard(transfer *own) {
  if (own->easy) curl.easy_cleanup(own->easy);
  if (own->fields) curl.slist_free_all(own->fields);
  free(own->body);
  free(own);
}

static int end_of(CURLcode code, const transfer *own) {
  long system_error = 0;
  curl.easy_getinfo(own->easy, CURLINFO_OS_ERRNO, &system_error);
  switch (code) {
    case CURLE_OK: return PUSHSIM_CURL_GOOD;
    case CURLE_COULDNT_RESOLVE_HOST: return PUSHSIM_CURL_DNS;
    case CURLE_COULDNT_CONNECT: return PUSHSIM_CURL_REFUSED;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_INVALIDCERTSTATUS: return PUSHSIM_CURL_TLS;
    case CURLE_OPERATION_TIMEDOUT: return PUSHSIM_CURL_TIMEOUT;
    case CURLE_GOT_NOTHING: return PUSHSIM_CURL_CLOSED;
    case CURLE_PARTIAL_FILE: return PUSHSIM_CURL_CUT;
    case CURLE_SEND_ERROR: return PUSHSIM_CURL_RESET;
    case CURLE_RECV_ERROR:
      if (system_error == ECONNRESET || !own->has_answer) return PUSHSIM_CURL_RESET;
      return PUSHSIM_CURL_CUT;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL: return PUSHSIM_CURL_MALFORMED;
    default: return PUSHSIM_CURL_OTHER;
  }
}

void pushsim_multi_step(pushsim_multi *multi, int milliseconds) {
  int running = 0;
  curl.multi_perform(multi->handle, &running);
  int left = 0;
  int ended = 0;
  CURLMsg *message;
  while ((message = curl.multi_info_read(multi->handle, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    ended = 1;
    CURL *easy = message->easy_handle;
    CURLcode code = message->data.result;
    transfer *own = NULL;
    curl.easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&own);
    int end = end_of(code, own);
    curl.multi_remove_handle(multi->handle, easy);
    own->call.done(own->call.context, end, own->error[0] ? own->error : curl.easy_strerror(code));
    discard(own);
  }
  if (!ended) curl.multi_poll(multi->handle, NULL, 0, milliseconds, NULL);
}

void pushsim_multi_wake(pushsim_multi *multi) { curl.multi_wakeup(multi->handle); }

static void set_request(transfer *own, const pushsim_outbound *call) {
  CURL *easy = own->easy;
  curl.easy_setopt(easy, CURLOPT_URL, call->url);
  curl.easy_setopt(easy, CURLOPT_REQUEST_TARGET, call->target);
  curl.easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl.easy_setopt(easy, CURLOPT_HTTP_VERSION, call->minor_version ? (long)CURL_HTTP_VERSION_1_1 : (long)CURL_HTTP_VERSION_1_0);
  if (call->has_body) {
    curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_size);
    curl.easy_setopt(easy, CURLOPT_POSTFIELDS, own->body);
  }
  if (strcmp(call->method, "HEAD") == 0) {
    curl.easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else {
    curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
  }
  curl.easy_setopt(easy, CURLOPT_HTTPHEADER, own->fields);
}

// Nothing is done unseen: no redirect, no retry on an old connection, no proxy of the environment, no decoding.
static void set_manners(transfer *own, const pushsim_outbound *call) {
  CURL *easy = own->easy;
  curl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl.easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
  curl.easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
  curl.easy_setopt(easy, CURLOPT_PROXY, "");
  curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl.easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
  curl.easy_setopt(easy, CURLOPT_HTTP_TRANSFER_DECODING, 0L);
  curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, call->connect_milliseconds);
  curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, call->whole_milliseconds);
  if (call->ca_file) curl.easy_setopt(easy, CURLOPT_CAINFO, call->ca_file);
  curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, own->error);
  curl.easy_setopt(easy, CURLOPT_PRIVATE, own);
  curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_head);
  curl.easy_setopt(easy, CURLOPT_HEADERDATA, own);
  curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
  curl.easy_setopt(easy, CURLOPT_WRITEDATA, own);
}

static int copy_call(transfer *own, const pushsim_outbound *call) {
  if (call->body_size > 0) {
    own->body = malloc(call->body_size);
    if (!own->body) return 0;
    memcpy(own->body, call->body, call->body_size);
  } else if (call->has_body) {
    own->body = calloc(1, 1);
  }
  for (size_t index = 0; index < call->field_count; index++) {
    struct curl_slist *longer = curl.slist_append(own->fields, call->fields[index]);
    if (!longer) return 0;
    own->fields = longer;
  }
  return 1;
}

void *pushsim_multi_add(pushsim_multi *multi, const pushsim_outbound *call) {
  transfer *own = calloc(1, sizeof *own);
  if (!own) return NULL;
  own->call = *call;
  own->easy = curl.easy_init();
  if (!own->easy || !copy_call(own, call)) {
    discard(own);
    return NULL;
  }
  set_request(own, call);
  set_manners(own, call);
  if (curl.multi_add_handle(multi->handle, own->easy) == CURLM_OK) return own;
  discard(own);
  return NULL;
}

void pushsim_multi_remove(pushsim_multi *multi, void *handle) {
  transfer *own = handle;
  curl.multi_remove_handle(multi->handle, own->easy);
  discard(own);
}
