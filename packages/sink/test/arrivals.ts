import { until } from '@reply/testing'
import type { InboundHost } from '../src/testing/contract/inbound.ts'

export interface Arrivals {
  /** For the channel's options. Passes everything on to the host of the contract. */
  readonly host: InboundHost
  /** For the stage's `listen`. */
  listen(host: InboundHost): void
  /** Resolves when the next inbound has arrived, in real time: the clock stands still meanwhile. */
  next(act: () => unknown): Promise<void>
}

/** Counts the inbounds of a channel. */
export function createArrivals(): Arrivals {
  let count = 0
  let to: InboundHost | undefined
  return {
    host: {
      onInbound: async (inbound) => {
        count += 1
        await to?.onInbound(inbound)
      },
      onError: (error) => to?.onError(error),
    },
    listen: (host) => {
      to = host
    },
    next: async (act) => {
      const before = count
      await act()
      await until(() => count > before, 'the host has the inbound')
    },
  }
}
