/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* The server of byway.h against a peer of the line, in virtual time. Each test is a function, and each of them begins a session. */
#include "expect.h"
#include "pair.h"

#include <stdio.h>

static uint32_t session = 1;

/* The events of the service, one letter each, and its actions. */
static char events[4096];
static size_t event_count;
static char body[8192];
static size_t body_count, take_at_most;
static enum { AT_REQUEST, AT_END, LATER, STREAM, STREAM_KNOWN, LARGE } mode;
static char seen_target[BYWAY_HEAD], seen_field[BYWAY_HEAD], seen_second[BYWAY_HEAD];
static int streamed, stream_total;
static unsigned status_to_send;
static const char *extra;
static uint8_t large[5000];

static void note(char letter) {
  if (event_count < sizeof events - 1 && !(letter == 'r' && event_count && events[event_count - 1] == 'r') &&
      !(letter == 'B' && event_count && events[event_count - 1] == 'B')) events[event_count++] = letter;
  events[event_count] = 0;
}

static void greet(void) {
  if (byway_answer(&server, status_to_send, "text/plain", 5, extra)) byway_send(&server, "hello", 5);
}

static void stream(void) {
  while (streamed < stream_total) {
    char c = (char)('a' + streamed % 26);
    if (!byway_send(&server, &c, 1)) return;
    streamed++;
  }
  byway_end(&server);
}

static size_t service(struct byway *b, enum byway_event event, const uint8_t *bytes, size_t count) {
  const char *field;
  note("RBErG"[event]);
  switch (event) {
  case BYWAY_REQUEST:
    strcpy(seen_target, byway_target(b));
    field = byway_field(b, "x-one");
    strcpy(seen_field, field ? field : "-");
    field = byway_field(b, "x-two");
    strcpy(seen_second, field ? field : "-");
    streamed = 0;
    if (mode == AT_REQUEST) greet();
    if (mode == LARGE) byway_answer_with(b, 200, NULL, large, sizeof large, NULL);
    if (mode == STREAM) byway_answer(b, 200, NULL, BYWAY_UNKNOWN_LENGTH, NULL);
    if (mode == STREAM_KNOWN) byway_answer(b, 200, NULL, (uint32_t)stream_total, NULL);
    break;
  case BYWAY_BODY:
    if (count > take_at_most) count = take_at_most;
    if (body_count + count > sizeof body) count = 0;
    memcpy(body + body_count, bytes, count);
    body_count += count;
    return count;
  case BYWAY_END:
    if (mode == AT_END) greet();
    break;
  case BYWAY_ROOM:
    if (mode == STREAM || mode == STREAM_KNOWN) stream();
    break;
  case BYWAY_GONE:
    break;
  }
  return 0;
}

static const char *const wanted[] = {"x-one", "x-two", NULL};

static void begin(void) {
  start_pair(service, wanted);
  event_count = body_count = 0;
  events[0] = 0;
  take_at_most = sizeof body;
  mode = AT_END;
  status_to_send = 200;
  extra = NULL;
  stream_total = 1000;
  pass_for(30);
  byway_line_open(&peer, session++, now);
}

static void tell(const char *text) {
  say(text, strlen(text));
  pass_for(400);
}

#define HELLO "HTTP/1.1 200 \r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
#define HELLO_LAST "HTTP/1.1 200 \r\nContent-Type: text/plain\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
#define REFUSAL(status) "HTTP/1.1 " status " \r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define LONG_64 "0123456789012345678901234567890123456789012345678901234567890123"

/* One request and what the peer gets. */
static void exchange(const char *name, const char *request, const char *answer, const char *expected_events) {
  begin();
  tell(request);
  expect_text(name, heard, answer);
  if (expected_events) expect_text(name, events, expected_events);
}

static void accepts(void) {
  exchange("a request", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", HELLO, "RE");
  expect_text("its target", seen_target, "/");
  exchange("blank lines before it", "\r\n\r\nGET /a?b=c HTTP/1.1\r\nHost: a\r\n\r\n", HELLO, "RE");
  expect_text("its query", seen_target, "/a?b=c");
  exchange("line feeds alone", "GET / HTTP/1.1\nHost: a\n\n", HELLO, "RE");
  exchange("a whole address", "GET http://device:80/x/y HTTP/1.1\r\nHost: a\r\n\r\n", HELLO, "RE");
  expect_text("its path", seen_target, "/x/y");
  exchange("a wanted field", "GET / HTTP/1.1\r\nHost: a\r\nX-ONE: \t some value \t\r\nX-Two:2\r\n\r\n", HELLO, "RE");
  expect_text("its value", seen_field, "some value");
  expect_text("the value of another", seen_second, "2");
  expect_text("the other", byway_field(&server, "x-two") ? "kept" : "dropped behind the answer", "dropped behind the answer");
  exchange("the second field of a name", "GET / HTTP/1.1\r\nHost: a\r\nX-One: 1\r\nX-One: 2\r\n\r\n", HELLO, "RE");
  expect_text("the first counts", seen_field, "1");
  exchange("an empty field", "GET / HTTP/1.1\r\nHost: a\r\nX-One:\r\n\r\n", HELLO, "RE");
  expect_text("its value", seen_field, "");
  exchange("long fields that the service does not want",
           "GET / HTTP/1.1\r\nCookie: " LONG_64 LONG_64 LONG_64 LONG_64 "\r\nHost: a\r\n" LONG_64 LONG_64 LONG_64 ": x\r\n\r\n", HELLO, "RE");
  exchange("HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", HELLO_LAST, "RE");
  exchange("Connection: close", "GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", HELLO_LAST, "RE");
  expect("that ends the session", byway_line_ended(&peer));
  exchange("two requests in a row", "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n", HELLO HELLO, "RERE");
  expect_text("the second's target", seen_target, "/2");
}

/* Sizes and numbers at their limits, and one beyond. */
static void limits(void) {
  static const char *const methods[] = {"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH"};
  char text[9000];
  unsigned i, length;
  for (i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    snprintf(text, sizeof text, "%s / HTTP/1.1\r\nHost: a\r\n\r\n", methods[i]);
    begin();
    mode = LATER;
    tell(text);
    expect(methods[i], byway_method(&server) == i);
  }
  exchange("a target for all of the server", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", HELLO, "RE");
  exchange("another minor version", "GET / HTTP/1.9\r\nHost: a\r\n\r\n", HELLO, "RE");
  exchange("a minor version that is no digit", "GET / HTTP/1.x\r\nHost: a\r\n\r\n", REFUSAL("400"), "");
  exchange("a minor version of two digits", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", REFUSAL("400"), "");
  exchange("a whole address without a path", "GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", REFUSAL("400"), "");
  exchange("a tab in a target", "GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", REFUSAL("400"), "");
  exchange("a tab in a field", "GET / HTTP/1.1\r\nHost: a\r\nX-One: a\tb\r\n\r\n", HELLO, "RE");
  expect_text("its value with the tab", seen_field, "a\tb");
  exchange("a delete character in a field", "GET / HTTP/1.1\r\nHost: a\177\r\n\r\n", REFUSAL("400"), "");
  exchange("a size of a chunk with seven digits", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0000001\r\na\r\n0\r\n\r\n",
           HELLO, "RBE");
  exchange("with eight", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n00000001\r\na\r\n0\r\n\r\n", REFUSAL("413"), "RG");
  exchange("all digits of a size", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nAbCdEf9\r\n", "", "R");
  exchange("a letter that is no digit of a size", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1g\r\n", REFUSAL("400"), "RG");
  exchange("an extension of a chunk, and two trailers", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;x\r\na\r\n0\r\nTrailer: a\r\nB: b\r\n\r\n",
           HELLO, "RBE");
  for (length = 140; length < 150; length++) {
    /* FIELD_ROOM of 48 bytes of 192 is left behind the target and its zero. */
    snprintf(text, sizeof text, "GET /%0*d HTTP/1.1\r\nHost: a\r\n\r\n", (int)length - 1, 0);
    exchange("the longest target", text, length + 1 + 48 <= 192 ? HELLO : REFUSAL("431"), length + 1 + 48 <= 192 ? "RE" : "");
  }
  for (length = 170; length < 190; length++) {
    snprintf(text, sizeof text, "GET /%0*d HTTP/1.1\r\nHost: a\r\n\r\n", (int)length - 1, 0);
    exchange("a line longer than the room", text, length + 15 <= 192 ? REFUSAL("431") : REFUSAL("414"), "");
  }
  for (length = 8190; length <= 8194; length++) {
    static const char begins[] = "GET / HTTP/1.1\r\nHost: a\r\n";
    memset(text, 'x', sizeof text);
    memcpy(text, begins, sizeof begins - 1);
    text[sizeof begins + 60] = ':';
    strcpy(text + length - 4, "\r\n\r\n");
    begin();
    say(text, length);
    pass_for(2000);
    expect_text("a head of 8,192 bytes", heard, length <= 8192 ? HELLO : REFUSAL("431"));
  }
}

/* Many requests in a row, with answers of each length: the head of an answer always has room. */
static void answers_have_room(void) {
  static char fields[200];
  static const char request[] = "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx";
  size_t length, i, most = BYWAY_ANSWER_FIELDS - 10;
  for (length = 5; length <= most; length++) {
    begin();
    memset(fields, 'f', sizeof fields);
    memcpy(fields, "A:", 2);
    strcpy(fields + length - 2, "\r\n");
    extra = fields;
    for (i = 0; i < 8; i++) say(request, sizeof request - 1);
    pass_for(300);
    expect_text("each of eight uploads is answered", events, "RBERBERBERBERBERBERBERBE");
    expect("with its head and body", heard_count == 8 * (sizeof "HTTP/1.1 100 \r\n\r\n" - 1 + sizeof HELLO - 1 + length));
  }
}

/* A chunk fills the room but for some bytes: the end of the answer takes five, or waits. */
static void last_chunk(void) {
  size_t left, room, sent;
  for (left = 1; left < 12; left++) {
    begin();
    mode = LATER;
    tell("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    byway_answer(&server, 200, NULL, BYWAY_UNKNOWN_LENGTH, NULL);
    room = byway_line_room(&server.line);
    sent = byway_send(&server, large, room - 7 - left);
    expect("a chunk fills the room but for some bytes", sent == room - 7 - left && byway_line_room(&server.line) == left);
    expect("which may be enough for the end", byway_end(&server) == (left >= 5));
    pass_for(400);
    expect("or the end waits", left >= 5 || byway_end(&server));
    pass_for(100);
    expect("and the answer is complete", heard_count == 45 + 3 + 4 + sent + 5 && !strcmp(heard + heard_count - 7, "\r\n0\r\n\r\n"));
  }
}

static void bodies(void) {
  int i;
  exchange("a body", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: a\r\n\r\n", HELLO HELLO, "RBERE");
  body[body_count] = 0;
  expect_text("its bytes", body, "abc");
  expect("its method", server.request->method == BYWAY_GET);
  exchange("the same length twice", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", HELLO, "RBE");
  exchange("chunks",
           "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n00A;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
           "GET / HTTP/1.1\r\nHost: a\r\n\r\n", HELLO HELLO, "RBERE");
  body[body_count] = 0;
  expect_text("their bytes", body, "abc0123456789");
  exchange("a size of two digits", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n0123456789abcdefg\r\n0\r\n\r\n", HELLO, "RBE");
  exchange("no chunk at all", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", HELLO, "RE");
  exchange("Expect", "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 100 \r\n\r\n", "R");
  tell("ab");
  expect_text("and the answer", heard, "HTTP/1.1 100 \r\n\r\n" HELLO);
  begin();
  mode = AT_REQUEST;
  tell("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  expect_text("an answer without the body", heard, HELLO);
  tell("abGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_text("the body is dropped then", heard, HELLO HELLO);
  expect_text("without events", events, "RR");
  exchange("Expect without a body", "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n", HELLO, "RE");
  begin();
  tell("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (i = 0; i < 2000; i++) say("1\r\nx\r\n", 6);
  tell("0\r\n\r\n");
  expect("many small chunks", body_count == 2000);
  expect_text("have an answer", heard, HELLO);
  begin();
  take_at_most = 0;
  tell("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 600\r\n\r\n");
  byway_line_write(&peer, large, 500);
  pass_for(3000);
  expect("a service that takes nothing holds the peer", body_count == 0);
  take_at_most = 7;
  pass_for(1000);
  say((char *)large, 100);
  pass_for(3000);
  expect("and gets all later", body_count == 600 && !memcmp(body, large, 500));
  expect_text("then it answers", heard, HELLO);
}

static void refusals(void) {
  exchange("no request", "hello\r\n", REFUSAL("400"), "");
  exchange("no version", "GET /\r\n\r\n", REFUSAL("400"), "");
  exchange("no target", "GET HTTP/1.1\r\nHost: a\r\n\r\n", REFUSAL("400"), "");
  exchange("a target without a slash", "GET x HTTP/1.1\r\nHost: a\r\n\r\n", REFUSAL("400"), "");
  exchange("two spaces", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", REFUSAL("400"), "");
  exchange("another version", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", REFUSAL("505"), "");
  exchange("no host", "GET / HTTP/1.1\r\n\r\n", REFUSAL("400"), "");
  exchange("two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", REFUSAL("400"), "");
  exchange("a space before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", REFUSAL("400"), "");
  exchange("a folded field", "GET / HTTP/1.1\r\nHost: a\r\n b: c\r\n\r\n", REFUSAL("400"), "");
  exchange("a field without a name", "GET / HTTP/1.1\r\nHost: a\r\n: c\r\n\r\n", REFUSAL("400"), "");
  exchange("a field without a colon", "GET / HTTP/1.1\r\nHost: a\r\nxyz\r\n\r\n", REFUSAL("400"), "");
  exchange("a carriage return in a field", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", REFUSAL("400"), "");
  exchange("a control character", "GET / HTTP/1.1\r\nHost: a\001\r\n\r\n", REFUSAL("400"), "");
  exchange("two lengths", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", REFUSAL("400"), "");
  exchange("a length that is none", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc", REFUSAL("400"), "");
  exchange("an empty length", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\nabc", REFUSAL("400"), "");
  exchange("too large a length", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4294967295\r\n\r\n", REFUSAL("400"), "");
  exchange("a length with a digit more", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 42949672965\r\n\r\nabcde", REFUSAL("400"), "");
  exchange("the largest length", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4294967294\r\n\r\n", "", "R");
  exchange("length and chunks", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc", REFUSAL("400"), "");
  exchange("chunks of HTTP/1.0", "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", REFUSAL("400"), "");
  exchange("another coding", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", REFUSAL("501"), "");
  exchange("chunks twice", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", REFUSAL("400"), "");
  exchange("a longer word than chunked", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunkedx\r\n\r\n", REFUSAL("501"), "");
  exchange("two carriage returns behind a chunk", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\r\n",
           REFUSAL("400"), "RBG");
  begin();
  mode = AT_REQUEST;
  tell("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n");
  expect_text("a bad chunk behind an answer", heard, HELLO);
  expect_text("is no event", events, "R");
  expect("but the end", byway_line_ended(&peer));
  exchange("another expectation", "PUT / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n", REFUSAL("417"), "");
  exchange("a long target", "GET /" LONG_64 LONG_64 LONG_64 " HTTP/1.1\r\nHost: a\r\n\r\n", REFUSAL("414"), "");
  exchange("a target that leaves no room", "GET /" LONG_64 LONG_64 "0123456789012345 HTTP/1.1\r\nHost: a\r\n\r\n", REFUSAL("431"), "");
  exchange("a long wanted field", "GET / HTTP/1.1\r\nHost: a\r\nX-One: " LONG_64 LONG_64 LONG_64 "\r\n\r\n", REFUSAL("431"), "");
  exchange("a long coding", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " LONG_64 LONG_64 LONG_64 "\r\n\r\n", REFUSAL("431"), "");
  exchange("a long length", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0000" LONG_64 LONG_64 LONG_64 "\r\n\r\n", REFUSAL("431"), "");
  exchange("a chunk that is none", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", REFUSAL("400"), "RG");
  exchange("a chunk without a size", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", REFUSAL("400"), "RG");
  exchange("a chunk that is too large", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10000000\r\n", REFUSAL("413"), "RG");
  exchange("more than the chunk", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", REFUSAL("400"), "RBG");
  expect("a refusal ends the session", byway_line_ended(&peer));
  begin();
  tell("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n");
  say((char *)large, sizeof large);
  byway_line_finish(&peer);
  pass_for(1000);
  expect_text("a refusal of a large upload", heard, REFUSAL("501"));
  expect("ends well when the peer has sent all", byway_line_state(&peer) == BYWAY_LINE_NONE && byway_line_reason(&peer) == BYWAY_LINE_FINISHED);
}

/* A head of 8 KiB is refused, even if it is none of the service's fields. */
static void endless(void) {
  int i;
  begin();
  say("GET / HTTP/1.1\r\nHost: a\r\n", 25);
  for (i = 0; i < 140; i++) say("X: " LONG_64 "\r\n", 69);
  pass_for(2000);
  expect_text("an endless head", heard, REFUSAL("431"));
}

static void answers(void) {
  begin();
  mode = LARGE;
  tell("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  pass_for(2000);
  expect("a large content", heard_count == 5000 + 39 && !memcmp(heard + 39, large, 5000));
  expect_text("its head", (heard[39] = 0, heard), "HTTP/1.1 200 \r\nContent-Length: 5000\r\n\r\n");
  begin();
  mode = LARGE;
  tell("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_text("HEAD", heard, "HTTP/1.1 200 \r\nContent-Length: 5000\r\n\r\nHTTP/1.1 200 \r\nContent-Length: 5000\r\n\r\n");
  begin();
  mode = STREAM_KNOWN;
  tell("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  pass_for(1000);
  expect("a known length", heard_count == 2 * (39 + 1000) && !strncmp(heard + 39, "abcdefghijklm", 13));
  begin();
  mode = STREAM;
  stream_total = 3;
  tell("GET / HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_text("chunks", heard, "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n"
                               "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n");
  begin();
  mode = STREAM;
  tell("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  pass_for(3000);
  expect("many chunks", heard_count == 45 + 6 * 1000 + 5 && !strcmp(heard + heard_count - 5, "0\r\n\r\n"));
  begin();
  mode = STREAM;
  stream_total = 3;
  tell("GET / HTTP/1.0\r\n\r\n");
  expect_text("HTTP/1.0 gets none", heard, "HTTP/1.1 200 \r\nConnection: close\r\n\r\nabc");
  expect("but the end", byway_line_ended(&peer));
  begin();
  status_to_send = 204;
  tell("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_text("204 has no body", heard, "HTTP/1.1 204 \r\nContent-Type: text/plain\r\n\r\nHTTP/1.1 204 \r\nContent-Type: text/plain\r\n\r\n");
  begin();
  status_to_send = 304;
  tell("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_text("nor has 304", heard, "HTTP/1.1 304 \r\nContent-Type: text/plain\r\n\r\nHTTP/1.1 304 \r\nContent-Type: text/plain\r\n\r\n");
  begin();
  extra = "A: " LONG_64 LONG_64 "\r\n";
  tell("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_text("too long fields are the service's fault", heard, "");
  extra = "A: b\r\n";
  greet();
  pass_for(100);
  expect_text("another answer is possible", heard, "HTTP/1.1 200 \r\nContent-Type: text/plain\r\nContent-Length: 5\r\nA: b\r\n\r\nhello");
  expect("one request has one answer", !byway_answer(&server, 200, NULL, 0, NULL));
  begin();
  mode = LATER;
  tell("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect("no answer yet", heard_count == 0 && !byway_answering(&server));
  byway_answer(&server, 200, NULL, BYWAY_UNKNOWN_LENGTH, NULL);
  expect("now it has begun", byway_answering(&server));
  expect("within the room", byway_send(&server, large, sizeof large) < sizeof large);
  expect("which the end needs too", byway_line_room(&server.line) < 5 && !byway_end(&server));
  pass_for(400);
  expect("the end", byway_end(&server) && !byway_answering(&server));
  pass_for(100);
  expect_text("an answer from outside", heard + heard_count - 7, "\r\n0\r\n\r\n");
}

static void ends(void) {
  begin();
  mode = LARGE;
  say("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27);
  pass_for(100);
  byway_line_leave(&peer, now);
  pass_for(300);
  expect_text("a peer that leaves in an answer", events, "REG");
  expect("the session is over", byway_line_state(&peer) == BYWAY_LINE_NONE && byway_line_state(&server.line) == BYWAY_LINE_NONE);
  begin();
  say("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27);
  byway_line_finish(&peer);
  pass_for(300);
  expect_text("a peer that only asks", heard, HELLO);
  expect("its session ends well", byway_line_reason(&peer) == BYWAY_LINE_FINISHED && byway_line_state(&peer) == BYWAY_LINE_NONE);
  begin();
  tell("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
  byway_line_finish(&peer);
  pass_for(300);
  expect_text("a body that ends early", events, "RBG");
  expect_text("has no answer", heard, "");
  begin();
  tell("GET / HT");
  byway_line_finish(&peer);
  pass_for(300);
  expect_text("a head that ends early", events, "");
  expect("ends the session", byway_line_state(&server.line) == BYWAY_LINE_NONE);
  begin();
  mode = LATER;
  say("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27);
  byway_line_finish(&peer);
  pass_for(300);
  greet();
  pass_for(300);
  expect_text("a late answer to a peer that only asks", heard, HELLO);
  begin();
  mode = LATER;
  tell("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect("an empty answer is complete", byway_answer(&server, 200, NULL, 0, NULL) && !byway_answering(&server));
  mode = AT_END;
  tell("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_text("and the next request has its own", heard, "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n" HELLO);
  begin();
  mode = LATER;
  tell("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  byway_line_start(&peer, BYWAY_LINE_DIAL, 0, 115200, now);
  byway_line_open(&peer, session++, now);
  pass_for(100);
  expect_text("another session replaces a request", events, "REG");
  mode = AT_END;
  tell("GET /again HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_text("and has its own", heard, HELLO);
  expect_text("with its target", seen_target, "/again");
  begin();
  tell("GET / HTTP/1.1\r\nHo");
  byway_line_start(&peer, BYWAY_LINE_DIAL, 0, 115200, now);
  byway_line_open(&peer, session++, now);
  tell("GET /b HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_text("half a head of another session is forgotten", seen_target, "/b");
}

/* While the UART takes nothing the device calls byway_run only. */
static void busy_output(void) {
  uint32_t limit;
  begin();
  mode = LATER;
  tell("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  for (limit = now + 70000; now != limit; now++) byway_run(&server, now);
  expect_text("a peer that is silent while nothing can be sent is gone at last", events, "REG");
}

/* What byway_line_room tells is what byway_line_write takes. */
static void room(void) {
  unsigned count;
  int right = 1;
  begin();
  pass_for(30);
  for (count = 0; count < 40; count++) {
    size_t told;
    byway_line_write(&peer, large, count);
    told = byway_line_room(&peer);
    if (told != byway_line_write(&peer, large, sizeof large)) right = 0;
    if (count % 2) pass_for(300);
    told = byway_line_room(&peer);
    if (told > 100 && byway_line_write(&peer, large, told - 20) != told - 20) right = 0;
    pass_for(count % 3);
    told = byway_line_room(&peer);
    if (told != byway_line_write(&peer, large, sizeof large)) right = 0;
    pass_for(300);
  }
  expect("the room is what a write takes", right);
  byway_line_finish(&peer);
  expect("none behind the last byte", byway_line_room(&peer) == 0);
  byway_line_start(&peer, BYWAY_LINE_DIAL, 0, 115200, now);
  expect("none without a session", byway_line_room(&peer) == 0);
}

int main(void) {
  size_t i;
  for (i = 0; i < sizeof large; i++) large[i] = (uint8_t)(i * 7 >> 3);
#if BYWAY_LINE_STREAMS
  plain = 1;
#endif
  for (dozes = 0; dozes < 2; dozes++) {
    accepts();
    limits();
    answers_have_room();
    bodies();
    refusals();
  }
  dozes = 0;
  last_chunk();
  busy_output();
  endless();
  answers();
  ends();
  room();
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0 || passed < 100;
}
