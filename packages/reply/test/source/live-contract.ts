import { isOpenCode2 } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type ExistingSession, type SourceClauseName, type SourceStage, sourceContract } from '../../src/testing.ts'
import { openStage, type Stage } from '../drive/server.ts'
import { contractStage, delegated } from './live-stage.ts'

export const skippedBefore1_18_15: Partial<Record<SourceClauseName, string>> = {
  "keeps a message's id": 'Servers before 1.18.15 look for the newest message by its id.',
}

export const skippedBefore1_17: Partial<Record<SourceClauseName, string>> = {
  ...skippedBefore1_18_15,
  'refuses a prompt for a session that does not exist':
    'Servers before 1.17 answer 204 to a prompt for an unknown session, and run nothing.',
  'fails as gone for an ask that was answered': 'Servers before 1.17 answer 200 to a late answer, and change nothing.',
}

/** Runs the contract on a real server of its own. */
export function testSource(version: string, skip: Partial<Record<SourceClauseName, string>> = {}): void {
  describe(`OpenCode ${version}`, () => {
    let stage: Stage
    beforeAll(async () => {
      stage = await openStage({ version })
    })
    afterAll(async () => await stage.close())
    testSourceOn(() => stage, { version, skip })
  })
}

const onlySecond: Partial<Record<SourceClauseName, string>> = {
  'keeps a queued prompt behind a run, and lists it': 'OpenCode 1 begins every prompt at once.',
  'takes back a prompt that waits, once': 'OpenCode 1 begins every prompt at once.',
  'lists what is always allowed, and takes it back':
    'OpenCode 1 keeps it in memory until it ends, and lists it nowhere.',
}

/** Runs the contract on a real server. */
export function testSourceOn(
  stageNow: () => Stage,
  { version, skip = {} }: { readonly version: string; readonly skip?: Partial<Record<SourceClauseName, string>> },
): void {
  describe(`the source of OpenCode ${version}`, () => {
    let stage: Stage
    let existing: ExistingSession
    beforeAll(async () => {
      stage = stageNow()
      existing = await delegated(stage)
    })

    const setup = (): SourceStage => contractStage(stage, existing)
    const lacking = isOpenCode2(version) ? skip : { ...onlySecond, ...skip }
    for (const { name, run } of sourceContract({ name: version, setup, skip: lacking })) test(name, run)
  })
}
