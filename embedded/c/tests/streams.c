/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/* The streams of the server of byway.h against a peer of the line, in virtual time: section 13 of docs/wire-protocol.md. */
#include "expect.h"
#include "pair.h"

#include <stdio.h>

#if BYWAY_LINE_CREDIT != 2 || BYWAY_LINE_STREAMS != 4
#error "The pieces below are for four streams with a credit of 128 bytes"
#endif

enum { STREAMS = BYWAY_LINE_STREAMS, CREDIT = 64 * BYWAY_LINE_CREDIT };

static uint32_t session = 1;

/* ---- The service ---- */

/* What each request is for, by its target: /hello, /slow, /events, /file, /upload, /all (events that never end), /other and
   /quiet, which has no answer. */
static struct {
  char kind;
  unsigned begun, gone, rooms, body;
} work[STREAMS];

static size_t take_at_most, take_in_all;
static uint8_t file[6000];

static int greet(void) {
  if (!byway_answer(&server, 200, NULL, 5, NULL)) return 0;
  byway_send(&server, "hello", 5);
  return 1;
}

static size_t service(struct byway *b, enum byway_event event, const uint8_t *bytes, size_t count) {
  unsigned number = byway_current(b);
  (void)bytes;
  if (number >= STREAMS) __builtin_trap();
  switch (event) {
  case BYWAY_REQUEST:
    work[number].begun++;
    work[number].body = 0;
    work[number].kind = byway_target(b)[1];
    if (work[number].kind == 'f') byway_answer_with(b, 200, NULL, file, sizeof file, NULL);
    if (work[number].kind == 'e' || work[number].kind == 'a') byway_answer(b, 200, NULL, BYWAY_UNKNOWN_LENGTH, NULL);
    break;
  case BYWAY_BODY:
    if (count > take_at_most) count = take_at_most;
    if (count > take_in_all) count = take_in_all;
    take_in_all -= count;
    work[number].body += (unsigned)count;
    return count;
  case BYWAY_END:
    if (work[number].kind == 'o') {
      byway_select(b, 1);
      greet();
    }
    if (work[number].kind == 'h' || work[number].kind == 'u') expect("an answer has room at the end of its request", greet());
    break;
  case BYWAY_ROOM:
    work[number].rooms++;
    if (work[number].kind == 's') greet();
    if (work[number].kind == 'a') byway_send(b, "0123456789", 10); /* without end */
    break;
  case BYWAY_GONE:
    work[number].gone++;
    if (work[1].kind == 'a' && number != 1) {
      byway_select(b, 1);
      byway_send(b, "gone", 4);
    }
    break;
  }
  return 0;
}

/* ---- The peer ---- */

static size_t forgotten[STREAMS]; /* what was looked at before */

static void begin(void) {
  start_pair(service, NULL);
  memset(work, 0, sizeof work);
  memset(forgotten, 0, sizeof forgotten);
  take_at_most = take_in_all = 1000;
  pass_for(30);
  byway_line_open(&peer, session++, now);
  pass_for(30);
}

/* Sends a piece of DATA, or two. */
static void send_data(unsigned stream, const char *text, size_t count) {
  while (count) {
    size_t part = count < 255 ? count : 255;
    char head[2] = {(char)(0x10 | stream), (char)part};
    say(head, 2);
    say(text, part);
    text += part;
    count -= part;
  }
}

static void ask(unsigned stream, const char *target) {
  char text[100];
  send_data(stream, text, (size_t)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", target));
}

/* The output of the server for a stream: its bytes, and its other pieces in angle brackets. */
static char told[1 << 16];
static size_t told_count;

static const char *of(unsigned stream) {
  size_t at = 0;
  told_count = 0;
  while (at + 1 <= heard_count) {
    unsigned kind = (uint8_t)heard[at] >> 4, count = at + 1 < heard_count ? (uint8_t)heard[at + 1] : 0;
    int mine = ((uint8_t)heard[at] & 15) == stream;
    if (kind == 1) {
      if (at + 2 + count > heard_count) break;
      if (mine) memcpy(told + told_count, heard + at + 2, count), told_count += count;
    } else if (mine) {
      told_count += (size_t)sprintf(told + told_count, kind == 2 ? "<END>" : kind == 3 ? "<ABORT>" : kind == 4 ? "<+%u>" : "<?%u>", count);
    }
    at += kind == 1 ? 2 + count : kind == 4 ? 2 : 1;
  }
  told[told_count] = 0;
  told_count -= forgotten[stream];
  return memmove(told, told + forgotten[stream], told_count + 1);
}

/* Drops the output so far. */
static void forget(void) {
  unsigned i;
  for (i = 0; i < STREAMS; i++) {
    of(i);
    forgotten[i] += told_count;
  }
}

static int is_over(void) { return byway_line_state(&peer) == BYWAY_LINE_NONE; }

#define LONG_64 "0123456789012345678901234567890123456789012345678901234567890123"
#define ANSWER "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello"
#define GET(target) "GET " target " HTTP/1.1\r\nHost: a\r\n\r\n"
#define CUT 1
#define BREAKS 2

/* ---- Hostile pieces ---- */

/* Pieces of one client, what the server says in stream 0, and whether that breaks the session. With CUT they may come in parts. */
static const struct {
  const char *name, *pieces;
  size_t count;
  const char *answer;
  int flags;
} rows[] = {
#define ROW(name, pieces, answer, flags) {name, pieces, sizeof pieces - 1, answer, flags}
  ROW("a kind of 0", "\0", "", BREAKS),
  ROW("a kind of 5", "\x50", "", BREAKS),
  ROW("a kind of 15", "\xFF", "", BREAKS),
  ROW("DATA of a stream above the last", "\x14\1x", "", BREAKS | CUT),
  ROW("END of a stream above the last", "\x24", "", BREAKS),
  ROW("ABORT of a stream above the last", "\x3F", "", BREAKS),
  ROW("CREDIT of a stream above the last", "\x44\1", "", BREAKS | CUT),
  ROW("DATA without bytes", "\x10\0", "", BREAKS | CUT),
  ROW("CREDIT without units", "\x10\1G\x40\0", "", BREAKS | CUT),
  ROW("CREDIT without units for a free stream", "\x40\0", "", BREAKS | CUT),
  ROW("a piece larger than the credit", "\x10\x81", "", BREAKS | CUT),
  ROW("a piece larger than the credit that is left", "\x10\x7FPUT /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 600\r\n\r\n"
      "012345678901234567890123456789012345678901234567890123456789012345678901\x10\x3F" "01234567", "", BREAKS),
  ROW("END behind END", "\x10\x1D" GET("/sl") "\x20\x20", "", BREAKS),
  ROW("DATA behind END", "\x10\x1D" GET("/sl") "\x20\x10\1x", "", BREAKS),
  ROW("DATA behind the END of a stream that only began", "\x20\x10\1x", "", BREAKS),
  ROW("CREDIT without limit", "\x10\1G\x40\xFF\x40\xFF\x40\xFF\x40\xFF", "", BREAKS | CUT),
  ROW("the most CREDIT", "\x10\1G\x40\xFF\x40\xFF\x40\xFF\x40\3\x30", "<ABORT>", CUT),
  ROW("CREDIT for a free stream", "\x40\xFF\x40\xFF\x40\xFF\x40\xFF\x40\xFF\x40\xFF", "", CUT),
  ROW("ABORT of a free stream", "\x30\x30", "", CUT),
  ROW("END of a stream that did not begin", "\x20", "<END>", 0),
  ROW("END within a head", "\x10\4GET \x20", "<END>", CUT),
  ROW("ABORT within a head", "\x10\4GET \x30", "<ABORT>", CUT),
  ROW("ABORT of a request that waits for its answer", "\x10\x1D" GET("/sl") "\x30", "<ABORT>", CUT),
  ROW("ABORT behind END", "\x10\x1D" GET("/sl") "\x20\x30", "<ABORT>", CUT),
  ROW("a request in many pieces", "\x10\5GET /\x10\1h\x10\x02 H\x10\6TTP/1.\x10\x01" "1\x10\xD\r\nHost: a\r\n\r\n\x20", ANSWER "<END>", 0),
  ROW("two requests in a row", "\x10\x1C" GET("/h") "\x10\x1C" GET("/h"), ANSWER ANSWER, CUT),
  ROW("a request that HTTP forbids", "\x10\5x\r\n\r\n", "HTTP/1.1 400 \r\nContent-Length: 0\r\nConnection: close\r\n\r\n<END>", CUT),
};

/* The session goes on: another stream is served, and stream 0 as well. */
static void expect_service(const char *name) {
  forget();
  ask(3, "/hello");
  pass_for(200);
  expect_text(name, of(3), ANSWER);
}

static void play(unsigned row, size_t cut) {
  char name[200];
  int breaks = rows[row].flags & BREAKS;
  snprintf(name, sizeof name, "%s, cut at %u", rows[row].name, (unsigned)cut);
  begin();
  take_at_most = 0;
  say(rows[row].pieces, cut);
  pass_for(50);
  say(rows[row].pieces + cut, rows[row].count - cut);
  pass_for(200);
  expect(name, is_over() == (breaks != 0));
  if (breaks) {
    expect("it was ended by the server", byway_line_reason(&peer) == BYWAY_LINE_ABORTED);
    byway_line_open(&peer, session++, now);
    pass_for(30);
    heard_count = 0;
    memset(forgotten, 0, sizeof forgotten);
  } else {
    expect_text(name, of(0), rows[row].answer);
  }
  expect_service(name);
}

static void hostile(void) {
  unsigned row;
  size_t cut;
  for (row = 0; row < sizeof rows / sizeof rows[0]; row++) {
    for (cut = 0; cut < (rows[row].flags & CUT ? rows[row].count : 1); cut++) play(row, cut);
  }
}

/* ---- Requests at once ---- */

static void at_once(void) {
  size_t i, before;
  uint32_t began;
  begin();
  ask(0, "/events");
  ask(1, "/slow");
  ask(2, "/file");
  pass_for(60);
  expect("three requests have begun", work[0].begun && work[1].begun && work[2].begun);
  began = now;
  ask(3, "/hello");
  while (!strstr(of(3), "hello") && now - began < 1000) pass();
  expect("a small request is answered within 100 ms", now - began < 100);
  expect("while the file is on its way", strlen(of(2)) < sizeof file);
  before = strlen(of(0));
  for (i = 0; i < 5; i++) {
    byway_select(&server, 0);
    expect("an event has room", byway_send(&server, "event\n", 6) == 6);
    pass_for(40);
    expect("and arrives at once", strlen(of(0)) == before + (i + 1) * 11);
  }
  for (i = 0; i < 4; i++) {
    forget();
    ask(3, "/hello");
    pass_for(150);
    expect("further requests of a stream", strstr(of(3), ANSWER) != NULL);
  }
  pass_for(1000);
  byway_select(&server, 1);
  if (!greet()) pass_for(100);
  pass_for(100);
  expect_text("a slow answer, from outside the service", of(1), ANSWER);
  expect("nothing was given up", !work[0].gone && !work[1].gone && !work[2].gone && !work[3].gone);
  byway_select(&server, 0);
  expect("the end of the events", byway_end(&server) && !byway_answering(&server));
}

/* A file is intact, and as fast as the line, whatever else goes on. */
static void file_among_others(void) {
  uint32_t began;
  begin();
  ask(0, "/a");
  ask(1, "/events");
  pass_for(50);
  began = now;
  work[0].kind = 0;
  ask(2, "/file");
  while (of(2), told_count < sizeof file + 36 && now - began < 3000) {
    if (told_count % 50 == 0) ask(3, "/hello");
    pass();
  }
  expect("a file arrives with its head", told_count == sizeof file + 39 && !memcmp(told + 39, file, sizeof file));
  expect("at more than half of the line's rate", now - began < sizeof file * 10 * 2 * 1000 / 115200);
}

static void one_is_reset(void) {
  begin();
  ask(0, "/events");
  ask(2, "/file");
  pass_for(100);
  say("\x32", 1);
  pass_for(200);
  expect("the service learns of the end of one", work[2].gone == 1 && work[0].gone == 0);
  expect("and the client too", strstr(of(2) + told_count - 7, "<ABORT>") != NULL);
  forget();
  byway_select(&server, 0);
  byway_send(&server, "more", 4);
  pass_for(100);
  expect_text("the other goes on", of(0), "4\r\nmore\r\n");
  ask(2, "/hello");
  pass_for(100);
  expect_text("and the stream is used again", of(2), ANSWER);
}

static void one_does_not_read(void) {
  size_t sent;
  begin();
  server.line.peer_credit = 8;
  ask(2, "/file");
  pass_for(2000);
  of(2);
  sent = told_count;
  expect("a client that grants nothing gets its first credit", sent == 512);
  expect_service("others are served");
  say("\x42\1", 2);
  pass_for(200);
  of(2);
  expect("64 bytes for a unit", told_count == 64);
  begin();
  server.line.peer_credit = 7;
  ask(1, "/hello");
  pass_for(200);
  expect_text("a client with too little room for a head", of(1), "<ABORT>");
  expect("has no request", work[1].begun == 0);
}

static void one_is_not_taken(void) {
  static const char head[] = "PUT /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\n";
  char body[300];
  memset(body, 'b', sizeof body);
  begin();
  take_at_most = 0;
  send_data(0, head, sizeof head - 1);
  pass_for(100);
  expect_text("the head is consumed, but less than a unit", of(0), "");
  send_data(0, body, CREDIT - (sizeof head - 1));
  pass_for(300);
  expect_text("a service that takes nothing grants nothing", of(0), "");
  expect_service("and delays no other stream");
  take_at_most = 1000;
  wakes = now;
  pass_for(200);
  expect_text("credit comes when it takes something", of(0), CREDIT == 128 ? "<+2>" : "");
  expect("it was all", work[0].body == CREDIT - (sizeof head - 1));
  send_data(0, body, CREDIT);
  pass_for(200);
  send_data(0, body, 300 - (CREDIT + CREDIT - (sizeof head - 1)));
  pass_for(200);
  expect("the rest of the body", work[0].body == 300);
  expect("has its answer", strstr(of(0), ANSWER) != NULL);
}

/* A service takes a part of its body. Later bytes are stored after the rest. */
static void one_is_taken_in_part(void) {
  static const char head[] = "PUT /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\n";
  char body[300];
  memset(body, 'b', sizeof body);
  begin();
  take_in_all = 11;
  send_data(0, head, sizeof head - 1);
  send_data(0, body, CREDIT - (sizeof head - 1));
  pass_for(200);
  expect_text("a unit is granted when it is free", of(0), "<+1>");
  send_data(0, body, 64);
  expect_service("a part that is not taken delays no other stream");
  expect("the rest waits", work[0].body == 11);
  take_in_all = 1000;
  wakes = now;
  pass_for(200);
  expect("and is taken later", work[0].body == CREDIT - (sizeof head - 1) + 64);
}

/* A service that does not answer when there is room is not asked for ever. */
static void quiet_service(void) {
  unsigned tries;
  begin();
  ask(1, "/quiet");
  ask(0, "/a");
  pass_for(200);
  for (tries = 0; tries < 300 && !work[1].rooms; tries++) {
    byway_select(&server, 0);
    while (byway_send(&server, "0123456789", 10)) {
    }
    byway_select(&server, 1);
    if (tries < 2) byway_answer(&server, 200, "text/plain", 5, "A: " LONG_64 "\r\n");
    pass();
  }
  pass_for(300);
  expect("an answer that had no room is asked for once", work[1].rooms == 1 && !strcmp(of(1), ""));
}

/* ---- Ends ---- */

static void ends(void) {
  unsigned i;
  begin();
  ask(0, "/events");
  ask(1, "/slow");
  pass_for(100);
  say("\x20", 1);
  pass_for(100);
  expect("END within an answer gives it up", work[0].gone == 1 && strstr(of(0), "<ABORT>"));
  expect("and no other", work[1].gone == 0);
  begin();
  send_data(0, "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 51);
  pass_for(200);
  expect_text("Connection: close ends the stream", of(0), "HTTP/1.1 200 \r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello<END>");
  send_data(0, "xyz", 3);
  pass_for(100);
  expect("what comes behind it is dropped", !is_over() && work[0].begun == 1);
  send_data(0, (const char *)file, CREDIT - 54);
  pass_for(100);
  say("\x20", 1);
  ask(0, "/hello");
  pass_for(200);
  expect("and the stream begins again", work[0].begun == 2 && strstr(of(0), "<END>" ANSWER));
  begin();
  send_data(0, "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nmore", 55);
  say("\x20", 1);
  pass_for(200);
  forget();
  ask(0, "/hello");
  pass_for(200);
  expect_text("nothing is left of what came behind a last request", of(0), ANSWER);
  begin();
  for (i = 0; i < STREAMS; i++) ask(i, "/slow");
  pass_for(100);
  byway_line_finish(&peer);
  pass_for(300);
  for (i = 0; i < STREAMS; i++) expect("the last frame of the session ends each", work[i].gone == 1);
  expect("and the session ends well", is_over() && byway_line_reason(&peer) == BYWAY_LINE_FINISHED);
  begin();
  for (i = 0; i < STREAMS; i++) ask(i, "/slow");
  pass_for(100);
  byway_line_start(&peer, BYWAY_LINE_DIAL, 0, 115200, now);
  byway_line_open(&peer, session++, now);
  pass_for(100);
  for (i = 0; i < STREAMS; i++) expect("another session replaces each", work[i].gone == 1);
  expect_service("and is served");
  begin();
  for (i = 0; i < STREAMS; i++) ask(i, "/slow");
  pass_for(100);
  byway_line_abort(&peer);
  pass_for(100);
  for (i = 0; i < STREAMS; i++) expect("a reset of the session ends each", work[i].gone == 1);
}

/* An answer from outside the service that has no room gets BYWAY_ROOM when there is some. */
static void late_answers(void) {
  unsigned tries = 0;
  begin();
  ask(1, "/slow");
  ask(0, "/a");
  pass_for(200);
  while (tries++ < 200) {
    byway_select(&server, 0);
    while (byway_send(&server, "0123456789", 10)) {
    }
    byway_select(&server, 1);
    if (!byway_answer(&server, 200, NULL, 5, NULL)) break;
    pass();
  }
  expect("another request has taken the room", tries == 1);
  for (tries = 0; tries < 300 && !work[1].rooms; tries++) {
    byway_select(&server, 0);
    while (byway_send(&server, "0123456789", 10)) {
    }
    pass();
  }
  expect("the service is called when there is room, although another writes all it can", work[1].rooms == 1);
  pass_for(100);
  expect_text("and answers then", of(1), ANSWER);
  begin();
  ask(0, "/a");
  send_data(1, "PUT /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabc", 55);
  pass_for(100);
  send_data(1, "d", 1);
  for (tries = 0; tries < 300 && work[1].body < 4; tries++) {
    byway_select(&server, 0);
    while (byway_send(&server, "0123456789", 10)) {
    }
    pass();
  }
  pass_for(100);
  expect_text("an upload has room for its answer, although another filled the line before", of(1), ANSWER);
}

/* A service may answer another request than the one that it is called for. */
static void answers_another(void) {
  begin();
  ask(1, "/slow");
  pass_for(50);
  ask(0, "/other");
  pass_for(100);
  expect_text("the other request", of(1), ANSWER);
  expect_text("and not the one of the call", of(0), "");
  byway_select(&server, 0);
  greet();
  ask(1, "/hello");
  pass_for(100);
  expect_text("which is answered later", of(0), ANSWER);
  expect_text("and the stream of the other goes on", of(1), ANSWER ANSWER);
  begin();
  ask(0, "/events");
  ask(1, "/all");
  pass_for(50);
  byway_select(&server, 1);
  expect("one that goes on", byway_answering(&server));
  say("\x20", 1);
  pass_for(100);
  expect("learns of the end of the other", strstr(of(1), "4\r\ngone\r\n") != NULL);
  expect("and is not ended in its place", !strstr(of(1), "<") && strstr(of(0), "<ABORT>"));
}

/* A client that knows no streams has one request at a time. */
static void without_streams(void) {
  plain = 1;
  begin();
  say(GET("/hello") GET("/hello"), 2 * (sizeof GET("/hello") - 1));
  pass_for(300);
  expect_text("a session without streams", heard, ANSWER ANSWER);
  expect("is request 0", work[0].begun == 2 && byway_current(&server) == 0);
  plain = 0;
  expect("an end with streams tells their number", byway_line_streams(&peer) == 0);
  begin();
  expect("and agrees on them again", byway_line_streams(&peer) == STREAMS && byway_line_streams(&server.line) == STREAMS);
  expect("with the credit of each end", byway_line_peer_credit(&peer) == CREDIT && byway_line_peer_credit(&server.line) == 64 * 255);
}

int main(void) {
  size_t i;
  for (i = 0; i < sizeof file; i++) file[i] = (uint8_t)(i * 7 >> 3);
  hostile();
  dozes = 1;
  hostile();
  one_is_not_taken();
  one_is_taken_in_part();
  file_among_others();
  dozes = 0;
  at_once();
  file_among_others();
  one_is_reset();
  one_does_not_read();
  one_is_not_taken();
  one_is_taken_in_part();
  quiet_service();
  ends();
  late_answers();
  answers_another();
  without_streams();
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0 || passed < 100;
}
