// The types and numbers of libmosquitto 2, which is loaded at run time, so that a build needs no header and a program no library.
#ifndef BYWAY_CMOSQUITTO_SHIM_H
#define BYWAY_CMOSQUITTO_SHIM_H

#include <stdbool.h>
#include <stddef.h>

// struct mosquitto_message
struct broker_message {
  int number;
  const char *topic;
  const void *payload;
  int length;
  int quality;
  bool is_retained;
};

enum {
  // enum mosq_err_t
  BROKER_PROTOCOL_ERROR = 2,
  BROKER_NO_CONNECTION = 4,
  BROKER_CONNECTION_LOST = 7,
  BROKER_TLS_ERROR = 8,
  BROKER_SYSTEM_ERROR = 14,
  BROKER_NAME_ERROR = 15,
  BROKER_KEEP_ALIVE_ERROR = 19,
  BROKER_MALFORMED_PACKET = 21,
  BROKER_OVERSIZE_PACKET = 25,
  // enum mosq_opt_t
  BROKER_OPTION_PROTOCOL_VERSION = 1,
  BROKER_OPTION_NO_DELAY = 11,
  // MQTT 5, §2.2.2.2 and §3.8.3.1
  BROKER_PROPERTY_MAXIMUM_PACKET_SIZE = 39,
  BROKER_NEVER_SEND_RETAINED = 0x20,
  // mosquitto_log_callback_set()
  BROKER_LOG_ERROR = 8,
};

// Where the header of the library is installed, the compiler compares the declarations.
#if __has_include(<mosquitto.h>) && __has_include(<mqtt_protocol.h>)
#include <mosquitto.h>
#include <mqtt_protocol.h>
_Static_assert(sizeof(struct broker_message) == sizeof(struct mosquitto_message), "size");
_Static_assert(offsetof(struct broker_message, payload) == offsetof(struct mosquitto_message, payload), "payload");
_Static_assert(offsetof(struct broker_message, length) == offsetof(struct mosquitto_message, payloadlen), "length");
_Static_assert(offsetof(struct broker_message, is_retained) == offsetof(struct mosquitto_message, retain), "retain");
_Static_assert(
    (int)BROKER_CONNECTION_LOST == (int)MOSQ_ERR_CONN_LOST && (int)BROKER_TLS_ERROR == (int)MOSQ_ERR_TLS &&
        (int)BROKER_SYSTEM_ERROR == (int)MOSQ_ERR_ERRNO && (int)BROKER_NAME_ERROR == (int)MOSQ_ERR_EAI &&
        (int)BROKER_KEEP_ALIVE_ERROR == (int)MOSQ_ERR_KEEPALIVE &&
        (int)BROKER_OVERSIZE_PACKET == (int)MOSQ_ERR_OVERSIZE_PACKET,
    "errors");
_Static_assert(
    (int)BROKER_OPTION_NO_DELAY == (int)MOSQ_OPT_TCP_NODELAY &&
        (int)BROKER_PROPERTY_MAXIMUM_PACKET_SIZE == (int)MQTT_PROP_MAXIMUM_PACKET_SIZE &&
        (int)BROKER_NEVER_SEND_RETAINED == (int)MQTT_SUB_OPT_SEND_RETAIN_NEVER,
    "numbers");
#endif

#endif
