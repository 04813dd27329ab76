/** Awaits a promise with a limit; on timeout the error contains the current state. */
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

/** Polls until `look` returns a value. For state that only REST has. */
export async function eventually<T>(patienceMs: number, look: () => Promise<T | undefined>): Promise<T> {
  const until = Date.now() + patienceMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > until) throw new Error(`Not within ${patienceMs} ms.`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
