/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * HTTP over lwIP and SLIP (RFC 1055) on a terminal, to compare with Byway's line:
 *
 *     slip serve TERMINAL MTU                       serves GET /N with N bytes, and PUT
 *     slip measure TERMINAL MTU SIZE REQUESTS       prints seconds of small requests, of a download and of an upload of SIZE bytes
 *
 * Debian's liblwip is built without SLIP, so its interface is here. It has TCP with segments of up to 1,460 bytes and a window of 64 KiB.
 */
#include <lwip/netif.h>
#include <lwip/sockets.h>
#include <lwip/tcpip.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { END = 0xC0, ESCAPE = 0xDB, ESCAPED_END = 0xDC, ESCAPED_ESCAPE = 0xDD, MOST = 2048, PORT = 80 };

static int terminal;
static int mtu;
static struct netif interface;
static uint8_t buffer[65536];

static void fail(const char *what) {
  fprintf(stderr, "slip: %s\n", what);
  exit(1);
}

/* ---- The interface ---- */

/* Sends a packet. The terminal takes bytes at the line's rate, so this waits. */
static err_t send_packet(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to) {
  static uint8_t bytes[2 * MOST + 2];
  size_t count = 0, from = 0;
  const struct pbuf *part;
  (void)netif;
  (void)to;
  bytes[count++] = END;
  for (part = packet; part; part = part->next) {
    for (int i = 0; i < part->len && count < sizeof bytes - 3; i++) {
      uint8_t byte = ((const uint8_t *)part->payload)[i];
      if (byte == END || byte == ESCAPE) {
        bytes[count++] = ESCAPE;
        byte = byte == END ? ESCAPED_END : ESCAPED_ESCAPE;
      }
      bytes[count++] = byte;
    }
  }
  bytes[count++] = END;
  while (from < count) {
    ssize_t written = write(terminal, bytes + from, count - from);
    if (written <= 0) fail("the terminal takes no bytes; is its line running?");
    from += (size_t)written;
  }
  return ERR_OK;
}

static void *receive_packets(void *nothing) {
  static uint8_t bytes[512], packet[MOST];
  size_t length = 0;
  int escaped = 0;
  ssize_t count;
  (void)nothing;
  while ((count = read(terminal, bytes, sizeof bytes)) > 0) {
    for (ssize_t i = 0; i < count; i++) {
      uint8_t byte = bytes[i];
      if (byte == END) {
        if (length) {
          struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_RAM);
          if (p && (pbuf_take(p, packet, (u16_t)length) != ERR_OK || interface.input(p, &interface) != ERR_OK)) pbuf_free(p);
        }
        length = 0;
        escaped = 0;
      } else if (byte == ESCAPE) {
        escaped = 1;
      } else {
        if (escaped) byte = byte == ESCAPED_END ? END : byte == ESCAPED_ESCAPE ? ESCAPE : byte;
        escaped = 0;
        if (length < sizeof packet) packet[length++] = byte;
      }
    }
  }
  exit(0); /* the line has ended */
}

static err_t set_up_interface(struct netif *netif) {
  netif->name[0] = 's';
  netif->name[1] = 'l';
  netif->mtu = (u16_t)mtu;
  netif->output = send_packet;
  netif->flags = NETIF_FLAG_LINK_UP;
  return ERR_OK;
}

static void begin(const char *path, int host, int peer) {
  struct termios t;
  ip4_addr_t address, mask, gateway;
  pthread_t reader;
  terminal = open(path, O_RDWR | O_NOCTTY);
  if (terminal < 0 || tcgetattr(terminal, &t) != 0) fail("the terminal does not open; start byway line first");
  cfmakeraw(&t);
  tcsetattr(terminal, TCSANOW, &t);
  tcpip_init(NULL, NULL);
  IP4_ADDR(&address, 10, 0, 0, host);
  IP4_ADDR(&mask, 255, 255, 255, 0);
  IP4_ADDR(&gateway, 10, 0, 0, peer);
  LOCK_TCPIP_CORE();
  if (!netif_add(&interface, &address, &mask, &gateway, NULL, set_up_interface, tcpip_input)) fail("lwIP has no room for the interface");
  netif_set_default(&interface);
  netif_set_up(&interface);
  UNLOCK_TCPIP_CORE();
  if (pthread_create(&reader, NULL, receive_packets, NULL) != 0) fail("no thread can be started");
}

/* ---- HTTP ---- */

static void send_all(int connection, const void *bytes, size_t count) {
  while (count) {
    ssize_t sent = lwip_write(connection, bytes, count);
    if (sent <= 0) fail("the connection ended while sending");
    bytes = (const char *)bytes + sent;
    count -= (size_t)sent;
  }
}

/* Reads a head. Returns its Content-Length, or 0. At the end of the connection it returns -1. */
static long read_head(int connection, char *head, size_t room) {
  size_t count = 0;
  char *length;
  while (count + 1 < room && lwip_read(connection, head + count, 1) == 1) {
    head[++count] = 0;
    if (count >= 4 && !strcmp(head + count - 4, "\r\n\r\n")) {
      length = strstr(head, "Content-Length: ");
      return length ? atol(length + 16) : 0;
    }
  }
  return -1;
}

static void read_body(int connection, long count) {
  while (count > 0) {
    ssize_t part = lwip_read(connection, buffer, count < (long)sizeof buffer ? (size_t)count : sizeof buffer);
    if (part <= 0) fail("the connection ended in a body");
    count -= part;
  }
}

static void send_body(int connection, long count) {
  while (count > 0) {
    size_t part = count < 4096 ? (size_t)count : 4096;
    send_all(connection, buffer, part);
    count -= (long)part;
  }
}

static void serve(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  int listener = lwip_socket(AF_INET, SOCK_STREAM, 0), connection;
  if (lwip_bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || lwip_listen(listener, 4) != 0) fail("lwIP does not listen");
  fprintf(stderr, "slip: ready\n");
  while ((connection = lwip_accept(listener, NULL, NULL)) >= 0) {
    char head[1024], answer[100];
    long length;
    int yes = 1;
    lwip_setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* heads do not wait for acknowledgements */
    while ((length = read_head(connection, head, sizeof head)) >= 0) {
      long size = strncmp(head, "GET /", 5) ? 0 : atol(head + 5);
      read_body(connection, length);
      send_all(connection, answer, (size_t)snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %ld\r\n\r\n", size));
      send_body(connection, size);
    }
    lwip_close(connection);
  }
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A request and its response. Returns the time that they took. */
static double exchange(int connection, const char *method, long up, long down) {
  char head[1024];
  double began = seconds();
  long length;
  int count = snprintf(head, sizeof head, "%s /%ld HTTP/1.1\r\nHost: board\r\nContent-Length: %ld\r\n\r\n", method, down, up);
  send_all(connection, head, (size_t)count);
  send_body(connection, up);
  length = read_head(connection, head, sizeof head);
  if (length != down || strncmp(head, "HTTP/1.1 200", 12)) fail("the response is not the expected one");
  read_body(connection, length);
  return seconds() - began;
}

static void measure(long size, int requests) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  int connection = lwip_socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  inet_pton(AF_INET, "10.0.0.1", &address.sin_addr);
  lwip_setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (lwip_connect(connection, (struct sockaddr *)&address, sizeof address) != 0) fail("the server does not answer");
  printf("{\"small\": [");
  for (int i = 0; i < requests; i++) printf("%s%.4f", i ? ", " : "", exchange(connection, "GET", 0, 100));
  printf("], \"down\": %.3f", exchange(connection, "GET", 0, size));
  printf(", \"up\": %.3f}\n", exchange(connection, "PUT", size, 0));
}

int main(int argc, char **argv) {
  int serves = argc == 4 && !strcmp(argv[1], "serve");
  if (!serves && !(argc == 6 && !strcmp(argv[1], "measure"))) {
    fprintf(stderr, "usage: slip serve TERMINAL MTU | slip measure TERMINAL MTU SIZE REQUESTS\n");
    return 64;
  }
  mtu = atoi(argv[3]);
  if (mtu < 100 || mtu > 1500) fail("the MTU must be from 100 to 1500");
  for (size_t i = 0; i < sizeof buffer; i++) buffer[i] = (uint8_t)(i * 2654435761u >> 13);
  begin(argv[2], serves ? 1 : 2, serves ? 2 : 1);
  if (serves) serve();
  else measure(atol(argv[4]), atoi(argv[5]));
  return 0;
}
