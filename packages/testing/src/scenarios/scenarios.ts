import { isOpenCode2 } from '../generation.ts'
import type { Scenario } from '../scenario.ts'
import { unsupportedReason } from '../versions.ts'
import { basics } from './basics.ts'
import { children } from './children.ts'
import { ends } from './ends.ts'
import { failures } from './failures.ts'
import { secondScenarios } from './second.ts'
import { asks, compaction, tools } from './tools-and-asks.ts'

/** The scenarios that both generations of OpenCode are recorded with. */
export const scenarios: readonly Scenario[] = [
  ...basics,
  ...tools,
  ...asks,
  ...children,
  ...failures,
  ...compaction,
  ...ends,
]

/** Returns the scenarios that a server of this version plays, without those in `unsupported`. */
export const scenariosOf = (version: string): readonly Scenario[] =>
  [...scenarios, ...(isOpenCode2(version) ? secondScenarios : [])].filter(
    ({ name }) => unsupportedReason(version, name) === undefined,
  )
