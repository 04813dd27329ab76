import type { Delivery } from './reconcile.ts'

/** The final result of a reply. */
export interface End {
  readonly settled: Promise<Delivery>
  /** Only the first call counts. */
  resolve(delivery: Delivery): void
  isOver(): boolean
}

export function createEnd(): End {
  let isOver = false
  let done = (_: Delivery): void => {}
  const settled = new Promise<Delivery>((resolve) => {
    done = resolve
  })
  return {
    settled,
    resolve: (delivery) => {
      isOver = true
      done(delivery)
    },
    isOver: () => isOver,
  }
}
