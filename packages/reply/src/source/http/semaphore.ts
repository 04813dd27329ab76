/**
 * Lets at most `most` callers proceed at once; the others wait in order. Each releases its slot by calling the returned
 * function.
 */
export function createSemaphore(most: number): () => Promise<() => void> {
  const waiting: (() => void)[] = []
  let taken = 0
  return async () => {
    // A waiting caller gets the slot of the one that releases it, so that no other can take it in between.
    if (taken >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else taken += 1
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const next = waiting.shift()
      if (next) next()
      else taken -= 1
    }
  }
}
