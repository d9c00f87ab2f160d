#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

/// How often this thread has asked for memory.
unsigned long allocations(void);

#endif
