/** A promise, and the function that resolves it. */
export interface Resolvable<T> {
  /** Pending until `resolve` is called. Never rejects. */
  readonly promise: Promise<T>
  /** Resolves the promise. Later calls do nothing. */
  readonly resolve: (value: T) => void
}

/** `Promise.withResolvers`, which Node has only from version 22 on. */
export function withResolvers<T>(): Resolvable<T> {
  let resolve = (_: T): void => {}
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
