import { afterEach, expect, test } from 'vitest'
import type { Store, StoredValue } from '../src/store/store.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

let open: HandDriven
afterEach(async () => await open.chats.close())

/** The state as a process leaves it that is killed while a session does something by itself. */
function asWake(store: Store): Store {
  let left: string | undefined
  const list: Store['list'] = async (prefix) => {
    const stored = await store.list(prefix)
    if (!prefix.startsWith('execution/')) return stored
    const ledgers = await store.list('ledger/')
    const startedBy = ledgers.flatMap(({ key }) => (/ses_1\/([^/]+)$/.exec(key) ?? [])[1] ?? [])[0]
    return stored.map((row): StoredValue => {
      const { posted: _, finishedAt: __, ...execution } = JSON.parse(row.value)
      left ??= row.value
      if (row.value !== left) return row
      const value = JSON.stringify({ ...execution, phase: 'delivering', status: 'running', startedBy })
      return { ...row, value }
    })
  }
  return { ...store, list }
}

test('what a session did by itself while the bridge was down is told below what is there', async () => {
  open = await startHandDriven((run) => answer(run, 'Working on it.'))
  const { chats, clock, said, telegram, passes } = open
  telegram.say(1, 'one')
  await passes(() => said(1).includes('Working on it.'))
  await clock.advance(5000)
  await chats.stop()
  await chats.start({ clock, storeOf: asWake })
  await passes(() => said(1).some((text) => text.includes('was down when this ended')))
  // By the run's own sink: what is there stays, and nothing is at work.
  expect(said(1)).toEqual(['Working on it.', expect.stringMatching(/^⚠️ Failed: The bridge was down when/)])
})
