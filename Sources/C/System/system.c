#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "pushsim_system.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/sockios.h>
#include <sys/epoll.h>
#endif

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

static int prepare(int fd) {
    int flags = fcntl(fd, F_GETFL, 0);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return -errno;
    return 0;
}

static void prepare_stream(int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#ifdef SO_NOSIGPIPE
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
}

static int address_of(const char *host, uint16_t port, struct sockaddr_storage *storage, socklen_t *length) {
    memset(storage, 0, sizeof *storage);
    struct sockaddr_in *four = (struct sockaddr_in *)storage;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)storage;
    if (strcmp(host, "localhost") == 0) host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        *length = sizeof *four;
        return 0;
    }
    if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        *length = sizeof *six;
        return 0;
    }
    return -EADDRNOTAVAIL;
}

int pushsim_listen(const char *host, uint16_t port, int backlog) {
    struct sockaddr_storage address;
    socklen_t length;
    int result = address_of(host, port, &address, &length);
    if (result < 0) return result;
    int fd = socket(address.ss_family, SOCK_STREAM, 0);
    if (fd < 0) return -errno;
    int on = 1;
    // Lets a server restart while old connections linger; two live listeners still collide.
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    result = prepare(fd);
    if (result == 0 && bind(fd, (struct sockaddr *)&address, length) < 0) result = -errno;
    if (result == 0 && listen(fd, backlog) < 0) result = -errno;
    if (result < 0) {
        close(fd);
        return result;
    }
    return fd;
}

int pushsim_local_port(int fd) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) < 0) return -errno;
    if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

int pushsim_accept(int listener) {
#ifdef __linux__
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return -errno;
#else
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) return -errno;
    int result = prepare(fd);
    if (result < 0) {
        close(fd);
        return result;
    }
#endif
    prepare_stream(fd);
    return fd;
}

int pushsim_connect(const char *host, uint16_t port) {
    struct sockaddr_storage address;
    socklen_t length;
    int result = address_of(host, port, &address, &length);
    if (result < 0) return result;
    int fd = socket(address.ss_family, SOCK_STREAM, 0);
    if (fd < 0) return -errno;
    result = prepare(fd);
    if (result == 0) prepare_stream(fd);
    if (result == 0 && connect(fd, (struct sockaddr *)&address, length) < 0 && errno != EINPROGRESS) result = -errno;
    if (result < 0) {
        close(fd);
        return result;
    }
    return fd;
}

int pushsim_connect_result(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0) return -errno;
    return -error;
}

int64_t pushsim_receive(int fd, void *buffer, size_t size) {
    ssize_t count;
    do count = recv(fd, buffer, size, 0);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

int64_t pushsim_send(int fd, const void *buffer, size_t size) {
    ssize_t count;
    do count = send(fd, buffer, size, MSG_NOSIGNAL);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

int pushsim_unread(int fd) {
    int count = 0;
    return ioctl(fd, FIONREAD, &count) < 0 ? -errno : count;
}

int pushsim_unsent(int fd) {
    int count = 0;
#ifdef __APPLE__
    socklen_t size = sizeof count;
    return getsockopt(fd, SOL_SOCKET, SO_NWRITE, &count, &size) < 0 ? -errno : count;
#else
    return ioctl(fd, SIOCOUTQNSD, &count) < 0 ? -errno : count;
#endif
}

int pushsim_shutdown_write(int fd) { return shutdown(fd, SHUT_WR) < 0 ? -errno : 0; }

int pushsim_close(int fd) { return close(fd) < 0 ? -errno : 0; }

int pushsim_linger_none(int fd) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) < 0 ? -errno : 0;
}

int pushsim_reset(int fd) {
    pushsim_linger_none(fd);
    return pushsim_close(fd);
}

int pushsim_set_receive_buffer(int fd, int bytes) {
    return setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) < 0 ? -errno : 0;
}

int pushsim_peer_address(int fd, char *buffer, size_t size) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getpeername(fd, (struct sockaddr *)&address, &length) < 0) return -errno;
    const void *raw = address.ss_family == AF_INET6 ? (const void *)&((struct sockaddr_in6 *)&address)->sin6_addr
                                                    : (const void *)&((struct sockaddr_in *)&address)->sin_addr;
    if (inet_ntop(address.ss_family, raw, buffer, (socklen_t)size) == NULL) return -errno;
    return (int)strlen(buffer);
}

int pushsim_pipe(int *read_end, int *write_end) {
    int ends[2];
    if (pipe(ends) < 0) return -errno;
    int result = prepare(ends[0]);
    if (result == 0) result = prepare(ends[1]);
    if (result < 0) {
        close(ends[0]);
        close(ends[1]);
        return result;
    }
    *read_end = ends[0];
    *write_end = ends[1];
    return 0;
}

int64_t pushsim_read(int fd, void *buffer, size_t size) {
    ssize_t count = read(fd, buffer, size);
    return count < 0 ? -errno : count;
}

int64_t pushsim_write(int fd, const void *buffer, size_t size) {
    ssize_t count = write(fd, buffer, size);
    return count < 0 ? -errno : count;
}

#ifdef __linux__
int pushsim_epoll_available(void) { return 1; }

int pushsim_epoll_create(void) {
    int fd = epoll_create1(EPOLL_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int pushsim_epoll_control(int poller, int operation, int fd, uint32_t wanted, uint64_t token) {
    struct epoll_event event = {.events = 0, .data = {.u64 = token}};
    if (wanted & PUSHSIM_READABLE) event.events |= EPOLLIN;
    if (wanted & PUSHSIM_WRITABLE) event.events |= EPOLLOUT;
    if (wanted & PUSHSIM_PEER_CLOSED) event.events |= EPOLLRDHUP;
    int code = operation == PUSHSIM_ADD ? EPOLL_CTL_ADD : operation == PUSHSIM_CHANGE ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;
    return epoll_ctl(poller, code, fd, &event) < 0 ? -errno : 0;
}

int pushsim_epoll_wait(int poller, struct pushsim_event *events, int count, int milliseconds) {
    struct epoll_event raw[256];
    if (count > 256) count = 256;
    int ready = epoll_wait(poller, raw, count, milliseconds);
    if (ready < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < ready; i++) {
        uint32_t bits = 0;
        if (raw[i].events & EPOLLIN) bits |= PUSHSIM_READABLE;
        if (raw[i].events & EPOLLOUT) bits |= PUSHSIM_WRITABLE;
        if (raw[i].events & EPOLLRDHUP) bits |= PUSHSIM_PEER_CLOSED;
        if (raw[i].events & (EPOLLERR | EPOLLHUP)) bits |= PUSHSIM_BROKEN;
        events[i].token = raw[i].data.u64;
        events[i].ready = bits;
    }
    return ready;
}
#else
int pushsim_epoll_available(void) { return 0; }
int pushsim_epoll_create(void) { return -ENOSYS; }
int pushsim_epoll_control(int poller, int operation, int fd, uint32_t wanted, uint64_t token) { return -ENOSYS; }
int pushsim_epoll_wait(int poller, struct pushsim_event *events, int count, int milliseconds) { return -ENOSYS; }
#endif

int pushsim_poll(struct pushsim_watch *watches, size_t count, int milliseconds) {
    struct pollfd few[64];
    struct pollfd *raw = few;
    if (count > 64) {
        raw = malloc(count * sizeof *raw);
        if (raw == NULL) return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        raw[i].fd = watches[i].fd;
        raw[i].revents = 0;
        raw[i].events = 0;
        if (watches[i].wanted & PUSHSIM_READABLE) raw[i].events |= POLLIN;
        if (watches[i].wanted & PUSHSIM_WRITABLE) raw[i].events |= POLLOUT;
#ifdef POLLRDHUP
        if (watches[i].wanted & PUSHSIM_PEER_CLOSED) raw[i].events |= POLLRDHUP;
#endif
    }
    int ready = poll(raw, (nfds_t)count, milliseconds);
    int result = ready < 0 ? (errno == EINTR ? 0 : -errno) : ready;
    for (size_t i = 0; i < count; i++) {
        short bits = ready > 0 ? raw[i].revents : 0;
        watches[i].ready = 0;
        if (bits & POLLIN) watches[i].ready |= PUSHSIM_READABLE;
        if (bits & POLLOUT) watches[i].ready |= PUSHSIM_WRITABLE;
#ifdef POLLRDHUP
        if (bits & POLLRDHUP) watches[i].ready |= PUSHSIM_PEER_CLOSED;
#endif
        if (bits & (POLLERR | POLLHUP | POLLNVAL)) watches[i].ready |= PUSHSIM_BROKEN;
    }
    if (raw != few) free(raw);
    return result;
}

static int64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t pushsim_wall_clock(void) { return read_clock(CLOCK_REALTIME); }

int64_t pushsim_monotonic_clock(void) { return read_clock(CLOCK_MONOTONIC); }

struct thread_start {
    void (*body)(void *);
    void *context;
    char name[16];
};

static void *thread_main(void *argument) {
    struct thread_start start = *(struct thread_start *)argument;
    free(argument);
#ifdef __APPLE__
    pthread_setname_np(start.name);
#else
    pthread_setname_np(pthread_self(), start.name);
#endif
    start.body(start.context);
    return NULL;
}

int pushsim_thread_start(const char *name, void (*body)(void *), void *context) {
    struct thread_start *start = malloc(sizeof *start);
    if (start == NULL) return -ENOMEM;
    start->body = body;
    start->context = context;
    snprintf(start->name, sizeof start->name, "%s", name);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, thread_main, start);
    pthread_attr_destroy(&attributes);
    if (error != 0) free(start);
    return -error;
}

uintptr_t pushsim_thread_current(void) { return (uintptr_t)pthread_self(); }

static int signal_pipe = -1;

static void on_signal(int number) {
    int saved = errno;
    char byte = (char)number;
    (void)!write(signal_pipe, &byte, 1);
    errno = saved;
}

int pushsim_stop_signals(void) {
    int read_end, write_end;
    int result = pushsim_pipe(&read_end, &write_end);
    if (result < 0) return result;
    signal_pipe = write_end;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    // A second signal ends the process at once.
    action.sa_flags = SA_RESTART | SA_RESETHAND;
    if (sigaction(SIGTERM, &action, NULL) < 0 || sigaction(SIGINT, &action, NULL) < 0) return -errno;
    // A terminal that closes; where somebody has it ignored (nohup), that stays.
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) < 0) return -errno;
    if (hangup.sa_handler != SIG_IGN && sigaction(SIGHUP, &action, NULL) < 0) return -errno;
    // Whoever reads the log may leave.
    action.sa_handler = SIG_IGN;
    action.sa_flags = SA_RESTART;
    if (sigaction(SIGPIPE, &action, NULL) < 0) return -errno;
    return read_end;
}

void pushsim_error_text(int error, char *buffer, size_t size) {
    snprintf(buffer, size, "%s", strerror(error < 0 ? -error : error));
}

int pushsim_would_block(void) { return EAGAIN; }

void pushsim_exit(int code) { exit(code); }

double pushsim_exp(double x) { return exp(x); }

double pushsim_log(double x) { return log(x); }

double pushsim_cos(double x) { return cos(x); }

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PUSHSIM_THREAD_SANITIZER 1
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#endif
#endif

void pushsim_lock_taken(const void *lock) {
#ifdef PUSHSIM_THREAD_SANITIZER
  __tsan_acquire((void *)lock);
#else
  (void)lock;
#endif
}

void pushsim_lock_released(const void *lock) {
#ifdef PUSHSIM_THREAD_SANITIZER
  __tsan_release((void *)lock);
#else
  (void)lock;
#endif
}
