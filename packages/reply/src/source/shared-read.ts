/**
 * Returns a function that shares reads of the same key. A call during a read gets the result of the next one, so it is
 * never older than the call. Simultaneous calls make two reads at most. An error goes to all calls that share the read.
 */
export function sharedRead<Key, T>(read: (key: Key) => Promise<T>): (key: Key) => Promise<T> {
  const running = new Map<Key, Promise<T>>()
  const next = new Map<Key, Promise<T>>()
  return (key) => {
    const current = running.get(key)
    return current === undefined ? startRead(key) : (next.get(key) ?? readAfter(key, current))
  }

  /** Starts a read and stores it as running until it has ended. */
  function startRead(key: Key): Promise<T> {
    const reading = read(key)
    running.set(key, reading)
    const removeRunning = (): void => {
      if (running.get(key) === reading) running.delete(key)
    }
    reading.then(removeRunning, removeRunning)
    return reading
  }

  /**
   * Returns the read that starts when the current one has ended, also after an error. Later calls share it until it
   * starts.
   */
  function readAfter(key: Key, current: Promise<T>): Promise<T> {
    const start = (): Promise<T> => {
      next.delete(key)
      return startRead(key)
    }
    const following = current.then(start, start)
    next.set(key, following)
    return following
  }
}
