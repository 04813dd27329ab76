import { afterEach, expect, test } from 'vitest'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

let open: HandDriven
afterEach(async () => await open.chats.close())

test('what came while the bridge was down is listed as soon as its chat answers', async () => {
  open = await startHandDriven((run) => answer(run, 'Done.'), { router: { backlog: 'none' } })
  const { telegram, chats, clock, heard, said, passes } = open
  await chats.stop()
  telegram.say(1, 'one')
  await clock.advance(600_000)
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: /^send(Rich)?Message$/, times: 4 })
  await chats.start({ clock, router: { backlog: 'none' } })
  await passes(() => said(1).length > 0)
  expect(said(1).join()).toContain('This message was sent while the bridge was down')
  expect(heard).toEqual([])
  expect(said(1)).toHaveLength(1)
})

test('a command that came while the bridge was down is told as not carried out, once its chat answers', async () => {
  open = await startHandDriven((run) => answer(run, 'Done.'))
  const { telegram, chats, clock, said, passes } = open
  await chats.stop()
  telegram.say(1, '/new')
  await clock.advance(600_000)
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: /^send(Rich)?Message$/, times: 4 })
  await chats.start({ clock })
  await passes(() => said(1).length > 0)
  telegram.say(1, '/resend')
  await passes(() => said(1).some((text) => text.includes('so it was not run')))
  expect(said(1).filter((text) => text.includes('so it was not run'))).toHaveLength(1)
})
