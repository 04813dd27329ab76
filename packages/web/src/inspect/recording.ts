import type { Change, Reply, ReplyError, ReplyEvent } from '@reply/core'
import { settleOpenReplies } from '@reply/core/internal'
import { type Change as Difference, differenceOf } from '../state/difference.ts'
import type { PageReply } from '../state/page-run.ts'
import { toPageRun } from '../state/to-page-run.ts'
import { eventIn, fieldsIn } from './event-in.ts'
import {
  type FrameKind,
  frameKinds,
  type InspectedFrame,
  type InspectedStep,
  kindOfChanges,
  type NoEvents,
  partOfChange,
  type ReadFrame,
} from './frame.ts'
import { createHeldFrames } from './held.ts'
import { createPlayer, type InspectedReply, type Kept, nothingKept, type Player } from './player.ts'
import { searchFrames } from './search.ts'

/**
 * A recording with all of its moments. Moment `n` is the one right after frame `n`. Once the recording has ended, the
 * moment after the last frame is its end, which settles what is open.
 */
export interface OpenedRecording {
  /** Adds the next frame. */
  add(frame: ReadFrame): void
  /** Ends the recording. `errors`: about what follows the last frame. */
  end(errors?: readonly string[]): void
  /** How many frames it has so far. */
  readonly length: number
  /** How many moments it has: one per frame, and one for its end. */
  readonly moments: number
  /** When the frame arrived, in ms since the epoch. 0 if that is unknown. For the end, the time of the last frame. */
  atOf(index: number): number
  /** When the first frame with a known time arrived. 0 if none has one. */
  readonly startedAt: number
  /** What the frame is shown as. */
  kindOf(index: number): FrameKind
  /** The frame's type on the wire. Empty if it has none. */
  typeOf(index: number): string
  /** The frame with all that became of it. At the moment of the end, a frame without data. */
  frame(index: number): InspectedFrame
  /** All replies of the recording at a moment, in the order in which they opened. */
  repliesAt(index: number): readonly InspectedReply[]
  /**
   * The reply of a session and run at a moment. Without those, the one that changed last. Undefined if there is none yet.
   */
  replyAt(index: number, which?: ReplyName): Reply | undefined
  /** The first moment after `from` at which the part changed. Undefined if there is none. */
  nextChangeOf(partID: string, from: number): number | undefined
  /** The last moment before `from` at which the part changed. Undefined if there is none. */
  previousChangeOf(partID: string, from: number): number | undefined
  /** The first moment after `from`, or the last one before it, at which any reply changed. Undefined if there is none. */
  changeFrom(from: number, direction: 1 | -1): number | undefined
  /** The frames that contain the text, in any case: in their data, or at the end of a text that grew by deltas. */
  search(text: string): readonly number[]
  /** What differs between a reply at two moments, without `raw` fields. A reply that is not there yet is null. */
  compare(from: number, to: number, which?: ReplyName): readonly Difference[]
}

/** Names a reply of a recording. */
export interface ReplyName {
  /** The root session. */
  readonly sessionID: string
  /** The number of the reply in its session, from 1. */
  readonly run: number
}

/** After how many frames a state is kept. Stepping plays at most that many frames again. */
const keptEvery = 128

/** Creates an empty recording, which grows with each frame. `decode` was done before: see `readFrames`. */
export function createRecording(): OpenedRecording {
  const data: string[] = []
  const times: number[] = []
  const events: (readonly ReplyEvent[])[] = []
  const kinds: number[] = []
  const errors = new Map<number, readonly string[]>()
  /** The frames that changed each part, and those that changed any reply. */
  const changesOfPart = new Map<string, number[]>()
  const changed: number[] = []
  const noEvents = new Map<number, NoEvents>()
  const held = createHeldFrames()
  /** The states after every `keptEvery` frames, from before the first. */
  const kept: Kept[] = [nothingKept]
  let startedAt = 0
  let pendingErrors: string[] = []
  let isEnded = false

  const onError = (error: ReplyError): void => void pendingErrors.push(error.message)
  const player = createPlayer(nothingKept, onError)
  /** The player of the moment that was looked at last, and how many frames it has played. */
  let cursor: { readonly player: Player; played: number; steps: readonly InspectedStep[] } | undefined

  return {
    add,
    end,
    get length() {
      return data.length
    },
    get moments() {
      return data.length + (isEnded ? 1 : 0)
    },
    atOf: (index) => times[Math.min(index, data.length - 1)] ?? 0,
    get startedAt() {
      return startedAt
    },
    kindOf: (index) => frameKinds[kinds[index] ?? 0] ?? 'none',
    typeOf: (index) => typeIn(data[index] ?? '', events[index]),
    frame,
    repliesAt: (index) => momentAt(index).player.replies,
    replyAt,
    nextChangeOf: (partID, from) => firstAfter(changesOfPart.get(partID) ?? [], from),
    previousChangeOf: (partID, from) => lastBefore(changesOfPart.get(partID) ?? [], from),
    changeFrom: (from, direction) => (direction === 1 ? firstAfter(changed, from) : lastBefore(changed, from)),
    search: (text) => searchFrames(text, data, events),
    compare: (from, to, which) => {
      const name = which ?? newestName(to) ?? newestName(from)
      return differenceOf(pageReplyAt(from, name), pageReplyAt(to, name))
    },
  }

  function add(frame: ReadFrame): void {
    if (isEnded) return
    const index = data.length
    data.push(frame.data)
    events.push(frame.events)
    const at = frame.events[0]?.at ?? frame.at
    times.push(at)
    if (startedAt === 0 && at > 0) startedAt = at
    if (frame.noEvents) noEvents.set(index, frame.noEvents)
    pendingErrors = [...frame.errors]
    playNoting(index, frame.events)
    if (data.length % keptEvery === 0) kept.push(player.keep())
  }

  /** Applies the events of a moment for the first time. */
  function playNoting(index: number, momentEvents: readonly ReplyEvent[]): void {
    const changes: Change[] = []
    for (const event of momentEvents) noteEvent(event, index, changes)
    closeMoment(index, momentEvents, changes)
  }

  function noteEvent(event: ReplyEvent, index: number, changes: Change[]): void {
    const before = player.track
    const { steps, dropped } = player.apply(event, index)
    held.record(before, player.track, index, dropped)
    if (dropped > 0) onDropped(dropped)
    for (const step of steps) changes.push(...step.changes)
  }

  function onDropped(dropped: number): void {
    pendingErrors.push(`Dropped ${dropped} events. The recording lacks the messages they belong to.`)
  }

  /** Notes the kind, the errors and the changed parts of a moment whose events are applied. */
  function closeMoment(index: number, momentEvents: readonly ReplyEvent[], changes: readonly Change[]): void {
    if (changes.length > 0) changed.push(index)
    for (const change of changes) noteChange(change, index)
    const hasErrors = pendingErrors.length > 0
    if (hasErrors) errors.set(index, pendingErrors)
    pendingErrors = []
    const kind = changes.length > 0 ? kindOfChanges(changes) : quietKind(index, momentEvents, hasErrors)
    kinds.push(frameKinds.indexOf(kind))
  }

  function quietKind(index: number, momentEvents: readonly ReplyEvent[], hasErrors: boolean): FrameKind {
    if (hasErrors) return 'malformed'
    if (held.of(index)) return 'held'
    return momentEvents.length > 0 ? 'quiet' : 'none'
  }

  function noteChange(change: Change, index: number): void {
    const partID = partOfChange(change)
    if (partID === undefined) return
    const known = changesOfPart.get(partID)
    if (!known) changesOfPart.set(partID, [index])
    else if (known.at(-1) !== index) known.push(index)
  }

  function end(lastErrors: readonly string[] = []): void {
    if (isEnded) return
    isEnded = true
    pendingErrors = [...lastErrors]
    const index = data.length
    const changes: Change[] = []
    const at = times.at(-1) ?? 0
    settleOpenReplies({ state: () => player.track, apply: (event) => noteEvent(event, index, changes), at })
    closeMoment(index, [], changes)
    cursor = undefined
  }

  /** Plays to a moment: on from the moment looked at last, or else from the kept state before. */
  function momentAt(index: number): NonNullable<typeof cursor> {
    const wanted = Math.max(0, Math.min(index, data.length + (isEnded ? 1 : 0) - 1)) + 1
    const before = Math.min(Math.floor((wanted - 1) / keptEvery), kept.length - 1)
    const isNear = cursor !== undefined && cursor.played <= wanted && cursor.played > before * keptEvery
    const next = isNear && cursor ? cursor : playFrom(before)
    while (next.played < wanted) {
      const steps: InspectedStep[] = []
      playAgain(next.player, next.played, steps)
      next.played += 1
      next.steps = steps
    }
    cursor = next
    return next
  }

  /** Returns the moment of a kept state. */
  function playFrom(position: number): NonNullable<typeof cursor> {
    return { player: createPlayer(kept[position] ?? nothingKept), played: position * keptEvery, steps: [] }
  }

  /** Plays the events of a moment, and collects its steps. */
  function playAgain(at: Player, index: number, steps: InspectedStep[]): void {
    const apply = (event: ReplyEvent): void => {
      for (const { reply, run, changes } of at.apply(event, index).steps)
        steps.push({ sessionID: reply.sessionID, run, changes })
    }
    for (const event of events[index] ?? []) apply(event)
    if (index === data.length) settleOpenReplies({ state: () => at.track, apply, at: times.at(-1) ?? 0 })
  }

  function frame(index: number): InspectedFrame {
    const text = data[index] ?? ''
    const own = events[index] ?? []
    return {
      index,
      data: text,
      type: typeIn(text, own),
      at: times[Math.min(index, data.length - 1)] ?? 0,
      kind: frameKinds[kinds[index] ?? 0] ?? 'none',
      events: own,
      ...(noEvents.has(index) && { noEvents: noEvents.get(index) }),
      errors: errors.get(index) ?? [],
      ...(held.of(index) && { held: held.of(index) }),
      released: held.releasedBy(index),
      steps: momentAt(index).steps,
    }
  }

  function replyAt(index: number, which?: ReplyName): Reply | undefined {
    return find(momentAt(index).player.replies, which ?? newestName(index))?.reply
  }

  /** The reply without `raw` fields. Null if it is not there yet. */
  function pageReplyAt(index: number, name: ReplyName | undefined): PageReply | null {
    const reply = name && replyAt(index, name)
    return reply ? toPageRun(reply).reply : null
  }

  function newestName(index: number): ReplyName | undefined {
    return momentAt(index).player.replies.reduce<InspectedReply | undefined>(
      (newest, one) => (newest && newest.changedAt > one.changedAt ? newest : one),
      undefined,
    )
  }
}

function find(replies: readonly InspectedReply[], name: ReplyName | undefined): InspectedReply | undefined {
  return replies.find(({ sessionID, run }) => sessionID === name?.sessionID && run === name.run)
}

/** Returns the type of a frame: of its event as it was sent, or else as its data spells it. */
function typeIn(data: string, events: readonly ReplyEvent[] | undefined): string {
  const raw = fieldsIn(events?.[0]?.raw)
  if (typeof raw?.type === 'string') return raw.type
  const event = data.length < 4096 ? eventIn(data) : undefined
  if (typeof event?.type === 'string') return event.type
  return /"type":"([\w.-]+)"/.exec(data.slice(0, 4096))?.[1] ?? ''
}

/** The first number above `from` in a sorted list. */
function firstAfter(sorted: readonly number[], from: number): number | undefined {
  return sorted[positionOf(sorted, from + 1)]
}

/** The last number below `from` in a sorted list. */
function lastBefore(sorted: readonly number[], from: number): number | undefined {
  return sorted[positionOf(sorted, from) - 1]
}

/** The position of the first number that is at least `wanted` in a sorted list, which is its length if none is. */
function positionOf(sorted: readonly number[], wanted: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1
    else high = middle
  }
  return low
}
