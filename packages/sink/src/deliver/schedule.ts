import type { Clock } from '@reply/core'
import type { Policy } from '../config.ts'
import { backOffMs } from '../pause.ts'
import type { Limits } from '../port/limits.ts'
import type { PortError } from '../port/port-error.ts'
import type { Mode } from '../view/view.ts'
import type { Operation } from './operation.ts'
import { type ChatPace, heed } from './pace.ts'

export interface ScheduleOptions {
  readonly pace: ChatPace
  readonly policy: Policy
  readonly limits: Limits
  readonly mode: Mode
  readonly clock: Clock
}

/** When each operation of one reply may be sent. */
export interface Schedule {
  /** In ms since the epoch; a past time means now. */
  readyAt(operation: Operation): number
  /** A call failed recently, so calls are held back for a while. */
  isHeldBack(): boolean
  succeeded(): void
  failed(error: PortError): void
}

/** Minimum time between appended texts, in ms. */
const appendMs = 1000

export function createSchedule({ pace, policy, limits, mode, clock }: ScheduleOptions): Schedule {
  const intervalMs = Math.max(policy.editIntervalMs ?? limits.editIntervalMs, mode === 'append' ? appendMs : 0)
  const firstSeen = new Map<string, number>()
  let writtenAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let retryAt = 0
  return { readyAt, isHeldBack: () => retryAt > clock.now(), succeeded, failed }

  /** Growing text keeps the platform's interval; final text and asks do not wait for it. */
  function readyAt(operation: Operation): number {
    const { priority } = operation
    const at = Math.max(pace.readyAt(priority), retryAt)
    if ((priority !== 'text' && priority !== 'status') || operation.type === 'remove') return at
    const isFirst = operation.type === 'post' && operation.slot.isGrowing
    const gathered = isFirst ? seenAt(operation.slot.key) + policy.firstFlushMs : 0
    return Math.max(at, writtenAt + intervalMs, gathered)
  }

  function seenAt(key: string): number {
    const at = firstSeen.get(key) ?? clock.now()
    firstSeen.set(key, at)
    return at
  }

  function succeeded(): void {
    failures = 0
    writtenAt = clock.now()
  }

  function failed(error: PortError): void {
    writtenAt = clock.now()
    heed(pace, error)
    if (error.type !== 'unreachable' && error.type !== 'ambiguous') return
    retryAt = clock.now() + backOffMs(failures)
    failures += 1
  }
}
