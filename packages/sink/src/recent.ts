/** A map with a bound: a new key takes the place of the oldest. */
export interface Recent<V> {
  /** Whether the key is still known. */
  has(key: string): boolean
  /** The key's value. Reading does not make it newer. */
  get(key: string): V | undefined
  /** Sets the key's value, and makes the key the newest. */
  set(key: string, value: V): void
  /** Forgets the key. */
  delete(key: string): void
}

/**
 * Creates a map that drops the key that was set longest ago once it has more than `maxKeys`. For what a host remembers, which
 * may run for years.
 */
export function createRecent<V>(maxKeys: number): Recent<V> {
  const known = new Map<string, V>()
  return {
    has: (key) => known.has(key),
    get: (key) => known.get(key),
    set: (key, value) => {
      known.delete(key)
      known.set(key, value)
      const [oldest] = known.keys()
      if (oldest !== undefined && known.size > maxKeys) known.delete(oldest)
    },
    delete: (key) => void known.delete(key),
  }
}
