/**
 * @file The rules by which a row is put aside. For example, a message ends each process 3 s after it was begun. A process
 * outlives it for 0.5 s, 1 s and 2 s, which takes it from level 0 to level 3. Outliving it for 4 s would take it to level 4. But each
 * process ends after 3 s, in the second part of these 4 s, which gives it a point. With 10 points, it is put aside.
 */
import type { Suspicion } from '../state/decode.ts'

/** How long a process must outlive a row at level 0, in ms. Each further level takes twice as long. */
const firstMs = 500
/** How many levels there are. A row that was outlived at the last one, for 64 s, is not suspected any more. */
const levels = 8
/** With how many points a row is put aside at level 0. */
const firstPoints = 5
/** With how many points at level 1. Each further level needs one more, because more processes end by chance in a longer time. */
const laterPoints = 8
/** How many points a row loses by an end that it can't have caused. */
const pointsBack = 2
/**
 * The first part of a level's time, in which an end takes points back: processes have outlived the row for half of the time at the
 * level before. The rest is a margin, because the same cause may take a little less time.
 */
const earlyPart = 0.4
/** From this level on, a row waits for its turn only with more points than its level, because people would notice the wait. */
const patientLevel = 4
/** How many points before it is put aside a row is begun alone. */
const alonePoints = 2

/** What is known of a row before any process has ended. */
export const unsuspected: Suspicion = { level: 0, points: 0 }

/** How long a process must outlive the row for the next level, in ms from when it began it. Undefined after the last level. */
export function surviveMs({ level }: Suspicion): number | undefined {
  return level < levels ? firstMs * 2 ** level : undefined
}

/** From when on an end of the process gives a point, in ms from when it began the row. */
export function lateMs(row: Suspicion): number {
  return row.level === 0 ? 0 : (surviveMs(row) ?? 0) * earlyPart
}

/**
 * Returns what is known once this process has outlived the row at its level. It is past the first part of the next one already, so
 * that its end gives a point there.
 */
export function survived(row: Suspicion, by: string): Suspicion {
  return { ...row, level: row.level + 1, points: 0, stage: 'late', by }
}

/**
 * Returns what is known after the process ended that handled the row. `process` is this process. It may be the same one, for
 * example after the database was gone for a while: then none has ended.
 */
export function afterEnd({ stage, by, ...row }: Suspicion, process: string): Suspicion {
  const { level, points } = row
  if (stage === undefined || by === process || level >= levels) return row
  // At level 0, each end after the row was begun may be its doing. At others, one that is too early has another cause.
  if (stage === 'late' || (stage === 'begun' && level === 0)) return { ...row, points: points + 1 }
  return points === 0 ? { ...row, level: Math.max(0, level - 1) } : { ...row, points: Math.max(0, points - pointsBack) }
}

/** With how many points the row is put aside. */
function pointsNeeded({ level }: Suspicion): number {
  return level === 0 ? firstPoints : laterPoints + level - 1
}

/** Whether the row ends each process that handles it. */
export function isPoison(row: Suspicion): boolean {
  return row.level < levels && row.points >= pointsNeeded(row)
}

/** With how many points the row does not wait for its turn yet. */
function freePoints({ level }: Suspicion): number {
  return level < patientLevel ? 0 : level
}

/** Whether the row waits for its turn, see `Turns`. */
export function isHeld(row: Suspicion): boolean {
  return row.points > freePoints(row) && row.level < levels
}

/** How many of the waiting rows are begun together if this is one of them: a quarter with one point, a sixteenth with two, and so on down to one. */
export function togetherWith(row: Suspicion, held: number): number {
  if (row.points >= pointsNeeded(row) - alonePoints) return 1
  return Math.max(1, Math.floor(held / 4 ** (row.points - freePoints(row))))
}
