#ifndef BYWAY_CMD_SHIM_H
#define BYWAY_CMD_SHIM_H

#include <sha1.h>
#include <sha2.h>

#endif
