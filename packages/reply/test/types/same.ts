/** Compiles only with `true`. */
export type Expect<T extends true> = T

/** Whether two types are one and the same. */
export type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
