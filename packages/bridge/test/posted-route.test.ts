import type { Client } from '@reply/core'
import { afterEach, expect, test } from 'vitest'
import { toRoute } from '../src/state/decode.ts'
import type { Store } from '../src/store/store.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

let open: HandDriven
afterEach(async () => await open.chats.close())

/** Ann writes "one". Right before that is posted, she writes a command, and it is posted once she is told `done`. */
async function chooseBeforePost(command: string, done: RegExp) {
  let stored: Store | undefined
  let isChosen = false
  const changed = (client: Client): Client => ({
    ...client,
    prompt: (input, { onPosting, ...options } = {}) =>
      client.prompt(input, {
        ...options,
        onPosting: async (posted) => {
          if (!isChosen) open.telegram.say(1, command)
          isChosen = true
          while (!open.said(1).some((text) => done.test(text))) await new Promise((resolve) => setImmediate(resolve))
          await onPosting?.(posted)
        },
      }),
  })
  open = await startHandDriven((run, text) => answer(run, `You said: ${text}.`), {
    changed,
    storeOf: (store) => {
      stored = store
      return store
    },
  })
  open.telegram.say(1, 'one')
  await open.passes(() => open.said(1).includes('You said: one.'))
  return toRoute((await stored?.read('route/telegram/1/')) ?? expect.fail('The chat has no route.'))
}

test('what is chosen while a prompt waits to be posted stays, and the chat works with the session of the prompt', async () => {
  const route = await chooseBeforePost('/verbose on', /Tool calls are shown with/)
  expect(route).toMatchObject({ isVerbose: true, sessionID: 'ses_1' })
})

test('a session that is begun while a prompt waits to be posted stays the next one', async () => {
  const route = await chooseBeforePost('/new Plans', /Plans/)
  expect(route).toMatchObject({ title: 'Plans' })
  expect(route.sessionID).toBeUndefined()
  open.telegram.say(1, 'two')
  await open.passes(() => open.said(1).includes('You said: two.'))
  expect(open.heard).toEqual(['one', 'two'])
})
