import type { Clock } from '@reply/core'
import { stopwatch } from '@reply/core/internal'
import type { Form } from '@reply/sink/channel'
import { sealToken } from '@reply/sink/internal'
import { toError } from '../error.ts'
import type { ChatPlace } from '../place.ts'
import { toPressAnswer } from '../state/decode.ts'
import {
  announceMs,
  claimableMs,
  dueKey,
  type ForwardedPress,
  type PressAnswer,
  pressAnswerKey,
  pressKey,
  type StoredPress,
} from '../state/forwarded-press.ts'
import type { SharedState } from '../state/state.ts'
import { waitAtMost } from '../timers.ts'
import type { InboundPress } from './intake.ts'

/** Forwards presses to the owners of their chats. */
export interface PressForwarder {
  /**
   * Stores a press for the owner of its chat, and resolves with what the owner answered within 2 s of when it was received, which
   * `sinceReceivedMs` tells. Never rejects.
   *
   * - `not-taken`: it is surely not carried out.
   * - `taken`: the owner carries it out, and did not answer in time. Or another member forwards the same press.
   * - `unknown`: the state can't be used.
   */
  forward(place: ChatPlace, inbound: InboundPress, id: string, sinceReceivedMs: () => number): Promise<ForwardedResult>
  /** Call it when an answer may have been stored. */
  look(): void
}

/** What became of a forwarded press. */
export type ForwardedResult =
  | { readonly type: 'answered'; readonly text?: string | undefined }
  | { readonly type: 'open'; readonly form: Form }
  | { readonly type: 'not-taken' }
  | { readonly type: 'taken' }
  | { readonly type: 'unknown' }

/** How often a waiting press looks for its answer, in ms, because hints may be lost. */
const lookMs = 250

/** Creates the receiver's side of forwarded presses. */
export function createPressForwarder({
  member,
  state,
  stateOf,
  shardOf,
  clock,
  onError,
}: {
  /** The name of this member, unique for each process. */
  readonly member: string
  readonly state: Pick<SharedState, 'read' | 'commitWithoutLease'>
  readonly stateOf: (shard: string) => Pick<SharedState, 'commitWithoutLease'>
  readonly shardOf: (place: ChatPlace) => string
  readonly clock: Clock
  readonly onError: (error: Error) => void
}): PressForwarder {
  /** Each looks for the answer of a press that waits. */
  const looks = new Set<() => void>()
  return { forward, look }

  /** Has each waiting press look for its answer. */
  function look(): void {
    for (const lookOnce of looks) lookOnce()
  }

  /** Stores the press, and then waits for its answer until it can't be claimed any more. */
  async function forward(
    ...[place, inbound, id, sinceReceivedMs]: Parameters<PressForwarder['forward']>
  ): Promise<ForwardedResult> {
    const canOpen = inbound.type === 'press' && inbound.open !== undefined
    const { channel } = place
    const press = { id, member, channel, inbound: storedPress(inbound), ...(canOpen && { canOpen: true as const }) }
    // The member may have waited for its lease before this, and for what it had to read.
    const leftMs = claimableMs - sinceReceivedMs()
    if (leftMs <= 0) return { type: 'not-taken' }
    const announcingMs = stopwatch(clock)
    try {
      const announced = await withinTime(announceMs, announce(press, leftMs))
      if (announced === 'conflict') return { type: 'taken' }
      // Its time began when the store made that commit. The computer may have slept before, which no timer tells.
      if (announced === undefined || announcingMs() > announceMs) return { type: 'not-taken' }
      const answer = await withinTime(leftMs, storeAndWait(shardOf(place), press, leftMs))
      return answer ? resultOf(answer) : await withdraw(press)
    } catch (error) {
      onError(toError(error))
      return { type: 'unknown' }
    }
  }

  /**
   * Starts the time of `forMs` in which the press can be claimed. It is stored before the press: a commit that the network holds up may be
   * made much later, and the press must not be carried out then. Resolves with `conflict` if another member forwards it.
   */
  async function announce(press: ForwardedPress, forMs: number): Promise<'done' | 'conflict'> {
    const due = { type: 'put-if-absent', key: dueKey(press), value: member, expiresInMs: forMs } as const
    return (await state.commitWithoutLease([due], { survives: 'process' })) ? 'done' : 'conflict'
  }

  /** Stores the press, and resolves with its last answer if that comes within `forMs`. Never resolves without one. */
  async function storeAndWait(shard: string, press: ForwardedPress, forMs: number): Promise<PressAnswer> {
    const value = JSON.stringify(press)
    const row = { type: 'put', key: pressKey(press), value, expiresInMs: forMs } as const
    await stateOf(shard).commitWithoutLease([row], { survives: 'process', hint: `press/${shard}` })
    return await new Promise((resolve, reject) => {
      let stopTimer = (): void => {}
      const stop = (): void => {
        looks.delete(lookOnce)
        stopTimer()
      }
      const lookOnce = (): void => {
        void readAnswer(press).then((answer) => {
          if (answer === undefined || answer.type === 'claimed') return
          stop()
          resolve(answer)
        }, reject)
      }
      const lookAgain = (): void => {
        stopTimer = clock.after(lookMs, lookAgain)
        lookOnce()
      }
      looks.add(lookOnce)
      lookAgain()
      clock.after(forMs, stop)
    })
  }

  /** Reads the owner's answer. Undefined without one. */
  async function readAnswer(press: ForwardedPress): Promise<PressAnswer | undefined> {
    const stored = await state.read(pressAnswerKey(press))
    return stored === undefined ? undefined : toPressAnswer(stored)
  }

  /** Takes the press back, unless the owner has claimed it. */
  async function withdraw(press: ForwardedPress): Promise<ForwardedResult> {
    const own = { type: 'compare-and-set', key: dueKey(press), expected: member, value: undefined } as const
    const isWithdrawn = await withinTime(announceMs, state.commitWithoutLease([own], { survives: 'process' }))
    if (isWithdrawn === undefined) return { type: 'unknown' }
    if (isWithdrawn) return { type: 'not-taken' }
    // It was claimed, or its time is over. Then it can't be claimed any more.
    const answer = await withinTime(
      announceMs,
      readAnswer(press).then((read) => read ?? 'none'),
    )
    if (answer === 'none') return { type: 'not-taken' }
    return answer ? resultOf(answer) : { type: 'unknown' }
  }

  /** Resolves as the call does, or with undefined after `ms`. Rejects if the call rejects first. */
  async function withinTime<Result>(ms: number, call: Promise<Result>): Promise<Result | undefined> {
    let result: Result | undefined
    const stored = call.then((one) => {
      result = one
    })
    await waitAtMost(stored, ms, clock)
    return result
  }
}

/** Returns what an answer of the owner means for the person. */
function resultOf(answer: PressAnswer): ForwardedResult {
  switch (answer.type) {
    case 'claimed':
      return { type: 'taken' }
    case 'refused':
      return { type: 'not-taken' }
    case 'answered':
    case 'open':
      return answer
    default:
      return answer satisfies never
  }
}

/** Returns the fields of a press that can be stored. Its token is sealed, because the state must not have the secrets of buttons. */
function storedPress(inbound: InboundPress): StoredPress {
  if (inbound.type === 'stop') return inbound
  if (inbound.type === 'page') {
    const { answer: _, ...stored } = inbound
    return stored
  }
  const { answer: _, open: __, ...stored } = inbound
  return { ...stored, token: sealToken(stored.token) }
}
