/** Index of the message within its card. Messages before the first that is laid out stay unchanged. */
export function indexOf(key: string): number {
  return Number(/#(\d+)$/.exec(key)?.[1] ?? 0)
}

/** The request that a card belongs to. Undefined if the card is not an ask's. */
export function requestOf(card: string): string | undefined {
  return /^ask:(.*):[^:]*$/.exec(card)?.[1]
}
