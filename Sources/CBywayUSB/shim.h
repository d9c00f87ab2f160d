// The parts of Linux for USB that Swift's C library lacks: requests to devices (usbdevfs), and asynchronous I/O for the endpoints of a
// gadget (io_submit(2)).
#ifndef BYWAY_CUSB_SHIM_H
#define BYWAY_CUSB_SHIM_H

#include <linux/aio_abi.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// struct usbdevfs_urb of <linux/usbdevice_fs.h>, without the packets of isochronous transfers at its end, which Swift cannot import.
struct usb_request {
  unsigned char type, endpoint;
  int status;
  unsigned int flags;
  void *buffer;
  int length, transferred, start_frame, packet_count, error_count;
  unsigned int signal;
  void *context;
};

// struct usbdevfs_ioctl
struct usb_driver_request {
  int interface, code;
  void *data;
};

enum { USB_REQUEST_BULK = 3 };

// Each returns -1 and sets errno on failure.

static inline int usb_claim(int device, unsigned int interface) { return ioctl(device, _IOR('U', 15, unsigned int), &interface); }

static inline int usb_release(int device, unsigned int interface) { return ioctl(device, _IOR('U', 16, unsigned int), &interface); }

// Selects a setting of an interface.
static inline int usb_set_interface(int device, unsigned int interface, unsigned int setting) {
  unsigned int request[] = {interface, setting};
  return ioctl(device, _IOR('U', 4, unsigned int[2]), request);
}

static inline int usb_submit(int device, struct usb_request *request) { return ioctl(device, _IOR('U', 10, struct usb_request), request); }

static inline int usb_discard(int device, struct usb_request *request) { return ioctl(device, _IO('U', 11), request); }

// Returns a completed request without waiting for one.
static inline int usb_reap(int device, struct usb_request **request) { return ioctl(device, _IOW('U', 13, void *), request); }

static inline int usb_clear_halt(int device, unsigned int endpoint) { return ioctl(device, _IOR('U', 21, unsigned int), &endpoint); }

// Takes an interface from its driver (USBDEVFS_DISCONNECT).
static inline int usb_detach_driver(int device, int interface) {
  struct usb_driver_request request = {interface, _IO('U', 22), 0};
  return ioctl(device, _IOWR('U', 18, struct usb_driver_request), &request);
}

// Makes a counter of completed requests for poll(2).
static inline int usb_counter(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

static inline long aio_open(unsigned int count, aio_context_t *context) { return syscall(SYS_io_setup, count, context); }

static inline long aio_start(aio_context_t context, struct iocb *request) { return syscall(SYS_io_submit, context, 1L, &request); }

// Returns the number of completed requests, 0 or 1, without waiting for one.
static inline long aio_completed(aio_context_t context, struct io_event *event) {
  struct timespec none = {0, 0};
  return syscall(SYS_io_getevents, context, 0L, 1L, event, &none);
}

// Cancels all requests and waits for their end.
static inline long aio_close(aio_context_t context) { return syscall(SYS_io_destroy, context); }

#endif
