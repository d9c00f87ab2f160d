/* SPDX-License-Identifier: Apache-2.0 (see LICENSE at the top of this repository) */

/*
 * One end of the line, frame by frame: what it sends, and when. script.h explains the steps and traces. The sections are those of
 * docs/wire-protocol.md. One build is of an end with the default options, another of one with correction and streams.
 */
#include "script.h"

#define LISTEN BYWAY_LINE_LISTEN
#define DIAL BYWAY_LINE_DIAL

#define PLAY(scripts) do { \
  size_t at; \
  for (at = 0; at < sizeof scripts / sizeof scripts[0]; at++) play(&scripts[at]); \
} while (0)

#if BYWAY_LINE_CORRECTION

static const struct script copies[] = {
  {"HELLO has a copy if it answers an OPEN", LISTEN, 0,
   "start 77; OPEN 1 5 0 256 256 12",
   "@0 0 HELLO 1 77 256 12 4 2; @0 HELLO 1 77 256 12 4 2; @0 HELLO^copy 1 77 256 12 4 2"},
  {"but not for a peer that corrects too little", LISTEN, 0,
   "OPEN 1 5 0 256 256 3; OPEN 1 5 0 256 256; OPEN 1 5 0 256 256 4; OPEN 1 5 0 256 256 200",
   "@0 HELLO 1 77 256 12 4 2; @0 HELLO 1 77 256 12 4 2; @0 HELLO 1 77 256 12 4 2; @0 HELLO^copy 1 77 256 12 4 2; "
   "@0 0 HELLO 1 77 256 12 4 2; @0 HELLO^copy 1 77 256 12 4 2"},
  {"OPEN has a copy", DIAL, 0,
   "open 5; wait 5; HELLO 1 77 256 4; wait 5",
   "@0 0 OPEN 1 5 0 256 256 12; @0 OPEN^copy 1 5 0 256 256 12; @5 0 OPEN 1 5 77 256 256 12; @5 OPEN^copy 1 5 77 256 256 12"},
  {"but not to a peer that corrects too little", DIAL, 0,
   "HELLO 1 77 256 3; open 5; wait 5",
   "@0 0 OPEN 1 5 77 256 256 12"},
  {"a copy alone begins a session", LISTEN, 0,
   "seal 5 77; OPEN^3 1 5 77 256 256 12; state",
   "@0 ACK 0 256; open"},
  {"a copy with four wrong bytes", LISTEN, 0,
   "seal 5 77; OPEN^3:4:2 1 5 77 256 256 12; state",
   "@0 ACK^1 0 256; @0 NOISE^1 156; open"},
  {"a copy with five", LISTEN, 0,
   "seal 5 77; OPEN^3:5 1 5 77 256 256 12; wait 300; state; bytes 00; OPEN^3 1 5 77 256 256 12; state",
   "none; @300 0 ACK 0 256; open"},
  {"a header with three wrong bytes", LISTEN, 0,
   "seal 5 77; OPEN^3:0:3 1 5 77 256 256 12; wait 300; state",
   "none"},
  {"a copy behind its frame is ignored", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; OPEN^3 1 5 77 256 256 12; POLL 5 1",
   "@0 ACK 0 256; @0 ANSWER 1 0 0 256"},
  {"a copy of another strength is dropped", LISTEN, 0,
   "OPEN^2 1 5 77 256 256 12; state; wait 300; OPEN^4 1 5 77 256 256 12; wait 300; state",
   "none; none"},
  {"a copy in a session is not looked for", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; LAST 0 x; OPEN^3 1 6 77 256 256 12; sessions; bytes 00; wait 300; POLL 5 1",
   "@0 ACK 0 256; @0 ACK 1 255; @0 NOISE^1 138; sessions 1; @300 ANSWER^1 1 0 1 255; @300 NOISE^1 146"},
  {"but behind an OPEN", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; seal 6 77; OPEN^3 1 6 77 256 256 12; sessions; DATA 0 x; OPEN^3 1 7 77 256 256 12; wait 300; sessions",
   "@0 ACK 0 256; @0 ACK 0 256; sessions 2; @0 NOISE^1 138; @10 ACK^1 1 255; sessions 2"},
  {"and after a second without anything", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; DATA 0 x; wait 999; OPEN^3 1 6 77 256 256 12; sessions; wait 1; bytes 00; seal 6 77; "
   "OPEN^3 1 6 77 256 256 12; sessions; wait 300",
   "@0 ACK 0 256; @10 ACK 1 255; @999 NOISE^1 138; sessions 1; @1000 POLL^1 5 1; @1000 0 ACK 0 256; sessions 2"},
  {"a dialer takes a copy of HELLO while it opens", DIAL, 0,
   "open 5; HELLO^3 1 77 256 12; state; ACK 0 256; HELLO^3 1 78 256 12; wait 300; state",
   "@0 0 OPEN 1 5 0 256 256 12; @0 OPEN^copy 1 5 0 256 256 12; @0 0 OPEN 1 5 77 256 256 12; @0 OPEN^copy 1 5 77 256 256 12; opening; "
   "@0 NOISE^0 121; open"},
  {"and drops it otherwise", DIAL, 0,
   "HELLO^3 1 77 256 12; wait 300; bytes 00; open 5; HELLO 1 77 256 12; ACK 0 256",
   "@300 0 OPEN 1 5 0 256 256 12; @300 OPEN^copy 1 5 0 256 256 12; @300 0 OPEN 1 5 77 256 256 12; @300 OPEN^copy 1 5 77 256 256 12; "
   "@300 NOISE^0 125"},
  {"OPEN with correction in a session is dropped", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; wait 5; RESET^2 5 2; OPEN^2 1 6 77 256 256 12; state; sessions",
   "@0 ACK 0 256; @5 NOISE^1 137; open; sessions 1"},
  {"HELLO when the line is back has no copy", LISTEN, 0,
   "lost; back; wait 20; lost; OPEN 1 5 0 256 256 12; back; wait 20",
   "@0 0 HELLO 1 77 256 12 4 2; @20 0 HELLO 1 77 256 12 4 2; @20 HELLO^copy 1 77 256 12 4 2"},
};

static const struct script correction[] = {
  {"each strength corrects as many bytes as it promises", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; DATA^0:1:2 0 (16); read 99; DATA^1:2:2 1 (16); read 99; DATA^2:3:2 2 (16); read 99; DATA^3:4:2 3 (16); "
   "read 99; DATA^4:5:2 4 (16); read 99; DATA^5:6:2 5 (16); read 99; DATA^6:7:2 6 (16); read 99; DATA^7:8:2 7 (16); read 99; "
   "DATA^8:10:2 8 (16); read 99; DATA^9:12:2 9 (16); read 99; DATA^10:14:2 10 (16); read 99; DATA^11:16:2 11 (16); read 99",
   "@0 ACK 0 256; @0 NOISE^1 147; read xxxxxxxxxxxxxxxx; @0 ACK^2 2 255; @0 NOISE^2 164; read xxxxxxxxxxxxxxxx; @0 NOISE^2 175; "
   "read xxxxxxxxxxxxxxxx; @0 ACK^4 4 255; @0 NOISE^3 181; read xxxxxxxxxxxxxxxx; @0 NOISE^4 187; read xxxxxxxxxxxxxxxx; "
   "@0 ACK^5 6 255; read xxxxxxxxxxxxxxxx; @0 NOISE^5 194; read xxxxxxxxxxxxxxxx; @0 ACK^6 8 255; read xxxxxxxxxxxxxxxx; "
   "@0 NOISE^6 200; read xxxxxxxxxxxxxxxx; @0 ACK^9 10 255; @0 NOISE^8 206; read xxxxxxxxxxxxxxxx; read xxxxxxxxxxxxxxxx; "
   "@0 ACK^11 12 255; @0 NOISE^11 213; read xxxxxxxxxxxxxxxx"},
  {"and drops a frame with one more", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; DATA^0:2 0 (40); wait 300; bytes 00; read 99; DATA^3:5 0 (40); wait 300; bytes 00; read 99; "
   "DATA^8:11 0 (40); wait 300; bytes 00; read 99; DATA^11:17 0 (40); wait 300; bytes 00; read 99; DATA 0 x; read 9",
   "@0 ACK 0 256; @0 NOISE^1 145; read; @300 NOISE^2 164; read; @600 NOISE^3 177; read; @900 0 NOISE 255; read; read x"},
  {"long frames have several words", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; DATA^11:32 0 (256); read 999; DATA^0:2 16 (256); read 999; LAST^7:16 32 (250); read 999; ended",
   "@0 ACK 0 256; @0 NOISE^4 186; read (256); @0 ACK^3 32 240; @0 NOISE^3 179; read (256); @0 ACK^4 48 240; read (250); ended"},
  {"all kinds come with correction", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; write abc; wait 5; POLL^2 5 1; ACK^1 1 256; room; NOISE^3 200; DATA+^0 0 1 x; wait 10; write defghijk; "
   "wait 5; ANSWER^1 1 0 2 256; wait 5; LAST^4 1 y; read 9; ended",
   "@0 ACK 0 256; @0 DATA 0 abc; @5 ANSWER 1 0 0 256; room 512; @15 ACK^8 1 255; @15 DATA^7 1 defghijk; @25 ACK^8 2 254; read xy; ended"},
  {"a frame that is cut is read again after 200 ms", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; part 5; DATA^2 0 hello; POLL 5 1; wait 199; wait 1; POLL 5 2; wait 5",
   "@0 ACK 0 256; @0 NOISE^1 158; @200 ANSWER^2 2 0 0 256; @200 NOISE^1 161"},
  {"a frame of which no more comes is given up after 200 ms", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; part 5; DATA^2 0 hello; wait 199; deadline; wait 300; bytes 00; POLL 5 2; DATA^2 0 hello; part 20; "
   "DATA^2 1 x; wait 100; DATA 1 y; wait 100; read 9",
   "@0 ACK 0 256; deadline 1; @200 NOISE^0 123; @499 ANSWER^1 2 0 0 256; @499 NOISE^1 137; @509 ACK^1 1 255; read hello"},
  {"a frame that comes in pieces, each within 200 ms", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; part 12; DATA^2 0 hello; wait 190; rest 1; wait 199; rest 1; wait 199; rest 13; wait 10; read 9; part 12; "
   "DATA^2 1 hello; wait 190; rest 1; wait 201; rest 20; wait 10; read 9",
   "@0 ACK 0 256; @598 0 ACK 1 255; read hello; @989 NOISE^0 121; read"},
  {"and a frame in its end is found", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; part 12; DATA^2 0 hello; DATA^2 0 world; wait 200; POLL 5 2; wait 5; DATA^2 1 x; read 9",
   "@0 ACK 0 256; @0 NOISE^1 157; @10 ACK^1 1 255; @200 ANSWER^2 2 0 1 255; @200 NOISE^1 156; read worldx"},
  {"a frame that is cut, with a word that could be corrected, leaves the next frame as it came", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; part 3; DATA^0 0 (250); bytes 00; POLL 5 2; wait 5",
   "@0 ACK 0 256; @0 ANSWER^1 2 0 0 256; @0 NOISE^1 131"},
  {"a frame with correction behind noise", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; bytes 01 02 03 04; DATA^2 0 hello; wait 10; read 9; bytes 00; POLL 5 2",
   "@0 ACK 0 256; @10 ACK 1 255; read hello; @10 ANSWER 2 0 1 256"},
  {"a frame without correction behind one with it", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; DATA^2 0 hello; POLL 5 2; read 9",
   "@0 ACK 0 256; @0 ANSWER 2 0 1 255; read hello"},
  {"a strength that was not announced, and a length that is too large", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; DATA^1 0 (259); wait 300; bytes 00; read 999; DATA^1 0 (258); read 999",
   "@0 ACK 0 256; @0 NOISE^0 124; read; read (258)"},
  {"the line is lost within a frame", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; part 5; DATA^2 0 hello; lost; back; DATA^2 0 world; wait 10; read 9",
   "@0 ACK 0 256; @0 0 POLL 5 1; @10 ACK 1 255; read world"},
  {"for longer than a frame is waited for", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; part 5; DATA^2 0 hello; lost; deadline; wait 250; back; POLL 5 2; state",
   "@0 ACK 0 256; deadline 25000; @250 0 POLL 5 1; @250 ANSWER 2 0 0 256; open"},
  {"a frame of another session", LISTEN, 0,
   "OPEN 1 5 77 256 256 0; seal 6 77; DATA^2 0 hello; seal 5 77; wait 300; bytes 00; DATA^2 0 world; read 9",
   "@0 ACK 0 256; read world"},
};

static const struct script noise[] = {
  {"damage is told", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; DATA^3:1 0 (16); wait 5; DATA^3:4 1 (16); wait 5; DATA^3:1 2 (16); wait 10; DATA^3:4 3 (16); wait 10",
   "@0 ACK 0 256; @0 NOISE^0 121; @5 ACK^1 2 254; @5 NOISE^1 156; @20 ACK^1 3 253; @20 NOISE^2 167; @30 ACK^2 4 252"},
  {"damaged runs are counted nine bytes later", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; bytes 33 33 33 33 00; wait 5; bytes 44 44 44 44 44 44 44 44; wait 5; bytes 44; wait 5; bytes 44 44; wait 5",
   "@0 ACK 0 256; @15 NOISE^0 125"},
  {"a zero in a header ends no run", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; bytes 33 33 00; DATA^2 0 x; wait 10; bytes 33 00; DATA^2 1 x; wait 10",
   "@0 ACK 0 256; @0 NOISE^0 123; @10 ACK^1 1 255; @10 NOISE^1 136; @20 ACK^1 2 254"},
  {"and not to a peer that corrects nothing", LISTEN, 0,
   "OPEN 1 5 77 256 256; DATA^3:1 0 (16); wait 5; DATA^3:4 1 (16); wait 5; DATA^3:1 2 (16); wait 10",
   "@0 ACK 0 256; @5 ACK 2 254; @20 ACK 3 253"},
  {"the level is repeated behind each answer and each eighth ACK", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; DATA^3:4 0 (16); DATA^3:4 1 (16); wait 10; POLL 5 1; LAST 2 x; LAST 2 x; LAST 2 x; LAST 2 x; LAST 2 x; "
   "LAST 2 x; LAST 2 x; LAST 2 x; LAST 2 x; LAST 2 x; OPEN 1 5 77 256 256 12; OPEN 1 5 77 256 256 12; OPEN 1 5 77 256 256 12; "
   "OPEN 1 5 77 256 256 12; OPEN 1 5 77 256 256 12; OPEN 1 5 77 256 256 12; OPEN 1 5 77 256 256 12; OPEN 1 5 77 256 256 12; "
   "OPEN 1 5 77 256 256 12",
   "@0 ACK 0 256; @0 NOISE^1 153; @0 ACK^2 2 254; @0 NOISE^2 166; @10 ANSWER^2 1 0 2 254; @10 NOISE^2 166; @10 ACK^2 3 253; "
   "@10 ACK^2 3 253; @10 ACK^2 3 253; @10 ACK^1 3 253; @10 ACK^1 3 253; @10 ACK^1 3 253; @10 ACK^1 3 253; @10 NOISE^1 155; "
   "@10 ACK^1 3 253; @10 ACK^1 3 253; @10 ACK^1 3 253"},
  {"a cleaner line is told too", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; DATA^3:4 0 (16); DATA^3:4 1 (16); wait 10; DATA^3 0 (256); DATA^3 0 (256); DATA^3 0 (256); DATA^3 0 (256); "
   "DATA^3 0 (256); DATA^3 0 (256); DATA^3 0 (256); DATA^3 0 (256); DATA^3 0 (256); DATA^3 0 (256); DATA^3 0 (256); DATA^3 0 (256); "
   "wait 10",
   "@0 ACK 0 256; @0 NOISE^1 153; @0 ACK^2 2 254; @0 NOISE^2 166; @10 NOISE^1 145; @10 NOISE^0 127; @20 ACK^0 16 240"},
  {"frames that cannot be corrected: FF", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; DATA^2:6 0 (16); wait 300; bytes 00; DATA^2:6 0 (16); wait 300; bytes 00; DATA^2:6 0 (16); wait 300; "
   "bytes 00; DATA^2:6 0 (16); wait 300; bytes 00; DATA^2:6 0 (16); wait 300; bytes 00; DATA^2:1 0 (16); wait 20; DATA^2:1 0 (16); "
   "wait 20; DATA^2:1 0 (16); wait 20; DATA^2:1 0 (16); wait 20; DATA^2:1 0 (16); wait 20; DATA^2:1 0 (16); wait 20",
   "@0 ACK 0 256; @0 NOISE^1 154; @300 NOISE^2 167; @900 0 NOISE 255; @1510 0 ACK 1 255; @1530 ACK 1 255; @1540 NOISE^3 178; "
   "@1550 ACK^3 1 255; @1570 ACK^3 1 255; @1590 ACK^3 1 255; @1610 ACK^3 1 255"},
  {"the more noise is told the stronger the frames, up to what the peer corrects", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; NOISE 0; write (16); wait 2; POLL 5 0; wait 2; NOISE 100; write (16); wait 2; POLL 5 100; wait 2; "
   "NOISE 130; write (16); wait 2; POLL 5 130; wait 2; NOISE 148; write (16); wait 2; POLL 5 148; wait 2; NOISE 160; write (16); "
   "wait 2; POLL 5 160; wait 2; NOISE 170; write (16); wait 2; POLL 5 170; wait 2; NOISE 180; write (16); wait 2; POLL 5 180; wait 2; "
   "NOISE 190; write (16); wait 2; POLL 5 190; wait 2; NOISE 200; write (16); wait 2; POLL 5 200; wait 2; NOISE 205; write (16); "
   "wait 2; POLL 5 205; wait 2; NOISE 210; write (16); wait 2; POLL 5 210; wait 2; NOISE 216; write (16); wait 2; POLL 5 216; wait 2; "
   "NOISE 224; write (16); wait 2; POLL 5 224; wait 2; NOISE 240; write (16); wait 2; POLL 5 240; wait 2; NOISE 254; write (16); "
   "wait 2; POLL 5 254; wait 2; NOISE 255; write (16); wait 2; POLL 5 255; wait 2; NOISE 160; write (16); wait 2; POLL 5 160; wait 2",
   "@0 ACK 0 256; @0 DATA 0 yyyyyyyyyyyyyyyy; @2 ANSWER 0 0 0 256; @4 DATA^0 1 yyyyyyyyyyyyyyyy; @6 ANSWER^0 100 0 0 256; "
   "@8 DATA^1 2 yyyyyyyyyyyyyyyy; @10 ANSWER^1 130 0 0 256; @12 DATA^2 3 yyyyyyyyyyyyyyyy; @14 ANSWER^1 148 0 0 256; "
   "@16 DATA^2 4 yyyyyyyyyyyyyyyy; @18 ANSWER^2 160 0 0 256; @20 DATA^3 5 yyyyyyyyyyyyyyyy; @22 ANSWER^3 170 0 0 256; "
   "@24 DATA^4 6 yyyyyyyyyyyyyyyy; @26 ANSWER^4 180 0 0 256; @28 DATA^5 7 yyyyyyyyyyyyyyyy; @30 ANSWER^5 190 0 0 256; "
   "@32 DATA^8 8 yyyyyyyyyyyyyyyy; @34 ANSWER^8 200 0 0 256; @36 DATA^9 9 yyyyyyyyyyyyyyyy; @38 ANSWER^9 205 0 0 256; "
   "@40 DATA^11 10 yyyyyyyyyyyyyyyy; @42 ANSWER^11 210 0 0 256; @44 DATA^11 11 yyyyyyyyyyyyyyyy; @46 ANSWER^11 216 0 0 256; "
   "@48 DATA^11 12 yyyyyyyyyyyyyyyy; @50 ANSWER^11 224 0 0 256; @52 DATA^11 13 yyyyyyyyyyyyyyyy; @54 ANSWER^11 240 0 0 256; "
   "@56 DATA^11 14 yyyyyyyyyyyyyyyy; @58 ANSWER^11 254 0 0 256; @60 0 DATA 15 yyyyyyyyyyyyyyyy; @62 ANSWER 255 0 0 256; "
   "@64 DATA^2 16 yyyyyyyyyyyyyyyy; @66 ANSWER^2 160 0 0 256"},
  {"no stronger than the peer corrects", LISTEN, 0,
   "OPEN 1 5 77 256 256 3; NOISE 210; write (16); wait 5; POLL 5 1",
   "@0 ACK 0 256; @0 DATA^2 0 yyyyyyyyyyyyyyyy; @5 ANSWER^2 1 0 0 256"},
  {"nothing for a peer that corrects nothing", LISTEN, 0,
   "OPEN 1 5 77 256 256 0; NOISE 210; write (16); wait 5; POLL 5 1",
   "@0 ACK 0 256; @0 DATA 0 yyyyyyyyyyyyyyyy; @5 ANSWER 1 0 0 256"},
  {"the first six frames of a session on a paced line have correction", LISTEN, 115200,
   "OPEN 1 5 77 256 256 12; write (512); wait 80",
   "@0 0 ACK 0 256; @0 DATA^4 0 (64); @7 DATA^4 4 (64); @15 DATA^4 8 (64); @23 DATA^4 12 (64); @30 DATA^4 16 (64); @38 0 DATA 20 (64); "
   "@45 0 DATA 24 (64); @51 0 DATA 28 (64)"},
  {"ACKs have it by the own noise, until the peer has told its own", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; DATA^3:4 0 (16); DATA^3:4 1 (16); POLL 5 1; NOISE 0; POLL 5 2",
   "@0 ACK 0 256; @0 NOISE^1 153; @0 ACK^2 2 254; @0 NOISE^2 166; @0 ANSWER^2 1 0 2 254; @0 NOISE^2 166; @0 0 ANSWER 2 0 2 254; "
   "@0 NOISE 165"},
  {"a repeated question goes without correction every other time", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; NOISE 200; write x; wait 2200",
   "@0 ACK 0 256; @0 DATA^5 0 x; @310 POLL^8 5 1; @620 0 POLL 5 2; @1240 POLL^8 5 3"},
  {"larger frames on a clean line, smaller ones after losses", LISTEN, 0,
   "OPEN 1 5 77 256 256 12; write (16); ACK 1 256; write (16); ACK 2 256; write (16); ACK 3 256; write (16); ACK 4 256; write (16); "
   "ACK 5 256; write (16); ACK 6 256; write (16); ACK 7 256; write (16); ACK 8 256; write (16); ACK 9 256; write (16); ACK 10 256; "
   "write (16); ACK 11 256; write (16); ACK 12 256; write (16); ACK 13 256; write (16); ACK 14 256; write (16); ACK 15 256; write (16); "
   "ACK 16 256; write (16); ACK 17 256; write (16); ACK 18 256; write (16); ACK 19 256; write (16); ACK 20 256; write (16); ACK 21 256; "
   "write (16); ACK 22 256; write (16); ACK 23 256; write (16); ACK 24 256; write (16); ACK 25 256; write (16); ACK 26 256; write (16); "
   "ACK 27 256; write (16); ACK 28 256; write (16); ACK 29 256; write (16); ACK 30 256; write (16); ACK 31 256; write (16); ACK 32 256; "
   "write (16); ACK 33 256; write (16); ACK 34 256; write (16); ACK 35 256; write (16); ACK 36 256; write (16); ACK 37 256; write (16); "
   "ACK 38 256; write (16); ACK 39 256; write (16); ACK 40 256; write (300); wait 5; ACK 40 256 8 5; wait 5; write (300); wait 5",
   "@0 ACK 0 256; @0 DATA 0 yyyyyyyyyyyyyyyy; @0 DATA 1 yyyyyyyyyyyyyyyy; @0 DATA 2 yyyyyyyyyyyyyyyy; @0 DATA 3 yyyyyyyyyyyyyyyy; "
   "@0 DATA 4 yyyyyyyyyyyyyyyy; @0 DATA 5 yyyyyyyyyyyyyyyy; @0 DATA 6 yyyyyyyyyyyyyyyy; @0 DATA 7 yyyyyyyyyyyyyyyy; "
   "@0 DATA 8 yyyyyyyyyyyyyyyy; @0 DATA 9 yyyyyyyyyyyyyyyy; @0 DATA 10 yyyyyyyyyyyyyyyy; @0 DATA 11 yyyyyyyyyyyyyyyy; "
   "@0 DATA 12 yyyyyyyyyyyyyyyy; @0 DATA 13 yyyyyyyyyyyyyyyy; @0 DATA 14 yyyyyyyyyyyyyyyy; @0 DATA 15 yyyyyyyyyyyyyyyy; "
   "@0 DATA 16 yyyyyyyyyyyyyyyy; @0 DATA 17 yyyyyyyyyyyyyyyy; @0 DATA 18 yyyyyyyyyyyyyyyy; @0 DATA 19 yyyyyyyyyyyyyyyy; "
   "@0 DATA 20 yyyyyyyyyyyyyyyy; @0 DATA 21 yyyyyyyyyyyyyyyy; @0 DATA 22 yyyyyyyyyyyyyyyy; @0 DATA 23 yyyyyyyyyyyyyyyy; "
   "@0 DATA 24 yyyyyyyyyyyyyyyy; @0 DATA 25 yyyyyyyyyyyyyyyy; @0 DATA 26 yyyyyyyyyyyyyyyy; @0 DATA 27 yyyyyyyyyyyyyyyy; "
   "@0 DATA 28 yyyyyyyyyyyyyyyy; @0 DATA 29 yyyyyyyyyyyyyyyy; @0 DATA 30 yyyyyyyyyyyyyyyy; @0 DATA 31 yyyyyyyyyyyyyyyy; "
   "@0 DATA 32 yyyyyyyyyyyyyyyy; @0 DATA 33 yyyyyyyyyyyyyyyy; @0 DATA 34 yyyyyyyyyyyyyyyy; @0 DATA 35 yyyyyyyyyyyyyyyy; "
   "@0 DATA 36 yyyyyyyyyyyyyyyy; @0 DATA 37 yyyyyyyyyyyyyyyy; @0 DATA 38 yyyyyyyyyyyyyyyy; @0 DATA 39 yyyyyyyyyyyyyyyy; "
   "@0 DATA 40 (96); @0 DATA 46 (96); @0 DATA 52 (96); @0 DATA 58 yyyyyyyyyyyy; @5 DATA 40 (64); @5 DATA 44 (64); wrote 208; "
   "@10 DATA 59 (64); @10 DATA 63 (64); @10 DATA 67 (64); @10 DATA 71 yyyyyyyyyyyyyyyy"},
};

static const struct script streams[] = {
  {"a session has the streams that both take", DIAL, 0,
   "HELLO 1 77 256 12 3 2; open 5; ACK 0 256",
   "@0 0 OPEN 1 5 77 256 256 12 4 255; @0 OPEN^copy 1 5 77 256 256 12 4 255"},
  {"none if the listener has none", DIAL, 0,
   "HELLO 1 77 256 12 0 2; open 5; ACK 0 256; HELLO 1 78 256 12; open 6; HELLO 1 79 256 12 9; open 7",
   "@0 0 OPEN 1 5 77 256 256 12; @0 OPEN^copy 1 5 77 256 256 12; @0 0 OPEN 1 6 78 256 256 12; @0 OPEN^copy 1 6 78 256 256 12; "
   "@0 0 OPEN 1 7 79 256 256 12; @0 OPEN^copy 1 7 79 256 256 12"},
  {"not asked for with an unknown incarnation", DIAL, 0,
   "open 5; HELLO 1 77 256 12 16 0",
   "@0 0 OPEN 1 5 0 256 256 12; @0 OPEN^copy 1 5 0 256 256 12; @0 0 OPEN 1 5 77 256 256 12 4 255; @0 OPEN^copy 1 5 77 256 256 12 4 255"},
};

static void play_all(void) {
  PLAY(copies);
  PLAY(correction);
  PLAY(noise);
  PLAY(streams);
}

#else

static const struct script openings[] = {
  {"a listener says HELLO when it starts", LISTEN, 0,
   "start 78; state; sessions; wait 70000",
   "@0 0 HELLO 1 78 64; none; sessions 0"},
  {"OPEN begins a session, and is acknowledged at once", LISTEN, 0,
   "OPEN 1 5 77 64 256; state; sessions",
   "@0 ACK 0 16; open; sessions 1"},
  {"OPEN of another version is refused", LISTEN, 0,
   "OPEN 2 5 77 64 256; state",
   "@0 RESET 5 4; none"},
  {"OPEN with another incarnation gets HELLO", LISTEN, 0,
   "OPEN 1 5 78 64 256; state; OPEN 1 5 0 64 256; state",
   "@0 HELLO 1 77 64; none; @0 HELLO 1 77 64; none"},
  {"a repeated OPEN is acknowledged, and the session goes on", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 hello; OPEN 1 5 77 64 256; sessions; read 10",
   "@0 ACK 0 16; @0 ACK 1 15; sessions 1; read hello"},
  {"OPEN with a new session replaces the one that is there, without a word", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; OPEN 1 6 77 64 256; sessions; state; seal 5 77; DATA 0 old; seal 6 77; DATA 0 new; DATA 1 x; "
   "read 10; POLL 5 1",
   "@0 ACK 0 16; @0 DATA 0 abc; @0 ACK 0 16; sessions 2; open; @0 ACK 2 14; read newx; @0 RESET 5 2"},
  {"OPEN with bytes that a later version adds", LISTEN, 0,
   "OPEN 1 5 77 64 256 0 0 0 9 9; state",
   "@0 ACK 0 16; open"},
  {"OPEN without its last field is dropped", LISTEN, 0,
   "OPEN 1 5 77 64; state",
   "none"},
  {"a dialer that knows no incarnation asks for it", DIAL, 0,
   "state; open 5; state; wait 100; HELLO 1 77 64; state; ACK 0 16; state",
   "none; @0 0 OPEN 1 5 0 64 16; asking; @100 0 OPEN 1 5 77 64 16; opening; open"},
  {"a dialer that knows it opens at once", DIAL, 0,
   "HELLO 1 77 64; state; open 5; state; open 6; sessions",
   "none; @0 0 OPEN 1 5 77 64 16; opening; not opened; sessions 1"},
  {"a listener does not open", LISTEN, 0,
   "open 5; state",
   "not opened; none"},
  {"what is written before the session is confirmed goes with it", DIAL, 0,
   "HELLO 1 77 64; open 5; write hello; wait 20; DATA 0 hi; wait 20",
   "@0 0 OPEN 1 5 77 64 16; @0 DATA 0 hello; @30 ACK 1 15"},
  {"and not before the incarnation is known", DIAL, 0,
   "open 5; write hello; wait 20; HELLO 1 77 64; wait 20",
   "@0 0 OPEN 1 5 0 64 16; @20 OPEN 1 5 77 64 16"},
  {"OPEN is repeated until the session is confirmed, and given up after 5 s", DIAL, 0,
   "HELLO 1 77 64; open 5; wait 700; skip 4299; state; wait 2; state; open 6",
   "@0 0 OPEN 1 5 77 64 16; @310 0 OPEN 1 5 77 64 16; @620 0 OPEN 1 5 77 64 16; 14 frames; opening; @5000 RESET 5 3; silence; "
   "@5001 OPEN 1 6 0 64 16"},
  {"OPEN without an incarnation is repeated too", DIAL, 0,
   "open 5; wait 1000; HELLO 1 77 64; wait 200; POLL 5 9; state",
   "@0 0 OPEN 1 5 0 64 16; @310 0 OPEN 1 5 0 64 16; @620 0 OPEN 1 5 0 64 16; @930 0 OPEN 1 5 0 64 16; @1000 0 OPEN 1 5 77 64 16; "
   "@1200 0 ANSWER 9 0 0 16; open"},
  {"a paced line asks sooner", DIAL, 115200,
   "HELLO 1 77 64; open 5; wait 2000",
   "@0 0 OPEN 1 5 77 64 16; @117 0 OPEN 1 5 77 64 16; @320 0 OPEN 1 5 77 64 16; @670 0 OPEN 1 5 77 64 16; @1020 0 OPEN 1 5 77 64 16; "
   "@1370 0 OPEN 1 5 77 64 16; @1720 0 OPEN 1 5 77 64 16"},
  {"a slow line asks later", DIAL, 9600,
   "HELLO 1 77 64; open 5; wait 2000",
   "@0 0 OPEN 1 5 77 64 16; @307 0 OPEN 1 5 77 64 16; @775 0 OPEN 1 5 77 64 16; @1243 0 OPEN 1 5 77 64 16; @1711 0 OPEN 1 5 77 64 16"},
  {"a dialer drops HELLO with incarnation 0", DIAL, 0,
   "open 5; HELLO 1 0 64; state; HELLO 1 77 64; state",
   "@0 0 OPEN 1 5 0 64 16; asking; @0 OPEN 1 5 77 64 16; opening"},
  {"HELLO of another version ends an opening, and the incarnation is forgotten", DIAL, 0,
   "HELLO 1 77 64; open 5; HELLO 2 77 64; state; open 6; HELLO 2 77 64; state; HELLO 2 1 64",
   "@0 0 OPEN 1 5 77 64 16; version; @0 OPEN 1 6 0 64 16; version"},
  {"without a session it is dropped", DIAL, 0,
   "HELLO 1 77 64; HELLO 2 77 64; open 5; state",
   "@0 0 OPEN 1 5 77 64 16; opening"},
  {"HELLO with the same incarnation changes nothing", DIAL, 0,
   "HELLO 1 77 64; open 5; ACK 0 256; HELLO 1 77 64; state; wait 5",
   "@0 0 OPEN 1 5 77 64 16; open"},
  {"HELLO with another incarnation: the listener was restarted", DIAL, 0,
   "HELLO 1 77 64; open 5; ACK 0 256; HELLO 1 78 64; state; open 6",
   "@0 0 OPEN 1 5 77 64 16; restarted; @0 OPEN 1 6 78 64 16"},
  {"a listener drops HELLO", LISTEN, 0,
   "HELLO 1 78 64; OPEN 1 5 77 64 256; HELLO 1 78 64; state",
   "@0 ACK 0 16; open"},
  {"OPEN at a dialer: both dial", DIAL, 0,
   "OPEN 1 9 77 64 256; state; open 5; OPEN 1 9 77 64 256; state",
   "@0 0 RESET 9 5; none; @0 OPEN 1 5 0 64 16; @0 RESET 9 5; both dial"},
  {"OPEN at a dialer with a session: it goes on", DIAL, 0,
   "HELLO 1 77 64; open 5; ACK 0 256; OPEN 1 9 77 64 256; state",
   "@0 0 OPEN 1 5 77 64 16; @0 RESET 9 5; open"},
  {"OPEN at an opening dialer ends the opening", DIAL, 0,
   "HELLO 1 77 64; open 5; OPEN 1 9 77 64 256; state; POLL 5 1",
   "@0 0 OPEN 1 5 77 64 16; @0 RESET 9 5; both dial; @0 RESET 5 5"},
  {"frames of no session are dropped", LISTEN, 0,
   "seal 0 77; DATA 0 x; ACK 0 9; POLL 9 1; RESET 9 2; state",
   "@0 RESET 9 1; none"},
  {"frames of a session are dropped before its incarnation is known", DIAL, 0,
   "open 5; seal 5 0; ACK 0 9; DATA 0 x; POLL 5 1; state",
   "@0 0 OPEN 1 5 0 64 16; asking"},
};

static const struct script ends[] = {
  {"both directions end, and nothing more is said", LISTEN, 0,
   "OPEN 1 5 77 64 256; LAST 0 bye; read 10; ended; finish; ACK 1 256; state; wait 100000",
   "@0 ACK 0 16; @0 ACK 1 15; read bye; ended; @0 LAST 0; finished"},
  {"the end of a session is told to who asks for it later", LISTEN, 0,
   "OPEN 1 5 77 64 256; LAST 0; finish; ACK 1 256; state; POLL 5 1; OPEN 1 5 77 64 256; POLL 6 1",
   "@0 ACK 0 16; @0 ACK 1 15; @0 LAST 0; finished; @0 RESET 5 0; @0 RESET 5 0; @0 RESET 6 1"},
  {"a session that the peer gave up was aborted", LISTEN, 0,
   "OPEN 1 5 77 64 256; RESET 5 3; state; POLL 5 1; OPEN 1 5 77 64 256",
   "@0 ACK 0 16; silence; @0 RESET 5 2; @0 RESET 5 2"},
  {"RESET with an unknown reason is one of 2", LISTEN, 0,
   "OPEN 1 5 77 64 256; RESET 5 200; state; POLL 5 1",
   "@0 ACK 0 16; aborted; @0 RESET 5 2"},
  {"RESET with the reason both dial", LISTEN, 0,
   "OPEN 1 5 77 64 256; RESET 5 5; state; POLL 5 1",
   "@0 ACK 0 16; both dial; @0 RESET 5 2"},
  {"RESET of another session is dropped", LISTEN, 0,
   "OPEN 1 5 77 64 256; RESET 6 2; state; ~RESET 5 2; state",
   "@0 ACK 0 16; open; open"},
  {"RESET(finished) before the end is an abort", LISTEN, 0,
   "OPEN 1 5 77 64 256; RESET 5 0; state",
   "@0 ACK 0 16; aborted"},
  {"RESET(finished) when only acknowledgements are missing", LISTEN, 0,
   "OPEN 1 5 77 64 256; LAST 0 x; write y; finish; RESET 5 0; state; POLL 5 1",
   "@0 ACK 0 16; @0 ACK 1 15; @0 DATA 0 y; @0 LAST 1; finished; @0 RESET 5 0"},
  {"RESET(finished) when the own end is missing", LISTEN, 0,
   "OPEN 1 5 77 64 256; LAST 0 x; write y; RESET 5 0; state",
   "@0 ACK 0 16; @0 ACK 1 15; @0 DATA 0 y; aborted"},
  {"RESET(finished) before the peer's end has arrived", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 x; write y; finish; wait 10; RESET 5 0; state; POLL 5 1",
   "@0 ACK 0 16; @0 DATA+ 0 1 y; @0 LAST 1; aborted; @10 RESET 5 2"},
  {"RESET(finished) before the last frame was sent", LISTEN, 0,
   "OPEN 1 5 77 64 0; LAST 0 x; write y; finish; RESET 5 0; state",
   "@0 ACK 0 16; @0 ACK 1 15; aborted"},
  {"RESET(unknown) before the session is confirmed: OPEN again", DIAL, 0,
   "HELLO 1 77 64; open 5; RESET 5 1; state; RESET 5 2; state",
   "@0 0 OPEN 1 5 77 64 16; @0 OPEN 1 5 77 64 16; opening; aborted"},
  {"RESET(unknown) of a confirmed session", DIAL, 0,
   "HELLO 1 77 64; open 5; ACK 0 256; RESET 5 1; state; POLL 5 1",
   "@0 0 OPEN 1 5 77 64 16; unknown; @0 RESET 5 2"},
  {"the owner aborts", LISTEN, 0,
   "OPEN 1 5 77 64 256; write x; abort; state; abort; POLL 5 1",
   "@0 ACK 0 16; @0 DATA 0 x; @0 RESET 5 2; aborted; @0 RESET 5 2"},
  {"the last 16 sessions are remembered", LISTEN, 0,
   "OPEN 1 1 77 64 256; OPEN 1 2 77 64 256; OPEN 1 3 77 64 256; OPEN 1 4 77 64 256; OPEN 1 5 77 64 256; OPEN 1 6 77 64 256; "
   "OPEN 1 7 77 64 256; OPEN 1 8 77 64 256; OPEN 1 9 77 64 256; OPEN 1 10 77 64 256; OPEN 1 11 77 64 256; OPEN 1 12 77 64 256; "
   "OPEN 1 13 77 64 256; OPEN 1 14 77 64 256; OPEN 1 15 77 64 256; OPEN 1 16 77 64 256; OPEN 1 17 77 64 256; abort; POLL 1 1; POLL 2 1; "
   "POLL 17 1; OPEN 1 2 77 64 256; OPEN 1 1 77 64 256; sessions",
   "@0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; "
   "@0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; @0 ACK 0 16; @0 RESET 17 2; @0 RESET 1 1; "
   "@0 RESET 2 2; @0 RESET 17 2; @0 RESET 2 2; @0 ACK 0 16; sessions 18"},
  {"nothing is taken behind the end", LISTEN, 0,
   "OPEN 1 5 77 64 256; finish; write x; room; ACK 1 256; write x; LAST 0 x; state; write x; room; finish; leave",
   "@0 ACK 0 16; @0 LAST 0; wrote 0; room 0; wrote 0; @0 ACK 1 15; finished; wrote 0; room 0"},
  {"what has arrived can be read behind the end", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 hello; RESET 5 2; state; read 3; read 9; ended",
   "@0 ACK 0 16; aborted; read hel; read lo; goes on"},
  {"the owner leaves: 5 s later the session is aborted", LISTEN, 0,
   "OPEN 1 5 77 64 256; write x; leave; skip 4999; state; wait 2; state",
   "@0 ACK 0 16; @0 DATA 0 x; @0 LAST 1; 6 frames; open; @5000 0 RESET 5 2; aborted"},
  {"progress starts the closing time over", LISTEN, 0,
   "OPEN 1 5 77 64 256; write x; finish; leave; skip 4000; ACK 1 256; skip 4999; state; wait 2; state",
   "@0 ACK 0 16; @0 DATA 0 x; @0 LAST 1; 5 frames; 6 frames; open; @9000 0 RESET 5 2; aborted"},
  {"who leaves drops what arrives, and offers its room", LISTEN, 0,
   "OPEN 1 5 77 64 256; leave; DATA 0 (64); DATA 4 (64); DATA 8 (64); DATA 12 (64); LAST 16 (64); ACK 1 256; state; read 10",
   "@0 ACK 0 16; @0 LAST 0; @0 ACK 8 16; @0 ACK 16 16; @0 ACK 20 16; finished; read"},
  {"the closing time is over while only the acknowledgement of an empty last frame is missing: finished", LISTEN, 0,
   "OPEN 1 5 77 64 256; LAST 0 x; wait 20; finish; skip 5309; state; skip 2; state",
   "@0 ACK 0 16; @0 ACK 1 15; @20 LAST 0; 7 frames; open; 0 frames; finished"},
  {"but aborted if the last frame has bytes", LISTEN, 0,
   "OPEN 1 5 77 64 256; LAST 0 x; wait 20; write y; finish; leave; skip 4999; state; wait 2; state",
   "@0 ACK 0 16; @0 ACK 1 15; @20 DATA 0 y; @20 LAST 1; 6 frames; open; @5020 0 RESET 5 2; aborted"},
  {"and patience ends it if the owner does not leave", LISTEN, 0,
   "OPEN 1 5 77 64 256; LAST 0 x; wait 20; write y; finish; skip 30309; state; wait 2; state",
   "@0 ACK 0 16; @0 ACK 1 15; @20 DATA 0 y; @20 LAST 1; 32 frames; open; @30330 0 RESET 5 3; silence"},
  {"a session is not confirmed: leaving ends it", DIAL, 0,
   "HELLO 1 77 64; open 5; leave; skip 4999; state; wait 2; state",
   "@0 0 OPEN 1 5 77 64 16; @0 LAST 0; 16 frames; opening; @5000 RESET 5 3; silence"},
};

static const struct script acks[] = {
  {"one frame is acknowledged after 10 ms, the second at once", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 hello; wait 9; wait 1; DATA 1 a; wait 3; DATA 2 b; wait 20",
   "@0 ACK 0 16; @10 ACK 1 15; @13 ACK 3 13"},
  {"a gap is told at once, with what is behind it", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 a; DATA 2 b; DATA 4 (32); wait 20; read 9; DATA 1 (16); wait 20; read 99; DATA 3 c; wait 20; read 99",
   "@0 ACK 0 16; @0 ACK 1 15 1 1; @0 ACK 1 15 1 1 1 2; read a; @30 ACK 3 14 1 2; read xxxxxxxxxxxxxxxxb; @50 ACK 6 13; read (33)"},
  {"what is here already is acknowledged, and stays", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 abc; wait 10; DATA 0 xyz; wait 10; read 9; DATA 0 xyz; wait 10; read 9",
   "@0 ACK 0 16; @10 ACK 1 15; @20 ACK 1 15; read abc; @30 ACK 1 16; read"},
  {"a frame partly here", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 (16); DATA 0 (40); wait 10; read 100",
   "@0 ACK 0 16; @0 ACK 3 13; read (40)"},
  {"the last frame is acknowledged at once", LISTEN, 0,
   "OPEN 1 5 77 64 256; LAST 0 abc; ended; read 9; ended",
   "@0 ACK 0 16; @0 ACK 1 15; goes on; read abc; ended"},
  {"an empty last frame takes a unit", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 (16); LAST 1; read 99; ended",
   "@0 ACK 0 16; @0 ACK 2 14; read xxxxxxxxxxxxxxxx; ended"},
  {"empty DATA that is not the last is refused", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0; wait 10; ended; DATA 0 a; wait 10; read 9",
   "@0 ACK 0 16; @10 ACK 0 16; goes on; @20 ACK 1 15; read a"},
  {"DATA beyond the window is dropped whole", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 13 (64); wait 10; DATA 12 (64); wait 10; DATA 16 x; wait 10",
   "@0 ACK 0 16; @10 ACK 0 16; @10 ACK 0 16 12 4; @30 ACK 0 16 12 4"},
  {"DATA beyond the end is dropped", LISTEN, 0,
   "OPEN 1 5 77 64 256; LAST 2 abc; DATA 3 x; wait 10; DATA 2 (32); wait 10; LAST 4 x; wait 10; LAST 1 x; wait 10; DATA 0 (32); "
   "read 99; ended",
   "@0 ACK 0 16; @0 ACK 0 16 2 1; @10 ACK 0 16 2 1; @20 ACK 0 16 2 1; @30 ACK 0 16 2 1; @40 ACK 0 16 2 1; read (35); ended"},
  {"a last frame that ends before what is here is dropped", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 (32); LAST 0 x; wait 10; ended; read 99; ended",
   "@0 ACK 0 16; @10 ACK 2 14; goes on; read (32); goes on"},
  {"a last frame that ends at what is here", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 1 (16); LAST 0 (32); read 99; ended",
   "@0 ACK 0 16; @0 ACK 0 16 1 1; @0 ACK 2 14; read (32); ended"},
  {"the window is offered again when half of it is used and a quarter is free", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 (64); DATA 4 (64); wait 20; read 64; DATA 8 x; read 63; wait 20; read 1; wait 20; read 2",
   "@0 ACK 0 16; @0 ACK 8 8; read (64); @20 ACK 9 11; read (63); read x; read x"},
  {"a window that is full and then read", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 (64); DATA 4 (64); DATA 8 (64); DATA 12 (64); wait 20; read 63; wait 20; read 1; read 200",
   "@0 ACK 0 16; @0 ACK 8 8; @0 ACK 16 0; read (63); read x; @40 ACK 16 4; read (192); @40 ACK 16 16"},
  {"very old DATA", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 40000 x; wait 10; DATA 65535 x; wait 10",
   "@0 ACK 0 16; @10 ACK 0 16; @20 ACK 0 16"},
  {"an acknowledgement goes with DATA", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 a; write b; wait 20",
   "@0 ACK 0 16; @0 DATA+ 0 1 b"},
  {"but not if there is a gap", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 1 a; write b; wait 20; DATA 3 a; write c; wait 5",
   "@0 ACK 0 16; @0 ACK 0 16 1 1; @0 DATA 0 b; @20 ACK 0 16 1 1 1 1; @20 DATA 1 c"},
  {"nor behind the peer's end", LISTEN, 0,
   "OPEN 1 5 77 64 256; LAST 0 a; write b; wait 20; LAST 0 a; write c; wait 5",
   "@0 ACK 0 16; @0 ACK 1 15; @0 DATA 0 b; @20 DATA 1 c"},
  {"a POLL is answered at once, with its token and what is here", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 a; POLL 5 9; wait 20; DATA 2 b; POLL 5 200; POLL 5 201",
   "@0 ACK 0 16; @0 ANSWER 9 0 1 15; @20 ACK 1 15 1 1; @20 ANSWER 200 0 1 15 1 1; @20 ANSWER 201 0 1 15 1 1"},
  {"a POLL on a slow line tells how long the answer waits", LISTEN, 9600,
   "OPEN 1 5 77 64 256; write (64); POLL 5 9; wait 300",
   "@12 0 ANSWER 9 30 0 16; @27 0 DATA 0 (64)"},
  {"a POLL with more bytes", LISTEN, 0,
   "OPEN 1 5 77 64 256; POLL 5 9 1 2 3",
   "@0 ACK 0 16; @0 ANSWER 9 0 0 16"},
  {"many runs: the list has 32 bytes at most", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 1 a; DATA 3 a; DATA 5 a; DATA 7 a; DATA 9 a; DATA 11 a; DATA 13 a; DATA 15 a; POLL 5 1",
   "@0 ACK 0 16; @0 ACK 0 16 1 1; @0 ACK 0 16 1 1 1 1; @0 ACK 0 16 1 1 1 1 1 1; @0 ACK 0 16 1 1 1 1 1 1 1 1; "
   "@0 ACK 0 16 1 1 1 1 1 1 1 1 1 1; @0 ACK 0 16 1 1 1 1 1 1 1 1 1 1 1 1; @0 ACK 0 16 1 1 1 1 1 1 1 1 1 1 1 1 1 1; "
   "@0 ACK 0 16 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1; @0 ANSWER 1 0 0 16 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"},
};

static const struct script sending[] = {
  {"what is written goes in frames of 64 bytes", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (150); unsent; room; ACK 0 256; wait 5; ACK 10 256; unsent; room",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 DATA 4 (64); @0 DATA 8 (22); unsent 0; room 352; unsent 0; room 512"},
  {"a peer that takes less than 64 bytes gets 64", LISTEN, 0,
   "OPEN 1 5 77 16 256; write (70)",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 DATA 4 yyyyyy"},
  {"small writes share a unit", LISTEN, 0,
   "OPEN 1 5 77 64 0; write abc; write def; room; unsent; ACK 0 1",
   "@0 ACK 0 16; room 506; unsent 16; @0 DATA 0 abcdef"},
  {"the window limits what is sent", LISTEN, 0,
   "OPEN 1 5 77 64 2; write (100); wait 10; ACK 2 3; wait 10; ACK 5 3; wait 5",
   "@0 ACK 0 16; @0 DATA 0 (32); @10 DATA 2 (48); @20 DATA 5 yyyyyyyyyyyyyyyyyyyy"},
  {"a larger window than 32,000 counts as 32,000", LISTEN, 0,
   "OPEN 1 5 77 64 65535; write (64); ACK 4 65535; write x; wait 5",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 DATA 4 x"},
  {"a closed window is asked for each second", LISTEN, 0,
   "OPEN 1 5 77 64 1; write (32); wait 5; ACK 1 0; wait 3500; ANSWER 2 0 1 1; wait 20",
   "@0 ACK 0 16; @0 DATA 0 yyyyyyyyyyyyyyyy; @1005 0 POLL 5 1; @1315 0 POLL 5 2; @1935 0 POLL 5 3; @2945 0 POLL 5 4; "
   "@3505 0 DATA 1 yyyyyyyyyyyyyyyy"},
  {"nothing is asked if nothing waits", LISTEN, 0,
   "OPEN 1 5 77 64 1; write (16); ACK 1 0; wait 3000",
   "@0 ACK 0 16; @0 DATA 0 yyyyyyyyyyyyyyyy"},
  {"an old acknowledgement changes nothing", LISTEN, 0,
   "OPEN 1 5 77 64 4; write (200); wait 5; ACK 4 4; wait 5; ACK 2 200; wait 5; ACK 8 0; wait 5",
   "@0 ACK 0 16; @0 DATA 0 (64); @5 DATA 4 (64)"},
  {"a smaller window does not take an offer back", LISTEN, 0,
   "OPEN 1 5 77 64 8; ACK 0 4; write (128); wait 5",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 DATA 4 (64)"},
  {"the first acknowledgement tells a dialer the window, and what is beyond it is sent again", DIAL, 0,
   "HELLO 1 77 64; open 5; write (256); wait 5; ACK 0 6; wait 5; ACK 6 6; wait 5",
   "@0 0 OPEN 1 5 77 64 16; @0 DATA 0 (64); @0 DATA 4 (64); @0 DATA 8 (64); @0 DATA 12 (64); @10 DATA 6 (64); @10 DATA 10 (32)"},
  {"an acknowledgement of what was not sent ends the session", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (64); ACK 5 256; state",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 RESET 5 2; aborted"},
  {"a run of what was not sent too", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (64); ACK 0 256 3 2; state",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 RESET 5 2; aborted"},
  {"and one on DATA", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (64); DATA+ 0 5 x; state; read 9",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 RESET 5 2; aborted; read"},
  {"all that was sent may be acknowledged in runs", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (64); ACK 0 256 1 3; state; wait 5",
   "@0 ACK 0 16; @0 DATA 0 (64); open"},
  {"a lost frame is sent again before new ones", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (192); wait 5; ACK 4 256 4 4; write z; wait 5; ACK 13 256; wait 50",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 DATA 4 (64); @0 DATA 8 (64); @5 DATA 4 (64); @5 DATA 12 z"},
  {"what a list that was cut short does not tell is not lost", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (256); wait 5; ACK 0 256 4 4 4; wait 5",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 DATA 4 (64); @0 DATA 8 (64); @0 DATA 12 (64); @5 DATA 0 (64)"},
  {"nor if it was sent before what arrived", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (256); wait 5; ACK 0 256 8 4; wait 5; ACK 4 256 4; wait 5; ACK 4 256 4 8; wait 5",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 DATA 4 (64); @0 DATA 8 (64); @0 DATA 12 (64); @5 DATA 0 (64); @5 DATA 4 (64)"},
  {"what was sent behind the latest that arrived is not lost", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (256); wait 5; ACK 0 256 4 4; wait 5; ACK 8 256; wait 5",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 DATA 4 (64); @0 DATA 8 (64); @0 DATA 12 (64); @5 DATA 0 (64); @10 DATA 8 (64); @10 DATA 12 (64)"},
  {"an acknowledgement of nothing new proves no loss", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (64); ACK 0 256; wait 20",
   "@0 ACK 0 16; @0 DATA 0 (64)"},
  {"malformed runs are dropped", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (192); ACK 4 256 0 1; ACK 4 256 1 129; "
   "ACK 4 256 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1; wait 5; room; ACK 4 256; room; ACK 5 256 128 1 1; room",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 DATA 4 (64); @0 DATA 8 (64); room 320; room 384; room 400"},
  {"ANSWER with malformed runs is dropped", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (192); wait 400; ANSWER 1 0 12 256 0; room; ANSWER 1 0 12 256; room",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 DATA 4 (64); @0 DATA 8 (64); @310 0 POLL 5 1; room 320; room 512"},
  {"DATA with an acknowledgement", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (64); DATA+ 0 4 hello; room; read 9; LAST+ 1 4 x; read 9; ended",
   "@0 ACK 0 16; @0 DATA 0 (64); room 512; read hello; @0 ACK 2 15; read x; ended"},
  {"the last frame has its flag, and is sent again with it", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (80); finish; wait 5; ACK 0 256 4 1; wait 5; ACK 5 256; wait 100",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 DATA 4 yyyyyyyyyyyyyyyy; @0 LAST 5; @5 DATA 0 (64); @10 LAST 5"},
  {"an end without bytes", LISTEN, 0,
   "OPEN 1 5 77 64 256; finish; wait 5; ACK 1 256; wait 5",
   "@0 ACK 0 16; @0 LAST 0"},
  {"an end when all was sent", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (16); wait 5; finish; wait 5",
   "@0 ACK 0 16; @0 DATA 0 yyyyyyyyyyyyyyyy; @5 LAST 1"},
  {"an end when there is no room for it", LISTEN, 0,
   "OPEN 1 5 77 64 256; write (512); room; finish; wait 5; ACK 8 256; wait 5; ACK 33 256; wait 5",
   "@0 ACK 0 16; @0 DATA 0 (64); @0 DATA 4 (64); @0 DATA 8 (64); @0 DATA 12 (64); @0 DATA 16 (64); @0 DATA 20 (64); @0 DATA 24 (64); "
   "@0 DATA 28 (64); room 0; @5 LAST 32"},
  {"a write that does not fit", LISTEN, 0,
   "OPEN 1 5 77 64 0; write (600); room; unsent",
   "@0 ACK 0 16; wrote 512; room 0; unsent 512"},
};

static const struct script timers[] = {
  {"POLL settles what was sent and not acknowledged", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; wait 400; ANSWER 1 0 0 256; wait 20; ACK 1 256; wait 2000",
   "@0 ACK 0 16; @0 DATA 0 abc; @310 0 POLL 5 1; @400 0 DATA 0 abc"},
  {"questions are put off longer, up to 1 s, and after 30 s the session is over", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; wait 3000; skip 27309; state; wait 2; state; POLL 5 1",
   "@0 ACK 0 16; @0 DATA 0 abc; @310 0 POLL 5 1; @620 0 POLL 5 2; @1240 0 POLL 5 3; @2250 0 POLL 5 4; 28 frames; open; "
   "@30310 0 RESET 5 3; silence; @30311 RESET 5 3"},
  {"after two questions no DATA is sent until something is heard", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; wait 1100; write def; wait 10; DATA 0 x; wait 10",
   "@0 ACK 0 16; @0 DATA 0 abc; @310 0 POLL 5 1; @620 0 POLL 5 2; @1110 0 DATA+ 1 1 def"},
  {"the round trip that was measured makes questions sooner", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; wait 340; ANSWER 1 0 0 256; wait 400",
   "@0 ACK 0 16; @0 DATA 0 abc; @310 0 POLL 5 1; @340 DATA 0 abc; @440 0 POLL 5 2; @540 0 POLL 5 3; @740 0 POLL 5 4"},
  {"and later", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; wait 700; ANSWER 1 0 1 256; write def; wait 1700",
   "@0 ACK 0 16; @0 DATA 0 abc; @310 0 POLL 5 1; @620 0 POLL 5 2; @700 0 DATA 1 def; @1710 0 POLL 5 3"},
  {"the delay that the answer tells does not count", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; wait 410; ANSWER 1 200 1 256; write def; wait 3000",
   "@0 ACK 0 16; @0 DATA 0 abc; @310 0 POLL 5 1; @410 0 DATA 1 def; @430 POLL 5 2; @450 POLL 5 3; @490 POLL 5 4; @570 0 POLL 5 5; "
   "@730 0 POLL 5 6; @1050 0 POLL 5 7; @1690 0 POLL 5 8; @2330 0 POLL 5 9; @2970 0 POLL 5 10"},
  {"an answer that waited for too long is no measure", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; wait 500; ANSWER 1 255 1 256; write def; wait 700",
   "@0 ACK 0 16; @0 DATA 0 abc; @310 0 POLL 5 1; @500 0 DATA 1 def; @810 0 POLL 5 2; @1120 0 POLL 5 3"},
  {"three measures", LISTEN, 0,
   "OPEN 1 5 77 64 256; write a; wait 330; ANSWER 1 0 0 256; wait 25; ANSWER 2 0 0 256; wait 60; ANSWER 3 0 0 256; wait 400",
   "@0 ACK 0 16; @0 DATA 0 a; @310 0 POLL 5 1; @330 DATA 0 a; @485 0 POLL 5 2; @555 0 POLL 5 3; @695 0 POLL 5 4"},
  {"a later measure counts an eighth, and its difference a quarter", LISTEN, 0,
   "OPEN 1 5 77 64 256; write a; wait 410; ANSWER 1 0 0 256; wait 310; ANSWER 2 0 0 256; wait 300; ANSWER 3 0 0 256; wait 2000",
   "@0 ACK 0 16; @0 DATA 0 a; @310 0 POLL 5 1; @410 0 DATA 0 a; @720 0 POLL 5 2; @720 DATA 0 a; @1367 0 POLL 5 3; @1714 0 POLL 5 4; "
   "@2408 0 POLL 5 5"},
  {"a measure counts at most 2 s, and at least nothing", LISTEN, 0,
   "OPEN 1 5 77 64 256; write a; wait 3000; ANSWER 1 0 0 256; wait 9000",
   "@0 ACK 0 16; @0 DATA 0 a; @310 0 POLL 5 1; @620 0 POLL 5 2; @1240 0 POLL 5 3; @2250 0 POLL 5 4; @3000 0 DATA 0 a; @4010 0 POLL 5 5; "
   "@5020 0 POLL 5 6; @6030 0 POLL 5 7; @7040 0 POLL 5 8; @8050 0 POLL 5 9; @9060 0 POLL 5 10; @10070 0 POLL 5 11; @11080 0 POLL 5 12"},
  {"an answer to no question", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; wait 5; ANSWER 1 0 1 256; write def; wait 400",
   "@0 ACK 0 16; @0 DATA 0 abc; @5 DATA 1 def; @315 0 POLL 5 1"},
  {"an answer twice", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; wait 320; ANSWER 1 0 0 256; wait 200; ANSWER 1 0 0 256; wait 100",
   "@0 ACK 0 16; @0 DATA 0 abc; @310 0 POLL 5 1; @320 DATA 0 abc; @360 POLL 5 2; @400 POLL 5 3; @480 0 POLL 5 4; @560 0 POLL 5 5; "
   "@600 POLL 5 6"},
  {"a listener asks after 25 s", LISTEN, 0,
   "OPEN 1 5 77 64 256; wait 26000; ANSWER 1 0 0 256; wait 26000",
   "@0 ACK 0 16; @25000 0 POLL 5 1; @25310 0 POLL 5 2; @25930 0 POLL 5 3; @51000 0 POLL 5 4"},
  {"a dialer after 10 s", DIAL, 0,
   "HELLO 1 77 64; open 5; ACK 0 256; wait 11000; ANSWER 1 0 0 256; wait 4000; LAST 0 x; wait 11000",
   "@0 0 OPEN 1 5 77 64 16; @10000 0 POLL 5 1; @10310 0 POLL 5 2; @10930 0 POLL 5 3; @15000 0 ACK 1 15; @25000 0 POLL 5 4"},
  {"a transfer that stops is asked for after 1 s", LISTEN, 0,
   "OPEN 1 5 77 64 256; DATA 0 x; wait 1100; ANSWER 1 0 0 256; wait 3000; DATA 1 x; wait 500; ACK 0 256; wait 600; POLL 5 1; wait 3000",
   "@0 ACK 0 16; @10 ACK 1 15; @1000 0 POLL 5 1; @4110 0 ACK 2 14; @5200 0 ANSWER 1 0 2 14"},
  {"but not behind its end", LISTEN, 0,
   "OPEN 1 5 77 64 256; LAST 0 x; wait 3000",
   "@0 ACK 0 16; @0 ACK 1 15"},
  {"the line is lost: questions wait, and nothing is sent", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; lost; wait 5000; write def; wait 1000; back; wait 20; ACK 0 256; wait 10",
   "@0 ACK 0 16; @0 DATA 0 abc; @6000 0 POLL 5 1; @6020 DATA 1 def"},
  {"the line does not come back in 30 s", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; lost; wait 29999; state; wait 2; state; back; POLL 5 1",
   "@0 ACK 0 16; @0 DATA 0 abc; open; gone; @30001 0 HELLO 1 77 64; @30001 RESET 5 2"},
  {"a line that is lost twice", LISTEN, 0,
   "OPEN 1 5 77 64 256; lost; wait 20000; lost; wait 11000; state; back",
   "@0 ACK 0 16; gone; @31000 0 HELLO 1 77 64"},
  {"a listener without a session says HELLO when the line is back", LISTEN, 0,
   "lost; wait 100; back; wait 100; back; wait 100",
   "@100 0 HELLO 1 77 64"},
  {"a dialer without a session says nothing", DIAL, 0,
   "lost; back; wait 100",
   ""},
  {"an opening dialer opens again when the line is back", DIAL, 0,
   "HELLO 1 77 64; open 5; wait 100; lost; wait 8000; back; wait 20; ACK 0 16; state",
   "@0 0 OPEN 1 5 77 64 16; @8100 0 OPEN 1 5 77 64 16; open"},
  {"a dialer forgets the incarnation with its line", DIAL, 0,
   "HELLO 1 77 64; open 5; ACK 0 256; lost; wait 31000; state; open 6; back; state",
   "@0 0 OPEN 1 5 77 64 16; gone; @31000 0 OPEN 1 6 0 64 16; asking"},
  {"a dialer forgets it with a silent session", DIAL, 0,
   "HELLO 1 77 64; open 5; ACK 0 256; write x; skip 30400; state; open 6",
   "@0 0 OPEN 1 5 77 64 16; @0 DATA 0 x; 33 frames; silence; @30400 0 OPEN 1 6 0 64 16"},
  {"but not with one that was reset", DIAL, 0,
   "HELLO 1 77 64; open 5; ACK 0 256; RESET 5 2; state; open 6",
   "@0 0 OPEN 1 5 77 64 16; aborted; @0 OPEN 1 6 77 64 16"},
  {"leaving and a lost line", LISTEN, 0,
   "OPEN 1 5 77 64 256; write abc; leave; lost; wait 6000; state; back; skip 4999; state; wait 2; state",
   "@0 ACK 0 16; @0 DATA 0 abc; @0 LAST 1; open; @6000 0 POLL 5 1; 6 frames; open; @11000 RESET 5 2; aborted"},
  {"a zero precedes a frame after 50 ms in which nothing was sent", LISTEN, 0,
   "OPEN 1 5 77 64 256; POLL 5 1; wait 49; POLL 5 2; wait 50; POLL 5 3; wait 50; POLL 5 4",
   "@0 ACK 0 16; @0 ANSWER 1 0 0 16; @49 ANSWER 2 0 0 16; @99 0 ANSWER 3 0 0 16; @149 0 ANSWER 4 0 0 16"},
  {"a frame is handed over when less than 4 ms wait on a paced line", LISTEN, 115200,
   "OPEN 1 5 77 64 256; write (256); wait 60",
   "@0 0 ACK 0 16; @0 0 DATA 0 (64); @5 0 DATA 4 (64); @12 0 DATA 8 (64); @18 0 DATA 12 (64)"},
  {"and at 9,600 baud", LISTEN, 9600,
   "OPEN 1 5 77 64 256; write (128); wait 400",
   "@12 0 DATA+ 0 0 (64); @91 0 DATA 4 (64); @300 0 POLL 5 1"},
  {"half a frame before the line was lost is forgotten", LISTEN, 0,
   "OPEN 1 5 77 64 256; bytes 01 02 03; lost; back; DATA 0 hello; wait 10; read 9",
   "@0 ACK 0 16; @0 0 POLL 5 1; @10 ACK 1 15; read hello"},
};

static const struct script lost_lines[] = {
  {"a reset that was not sent is forgotten with the line", LISTEN, 9600,
   "POLL 9 1; lost; wait 100; back; wait 300",
   "@100 0 HELLO 1 77 64"},
  {"an ACK that was not sent comes behind POLL when the line is back", LISTEN, 9600,
   "OPEN 1 5 77 64 256; lost; wait 100; back; wait 300",
   "@100 0 ACK 0 16; @109 0 POLL 5 1; @332 0 POLL 5 2"},
  {"two resets that wait: the first is sent first, and a third is dropped", LISTEN, 9600,
   "POLL 9 1; POLL 8 1; POLL 7 1; wait 300",
   "@12 0 RESET 9 1; @26 0 RESET 8 1"},
  {"only the latest of several POLLs is answered", LISTEN, 9600,
   "OPEN 1 5 77 64 256; POLL 5 1; wait 3; POLL 5 2; wait 300",
   "@12 0 ANSWER 2 24 0 16"},
  {"RESET, then ANSWER, then DATA", LISTEN, 9600,
   "OPEN 1 5 77 64 256; write abc; DATA 0 x; POLL 5 1; POLL 9 1; wait 300",
   "@12 0 RESET 9 1; @26 0 ANSWER 1 58 1 15; @40 0 DATA 0 abc; @263 0 POLL 5 1"},
  {"a HELLO that was not sent is sent once when the line is back", LISTEN, 9600,
   "OPEN 1 5 1 64 256; lost; wait 100; back; wait 300",
   "@100 0 HELLO 1 77 64"},
  {"HELLO goes before OPEN is answered", LISTEN, 9600,
   "start 77; OPEN 1 5 1 64 256; OPEN 1 6 77 64 256; wait 300; state",
   "@0 0 HELLO 1 77 64; @12 0 HELLO 1 77 64; @28 0 ACK 0 16; open"},
  {"the pace is kept for a clock that wraps", LISTEN, 9600,
   "OPEN 1 5 77 64 256; write (512); wait 600; ACK 28 256; wait 100; ACK 32 256; skip 3000; write (64); wait 200",
   "@12 0 DATA+ 0 0 (64); @91 0 DATA 4 (64); @168 0 DATA 8 (64); @245 0 DATA 12 (64); @323 0 POLL 5 1; @336 0 DATA 16 (64); "
   "@413 0 DATA 20 (64); @490 0 DATA 24 (64); @567 0 POLL 5 2; @600 DATA 28 (64); 0 frames; @3700 0 DATA 32 (64)"},
};

static const struct script bad_input[] = {
  {"a frame that comes in pieces", LISTEN, 0,
   "part 15; OPEN 1 5 77 64 256; rest 3; wait 1000; rest 11; state; wait 30000; rest 1; state",
   "none; @31000 0 ACK 0 16; open"},
  {"damaged frames are dropped", LISTEN, 0,
   "~OPEN 1 5 77 64 256; state; OPEN 1 5 77 64 256; ~DATA 0 x; ~POLL 5 1; ~ACK 9 9; wait 10; state",
   "none; @0 ACK 0 16; open"},
  {"empty runs and noise between frames", LISTEN, 0,
   "bytes 00 00 00; bytes 05 01 00; bytes 02 02 00; bytes FF 01; bytes 00; OPEN 1 5 77 64 256",
   "@0 ACK 0 16"},
  {"a run that is too long, and a frame behind it", LISTEN, 0,
   "bytes 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 55 00; "
   "OPEN 1 5 77 64 256",
   "@0 ACK 0 16"},
  {"a frame that is cut, and the next one", LISTEN, 0,
   "part 1; OPEN 1 5 77 64 256; POLL 5 1; OPEN 1 5 77 64 256; POLL 5 2",
   "@0 ACK 0 16; @0 ANSWER 2 0 0 16"},
  {"unknown kinds are dropped", LISTEN, 0,
   "OPEN 1 5 77 64 256; KIND5 1; KIND67 1; KIND132 0; state; wait 10",
   "@0 ACK 0 16; open"},
  {"frames without their last field", LISTEN, 0,
   "OPEN 1 5 77 64 256; POLL 5; RESET 5; ACK 0; ANSWER 1 0 0; DATA; DATA+ 0; LAST; wait 10; state; HELLO 1 77",
   "@0 ACK 0 16; open"},
  {"NOISE has no effect on an end without correction", LISTEN, 0,
   "OPEN 1 5 77 64 256; NOISE 200; NOISE 1; wait 10; state",
   "@0 ACK 0 16; open"},
  {"a frame with correction at an end without", LISTEN, 0,
   "OPEN 1 5 77 64 256; POLL^1 5 1; wait 300; bytes 00; POLL 5 2",
   "@0 ACK 0 16; @300 0 ANSWER 2 0 0 16"},
};

static void play_all(void) {
  PLAY(openings);
  PLAY(ends);
  PLAY(acks);
  PLAY(sending);
  PLAY(timers);
  PLAY(lost_lines);
  PLAY(bad_input);
}

#endif

#if BYWAY_LINE_CORRECTION
/* Bytes of each place of a frame are wrong, with other values each time. */
static void damage_each_place(void) {
  static const unsigned strengths[] = {0, 2, 3, 7, 11};
  unsigned i, from;
  for (i = 0; i < sizeof strengths / sizeof strengths[0]; i++) {
    unsigned wrong = most_wrong[strengths[i]], length = 47 + 2 * wrong;
    for (from = 0; from + wrong <= length; from++) {
      char steps[100];
      const struct script script = {"", LISTEN, 0, steps, ""};
      snprintf(steps, sizeof steps, "OPEN 1 5 77 256 256 12; DATA^%u:%u:0:%u 0 (40); read 99", strengths[i], wrong, from);
      run(&script, 0);
      expect(steps, strstr(trace, "read (40)") != NULL);
    }
  }
}

/* A frame with correction behind so many bytes of noise. */
static void behind_noise(void) {
  unsigned count, i;
  for (count = 0; count < 300; count++) {
    char steps[1100] = "OPEN 1 5 77 256 256 12";
    const struct script script = {"", LISTEN, 0, steps, ""};
    size_t length = strlen(steps);
    for (i = 0; i < count; i++) length += (size_t)sprintf(steps + length, i % 50 ? " 00" : "; bytes 00");
    strcpy(steps + length, "; DATA^2 0 hello; read 9");
    run(&script, 0);
    snprintf(steps, sizeof steps, "a frame with correction behind %u zeros", count);
    expect(steps, strstr(trace, "read hello") != NULL);
  }
}
#else
#define behind_noise() ((void)0)
#define damage_each_place() ((void)0)
#endif

int main(void) {
  play_all();
  damage_each_place();
  behind_noise();
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0 || passed < 50;
}
