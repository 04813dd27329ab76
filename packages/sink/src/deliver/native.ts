import type { Clock, Reply } from '@reply/core'
import { openStream } from '../ledger/entry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { AppendStream, ChannelPort, PreviewStream } from '../port/port.ts'
import { earliest } from '../view/view.ts'
import type { Operation } from './operation.ts'

/** The platform's own way to show growing text, while the port has it: a port may lose it at run time. */
export interface Native {
  readonly streaming: AppendStream | undefined
  readonly previewing: PreviewStream | undefined
  /** A preview is due when it changed or is about to expire. Other operations are always due. */
  isDue(operation: Operation): boolean
  /** When something is due without a change: a preview expires, or a stream reaches its maximum time. */
  nextAt(reply: Reply, ledger: Ledger): number | undefined
  /** Streams opened before this time are closed. */
  openSince(): number | undefined
  /** Records that an operation was done or tried. A person may have stopped a preview; the next text tries it again. */
  did(operation: Operation): void
}

export interface NativeOptions {
  readonly port: ChannelPort
  readonly clock: Clock
  /** The policy asks for it, and the reply is shown as it grows. */
  readonly isWanted: boolean
}

export function createNative({ port, clock, isWanted }: NativeOptions): Native {
  let previewed = { whole: '', at: 0 }
  return {
    get streaming() {
      return streaming()
    },
    get previewing() {
      return previewing()
    },
    isDue,
    nextAt,
    openSince: () => {
      const stream = streaming()
      return stream && clock.now() - stream.maxMs
    },
    did: (operation) => {
      const { type } = operation
      previewed = type === 'preview' ? { whole: operation.slot.whole, at: clock.now() } : { whole: '', at: 0 }
    },
  }

  function streaming(): AppendStream | undefined {
    return isWanted && port.stream?.kind === 'append' ? port.stream : undefined
  }

  function previewing(): PreviewStream | undefined {
    return isWanted && port.stream?.kind === 'preview' ? port.stream : undefined
  }

  function isDue(operation: Operation): boolean {
    if (operation.type !== 'preview' || operation.slot.whole !== previewed.whole) return true
    return clock.now() >= previewed.at + (previewing()?.renewMs ?? 0)
  }

  function nextAt({ phase }: Reply, { entries }: Ledger): number | undefined {
    const drafts = previewing()
    const renewAt = drafts && phase !== 'settled' && previewed.at > 0 ? previewed.at + drafts.renewMs : undefined
    const stream = streaming()
    const openedAt = entries.map(openStream).find((sent) => sent !== undefined)?.openedAt
    const overAt = stream && openedAt !== undefined ? openedAt + stream.maxMs : undefined
    // A stream past its time is closed by an operation, which has its own time.
    return earliest(renewAt, overAt !== undefined && overAt > clock.now() ? overAt : undefined)
  }
}
