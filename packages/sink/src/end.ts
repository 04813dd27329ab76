import type { Delivery } from './reconcile.ts'

/** What a reply comes to, once it is known. */
export interface End {
  readonly settled: Promise<Delivery>
  /** The first time counts. */
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
