/**
 * Lets calls that arrive during a read share the next one. Any number of simultaneous calls makes two reads, and no
 * call gets a result that is older than the call.
 */
export function sharedRead<Key, T>(read: (key: Key) => Promise<T>): (key: Key) => Promise<T> {
  const running = new Map<Key, Promise<T>>()
  const next = new Map<Key, Promise<T>>()
  return (key) => {
    const current = running.get(key)
    return current === undefined ? begin(key) : (next.get(key) ?? follow(key, current))
  }

  function begin(key: Key): Promise<T> {
    const reading = read(key)
    running.set(key, reading)
    const end = (): void => {
      if (running.get(key) === reading) running.delete(key)
    }
    reading.then(end, end)
    return reading
  }

  function follow(key: Key, current: Promise<T>): Promise<T> {
    const start = (): Promise<T> => {
      next.delete(key)
      return begin(key)
    }
    const following = current.then(start, start)
    next.set(key, following)
    return following
  }
}
