import type { Clock, Reply } from '@reply/core'
import { earliest } from '../earliest.ts'
import { hashOf } from '../hash.ts'
import type { Slot } from '../layout/slot.ts'
import { type Entry, openStream, type Sent, type ShownEntry } from '../ledger/entry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { AppendStream, ChannelPort, PreviewStream, StreamPiece } from '../port/port.ts'
import { taskKey } from '../view/task.ts'
import type { Operation } from './operation.ts'

/** The platform's own stream or preview. Undefined members, because a port may lose them at run time. */
export interface NativeDelivery {
  readonly streaming: AppendStream | undefined
  readonly previewing: PreviewStream | undefined
  /** A preview is due when it changed or is about to expire. Other operations are always due. */
  isDue(operation: Operation): boolean
  /** Returns when something is due without a change: a preview expires, or a stream reaches its maximum time. */
  nextAt(reply: Reply, ledger: Ledger): number | undefined
  /** Streams opened before this time have to be closed, in ms since the epoch. Undefined without streams. */
  closeIfOpenedBy(): number | undefined
  /** Records an operation that was performed or tried. If a person stopped a preview, the next text starts it again. */
  record(operation: Operation): void
}

/**
 * Creates the access to the port's own stream or preview. `isWanted`: the policy requests it, and the reply is shown as
 * it grows.
 */
export function createNativeDelivery(port: ChannelPort, clock: Clock, isWanted: boolean): NativeDelivery {
  let previewed = { whole: '', at: 0 }
  return {
    get streaming() {
      return appendStream()
    },
    get previewing() {
      return previewStream()
    },
    isDue,
    nextAt,
    closeIfOpenedBy: () => {
      const stream = appendStream()
      return stream && clock.now() - stream.maxMs
    },
    record: (operation) => {
      const { type } = operation
      previewed = type === 'preview' ? { whole: operation.slot.whole, at: clock.now() } : { whole: '', at: 0 }
    },
  }

  /** Returns the port's stream. Undefined if it is not wanted or the port has none now. */
  function appendStream(): AppendStream | undefined {
    return isWanted && port.stream?.kind === 'append' ? port.stream : undefined
  }

  /** Returns the port's preview. Undefined if it is not wanted or the port has none now. */
  function previewStream(): PreviewStream | undefined {
    return isWanted && port.stream?.kind === 'preview' ? port.stream : undefined
  }

  /** Whether the operation shows anything new. False for a preview that shows the same text and doesn't expire yet. */
  function isDue(operation: Operation): boolean {
    if (operation.type !== 'preview' || operation.slot.whole !== previewed.whole) return true
    return clock.now() >= previewed.at + (previewStream()?.renewMs ?? 0)
  }

  /**
   * Returns when a preview has to be renewed, or an open stream reaches its maximum time. Undefined if neither will
   * happen.
   */
  function nextAt({ phase }: Reply, { entries }: Ledger): number | undefined {
    const preview = previewStream()
    const renewAt = preview && phase !== 'settled' && previewed.at > 0 ? previewed.at + preview.renewMs : undefined
    const stream = appendStream()
    const openedAt = entries.map(openStream).find((sent) => sent !== undefined)?.openedAt
    const overAt = stream && openedAt !== undefined ? openedAt + stream.maxMs : undefined
    // A stream past its time is closed by an operation that has its own schedule.
    return earliest(renewAt, overAt !== undefined && overAt > clock.now() ? overAt : undefined)
  }
}

/**
 * How to change an open stream:
 * - `append`: add more text.
 * - `close`: add the last text and close it.
 * - `end`: its content is unknown or outdated, so close it as it is and edit it afterwards.
 */
export type StreamChange = 'append' | 'close' | 'end'

/** Whether posting this slot opens a stream. */
export function opensStream({ flow, isGrowing }: Slot): boolean {
  return flow !== undefined && isGrowing
}

/**
 * Returns how an open stream gets to show a slot: `append` while its text only grows, `close` once it is complete or the
 * stream has reached its maximum time, and `end` if the sent text is unsure or changed, or the port has no streams any
 * more. Undefined if no stream is open. Pure.
 */
export function streamChangeFor(
  entry: ShownEntry,
  { bubble, flow, isGrowing }: Slot,
  closeIfOpenedBy: number | undefined,
): StreamChange | undefined {
  const sent = openStream(entry)
  if (!sent) return undefined
  if (closeIfOpenedBy === undefined || entry.isUnsure) return 'end'
  const isMore = hashOf(bubble.text.slice(0, sent.length)) === sent.hash
  if (!isMore) return 'end'
  return flow && isGrowing && sent.openedAt > closeIfOpenedBy ? 'append' : 'close'
}

/** Whether an open stream has to be closed, or has new tasks or progress to show, even if its text is the same. */
export function needsStreamChange(
  entry: Entry,
  { flow, isGrowing }: Slot,
  closeIfOpenedBy: number | undefined,
): boolean {
  const sent = openStream(entry)
  if (!sent) return false
  if (!flow || !isGrowing || closeIfOpenedBy === undefined || sent.openedAt <= closeIfOpenedBy) return true
  return flow.tasks.length > 0 || flow.plan !== sent.plan
}

/** Returns what the stream doesn't have yet of the slot. All of it without `sent`. */
export function unsentPiece({ bubble, flow }: Slot, sent?: Sent): StreamPiece {
  const { tasks = [], plan } = flow ?? {}
  return { text: bubble.text.slice(sent?.length ?? 0), tasks, ...(plan !== sent?.plan && { plan }) }
}

/** Returns the state of a stream after it was opened or appended to. */
export function sentStateOf({ bubble: { text }, flow }: Slot, openedAt: number): Sent {
  return { openedAt, length: text.length, hash: hashOf(text), plan: flow?.plan }
}

/** Records the tasks that a stream has shown, so that they are not sent again. Returns the same ledger if there are none. */
export function withReportedTasks(ledger: Ledger, { flow }: Slot): Ledger {
  if (!flow || flow.tasks.length === 0) return ledger
  return { ...ledger, reported: [...ledger.reported, ...flow.tasks.map(taskKey)] }
}
