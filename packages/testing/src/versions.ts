/** The servers of the recordings, oldest first. */
export const recordedVersions = ['1.1.65', '1.2.27', '1.14.41', '1.17.19', '1.18.33'] as const

export interface Unsupported {
  readonly version: string
  readonly scenario: string
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
