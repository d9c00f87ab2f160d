#ifndef BYWAY_CSSH2_SHIM_H
#define BYWAY_CSSH2_SHIM_H

#include <dlfcn.h>
#include <libssh2.h>

typedef LIBSSH2_SEND_FUNC((*ssh_send_callback));
typedef LIBSSH2_RECV_FUNC((*ssh_receive_callback));
typedef LIBSSH2_DISCONNECT_FUNC((*ssh_disconnect_callback));

// Sets the callbacks with their own types. libssh2 takes all of them as one type.
static inline void ssh_set_callbacks(
    LIBSSH2_SESSION *session, ssh_send_callback send, ssh_receive_callback receive,
    ssh_disconnect_callback disconnect) {
#if LIBSSH2_VERSION_NUM >= 0x010b01
  libssh2_session_callback_set2(session, LIBSSH2_CALLBACK_SEND, (libssh2_cb_generic *)send);
  libssh2_session_callback_set2(session, LIBSSH2_CALLBACK_RECV, (libssh2_cb_generic *)receive);
  libssh2_session_callback_set2(session, LIBSSH2_CALLBACK_DISCONNECT, (libssh2_cb_generic *)disconnect);
#else
  libssh2_session_callback_set(session, LIBSSH2_CALLBACK_SEND, (void *)send);
  libssh2_session_callback_set(session, LIBSSH2_CALLBACK_RECV, (void *)receive);
  libssh2_session_callback_set(session, LIBSSH2_CALLBACK_DISCONNECT, (void *)disconnect);
#endif
}

// Prevents OpenSSL from freeing its tables at exit (OPENSSL_INIT_NO_ATEXIT), because event loops may still use them.
// The function is looked up by name, as libssh2 may use another crypto library.
static inline void ssh_keep_crypto_at_exit(void) {
  int (*initialise)(uint64_t, const void *) =
      (int (*)(uint64_t, const void *))dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto");
  if (initialise) initialise(0x00080000L, NULL);
}

#endif
