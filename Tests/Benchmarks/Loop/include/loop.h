#ifndef PUSHSIM_LOOP_H
#define PUSHSIM_LOOP_H

// Does the two point multiplications of one record so many times: what a sender cannot do without.
// Answers 0, or -1 where the library fails.
int pushsim_loop_multiply(int times);

#endif
