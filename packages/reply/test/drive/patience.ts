/** A promise that must come true; otherwise the words say what was there instead. */
export async function within<T>(patienceMs: number, promise: Promise<T>, words: () => string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Within ${patienceMs} ms: ${words()}`)), patienceMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Looks again and again until it is so. For what only REST tells. */
export async function eventually<T>(patienceMs: number, look: () => Promise<T | undefined>): Promise<T> {
  const until = Date.now() + patienceMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > until) throw new Error(`Not within ${patienceMs} ms.`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
