/** Lets so many go at once; the others wait in order. Each gives its turn back by calling what it got. */
export function createTurns(most: number): () => Promise<() => void> {
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
