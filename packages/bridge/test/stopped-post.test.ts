import type { Client } from '@reply/core'
import { withResolvers } from '@reply/sink/internal'
import { afterEach, expect, test } from 'vitest'
import { toExecution } from '../src/state/decode.ts'
import type { Store, Write } from '../src/store/store.ts'
import { texts } from '../src/texts.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'
import { keyWithoutShard } from './shard-rows.ts'

let open: HandDriven
afterEach(async () => await open.chats.close())

const isPosting = (write: Write): boolean =>
  write.type === 'put' && keyWithoutShard(write.key).startsWith('execution/') && write.value.includes('"posting"')

/** Ann writes "one" and then `/stop`. What is done right before the prompt is posted is held: its checks, or the commit after them. */
async function stopWhilePosting(held: 'checks' | 'commit') {
  const release = withResolvers<void>()
  let isHolding = false
  let stored: Store | undefined
  const hold = async (what: typeof held): Promise<void> => {
    if (isHolding || what !== held) return
    isHolding = true
    await release.promise
  }
  const changed = (client: Client): Client => ({
    ...client,
    prompt: (input, { onPosting, ...options } = {}) =>
      client.prompt(input, {
        ...options,
        onPosting: async (posted) => {
          await hold('checks')
          await onPosting?.(posted)
        },
      }),
  })
  open = await startHandDriven((run, text) => answer(run, `You said: ${text}.`), {
    changed,
    storeOf: (store) => {
      stored = store
      return {
        ...store,
        commit: async (writes, ...given) => {
          if (writes.some(isPosting)) await hold('commit')
          return await store.commit(writes, ...given)
        },
      }
    },
  })
  open.telegram.say(1, 'one')
  await open.passes(() => isHolding)
  open.telegram.say(1, '/stop')
  /** The phase and status of each run, by its prompt. */
  const ends = async (): Promise<unknown> => {
    const rows = (await stored?.list('execution/')) ?? []
    const executions = rows.map(({ value }) => toExecution(value))
    return Object.fromEntries(executions.map(({ prompt, phase, status }) => [prompt.text, [phase, status]]))
  }
  return { ...open, release: release.resolve, ends }
}

test('a run that is stopped before its prompt is posted stays over when the checks of its post end later', async () => {
  const { telegram, said, heard, passes, release, ends } = await stopWhilePosting('checks')
  await passes(() => said(1).includes(texts.canceled))
  release()
  telegram.say(1, 'two')
  await passes(() => said(1).includes('You said: two.'))
  expect(heard).toEqual(['two'])
  expect(await ends()).toEqual({ one: ['done', 'stopped'], two: ['done', 'complete'] })
})

test('a run that is stopped while the post of its prompt is being stored is over after that', async () => {
  const { telegram, said, passes, release, ends } = await stopWhilePosting('commit')
  const polls = telegram.count('getUpdates')
  await passes(() => telegram.count('getUpdates') > polls + 20)
  release()
  await passes(() => said(1).includes(texts.canceled))
  telegram.say(1, 'two')
  await passes(() => said(1).includes('You said: two.'))
  expect(await ends()).toEqual({ one: ['done', 'stopped'], two: ['done', 'complete'] })
})
