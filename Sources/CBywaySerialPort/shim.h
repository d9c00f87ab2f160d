#ifndef BYWAY_CSERIALPORT_SHIM_H
#define BYWAY_CSERIALPORT_SHIM_H

#include <asm/ioctl.h>
#include <libserialport.h>
#include <linux/serial.h>

// The kernel's struct termios2, which supports any rate. It is declared here because <asm/termbits.h> and the C library's
// <termios.h> exclude each other. The layout is that of asm-generic, which x86, ARM and RISC-V use.
struct line_settings {
  unsigned int input, output, control, local;
  unsigned char discipline;
  unsigned char characters[19];
  unsigned int input_rate, output_rate;
};

static const unsigned long GET_LINE_SETTINGS = _IOR('T', 0x2A, struct line_settings);
static const unsigned long SET_LINE_SETTINGS = _IOW('T', 0x2B, struct line_settings);

// The bits of `control` which select the number in `output_rate` as the rate of output and input.
static const unsigned int RATE_MASK = 0x0000100F;
static const unsigned int RATE_AS_NUMBER = 0x00001000;
static const unsigned int INPUT_RATE_SHIFT = 16;

static const int LOW_LATENCY = ASYNC_LOW_LATENCY;

#endif
