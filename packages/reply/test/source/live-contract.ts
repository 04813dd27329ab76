import { openCode2Password } from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { textOf } from '../../src/index.ts'
import { createOpenCode } from '../../src/source/detect.ts'
import { toAddress } from '../../src/source/http/address.ts'
import type { Source } from '../../src/source.ts'
import { type ExistingSession, type SourceClauseName, type SourceStage, sourceContract } from '../../src/testing.ts'
import { openStage, type Stage } from '../drive/server.ts'

/** A source at an address. */
export function sourceAt(
  url: string,
  call: typeof fetch = (input, init) => fetch(input, init),
  password?: string,
): Source {
  return createOpenCode({
    address: toAddress({ url, password }),
    fetch: call,
    clock: systemClock,
    deadlineMs: 60_000,
    maxAnswerBytes: 64 * 1024 * 1024,
    onError: (error) => {
      throw error
    },
  })
}

/** No server listens on the discard port. */
export const nowhere = 'http://127.0.0.1:9'

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

    const setup = (): SourceStage => {
      const source = sourceAt(stage.server.url, undefined, isOpenCode2(version) ? openCode2Password : undefined)
      return {
        source,
        unreachable: sourceAt(nowhere),
        directory: stage.server.directory,
        existing,
        prompts: {
          plain: { text: 'Go. [scenario:plain]', answer: 'Hello there.' },
          endless: '[scenario:forever]',
          permission: '[scenario:permission]',
          always: '[scenario:always]',
          unasked: '[scenario:writes]',
          question: '[scenario:question]',
          delegate: '[scenario:child]',
          command: 'greet',
        },
        close: async () => source.close(),
      }
    }
    const lacking = isOpenCode2(version) ? skip : { ...onlySecond, ...skip }
    for (const { name, run } of sourceContract({ name: version, setup, skip: lacking })) test(name, run)
  })
}

/** A session with a sub-agent and then a second run. */
async function delegated({ opencode }: Stage): Promise<ExistingSession> {
  const stream = opencode.prompt({ text: '[scenario:child]' })
  for await (const { ask } of stream.filter(['permissionAsked', 'askChanged'])) {
    if (ask.type !== 'permission' || !ask.call) continue
    await opencode.answer(ask, 'once')
    break
  }
  const first = await stream.result
  const { sessionID } = first
  const second = await opencode.prompt({ text: '[scenario:plain]', sessionID }).result
  const ids = [first, second].flatMap(({ promptIDs, messages }) => [...promptIDs, ...messages.map(({ id }) => id)])
  const childIDs = first.children.map((child) => child.reply.sessionID)
  return { sessionID, messageIDs: ids, answer: textOf(second), childIDs }
}
