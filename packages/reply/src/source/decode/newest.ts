/** Sets an entry as the newest one. The oldest makes room for it. */
export function putNewest<V>(
  entries: Map<string, V>,
  { key, value, max }: { readonly key: string; readonly value: V; readonly max: number },
): void {
  entries.delete(key)
  entries.set(key, value)
  if (entries.size <= max) return
  const [oldest] = entries.keys()
  if (oldest !== undefined) entries.delete(oldest)
}
