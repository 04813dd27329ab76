/** The servers of the recordings, oldest first. */
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

/** What a server can't do, so that it is not recorded with it. */
export const unsupported: readonly Unsupported[] = ['1.1.65', '1.2.27', '1.14.41'].map((version) => ({
  version,
  scenario: 'subagent-background',
  reason: 'Background sub-agents came with 1.15; earlier servers ignore the argument.',
}))

/** Why a scenario is not recorded with a version; undefined if it is recorded. */
export const unsupportedReason = (version: string, scenario: string): string | undefined =>
  unsupported.find((each) => each.version === version && each.scenario === scenario)?.reason
