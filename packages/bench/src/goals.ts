import type { Goal } from './goal.ts'
import { byteGoals } from './goals/bytes.ts'

/** All that is measured, in the order of the table. */
export const goals: readonly Goal[] = [...byteGoals]
