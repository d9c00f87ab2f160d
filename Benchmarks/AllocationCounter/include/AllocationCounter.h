#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

/// The number of allocations of this thread.
unsigned long allocations(void);

#endif
