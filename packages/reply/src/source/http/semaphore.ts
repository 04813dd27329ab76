/**
 * Lets at most `most` callers proceed at once; the others wait in order. Each releases its slot by calling the returned
 * function.
 */
export function createSemaphore(most: number): () => Promise<() => void> {
  const waiting: (() => void)[] = []
  let taken = 0
  return async () => {
    if (taken >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    taken += 1
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      taken -= 1
      waiting.shift()?.()
    }
  }
}
