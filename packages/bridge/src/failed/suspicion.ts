import type { Suspicion } from '../state/decode.ts'

/** How long a row must be survived at level 0, in ms. Each further level takes twice as long. */
const firstMs = 500
/** How many levels there are. Surviving the last one, 64 s, clears a row for good. */
const levels = 8
/** How many points put a row aside at level 0. */
const firstPoints = 5
/** How many points do at level 1. Each further level needs one more, because more processes end by chance in a longer time. */
const laterPoints = 8
/** How many points an end takes back that the row can't have caused. */
const pointsBack = 2
/** An end in this first part of the time of a level is earlier than that of the level before, which the row has survived. */
const earlyPart = 0.4
/** From this level on, a row waits only with more points than its level: people would notice the wait. */
const patientLevel = 4
/** The last points are only given to a row that was handled alone. */
const alonePoints = 2

/** What is known of a row before any process has ended. */
export const unsuspected: Suspicion = { level: 0, points: 0 }

/** How long a process must outlive the beginning of the row to reach the next level, in ms. Undefined at the last level. */
export function surviveMs({ level }: Suspicion): number | undefined {
  return level < levels ? firstMs * 2 ** level : undefined
}

/** When an end begins to count, in ms after the beginning. */
export function lateMs(row: Suspicion): number {
  return row.level === 0 ? 0 : (surviveMs(row) ?? 0) * earlyPart
}

/** Returns what is known once this process has outlived the time of a level. At the next one, its end counts from then on. */
export function survived({ level }: Suspicion, by: string): Suspicion {
  return { level: level + 1, points: 0, stage: 'late', by }
}

/**
 * Returns what is known after the process has ended that handled the row. The same process may still be there, for example
 * after the database was gone for a while. Then it did not end.
 */
export function afterEnd({ level, points, stage, by }: Suspicion, process: string): Suspicion {
  if (stage === undefined || by === process || level >= levels) return { level, points }
  // What kills at level 0 kills at once. At others, an end that comes too early has another cause, as has one before the row.
  if (stage === 'late' || (stage === 'begun' && level === 0)) return { level, points: points + 1 }
  return points === 0 ? { level: Math.max(0, level - 1), points } : { level, points: Math.max(0, points - pointsBack) }
}

/** How many points put the row aside. */
function pointsNeeded({ level }: Suspicion): number {
  return level === 0 ? firstPoints : laterPoints + level - 1
}

/** Whether the row ends each process that handles it. */
export function isPoison(row: Suspicion): boolean {
  return row.level < levels && row.points >= pointsNeeded(row)
}

/** With how many points the row is still begun at once. */
function freePoints({ level }: Suspicion): number {
  return level < patientLevel ? 0 : level
}

/** Whether the row waits until others with as much suspicion are not being begun. */
export function isHeld(row: Suspicion): boolean {
  return row.points > freePoints(row) && row.level < levels
}

/** How many of the held rows are begun together with this one: each point divides them further. */
export function togetherWith(row: Suspicion, held: number): number {
  if (row.points >= pointsNeeded(row) - alonePoints) return 1
  return Math.max(1, Math.floor(held / 4 ** (row.points - freePoints(row))))
}
