import { openCode2Version } from './generation.ts'

/** The versions of OpenCode 1 that have recordings, oldest first. The one of OpenCode 2 is `openCode2Version`. */
export const recordedVersions = ['1.1.65', '1.2.27', '1.14.41', '1.17.19', '1.18.33'] as const

/** A scenario that a server can't play. */
export interface Unsupported {
  /** The server's version. */
  readonly version: string
  /** The name of the scenario. */
  readonly scenario: string
  /** Why not, in one sentence. */
  readonly reason: string
}

/** The scenarios that a server can't play, so they are not recorded with it. */
export const unsupported: readonly Unsupported[] = [
  ...['1.1.65', '1.2.27', '1.14.41'].map((version) => ({
    version,
    scenario: 'subagent-background',
    reason: 'Background sub-agents came with 1.15; earlier servers ignore the argument.',
  })),
  ...Object.entries({
    'tools-todos': 'OpenCode 2 has no checklist.',
    disposed: 'OpenCode 2 has no call that disposes of an instance.',
    'part-removed': 'OpenCode 2 has no call that removes a message or a part.',
    'permission-always': 'Its "always" covers the same command only: see permission-always-again.',
    'permission-always-parallel': 'Its "always" covers the same command only: see permission-always-again.',
    'subagent-resumed': 'Calls that name an earlier sub-agent came with 2.0; the preview build ignores the name.',
  }).map(([scenario, reason]) => ({ version: openCode2Version, scenario, reason })),
]

/** Why a scenario is not recorded with a version. Undefined if it is recorded. */
export const unsupportedReason = (version: string, scenario: string): string | undefined =>
  unsupported.find((each) => each.version === version && each.scenario === scenario)?.reason
