import type { Scenario } from '../scenario.ts'
import { asks } from './asks.ts'
import { basics } from './basics.ts'
import { children } from './children.ts'
import { compaction } from './compaction.ts'
import { ends } from './ends.ts'
import { failures } from './failures.ts'
import { tools } from './tools.ts'

/** Every scenario that recordings are made of. */
export const scenarios: readonly Scenario[] = [
  ...basics,
  ...tools,
  ...asks,
  ...children,
  ...failures,
  ...compaction,
  ...ends,
]
