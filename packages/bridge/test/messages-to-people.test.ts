import { ReplyError } from '@reply/core'
import { afterEach, expect, test } from 'vitest'
import { StoreError } from '../src/store/store.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

let open: HandDriven
afterEach(async () => await open.chats.close())

const echo: Parameters<typeof startHandDriven>[0] = (run, text) => answer(run, `You said: ${text}.`)

test('a command that came while the bridge was down is not carried out, and its person is told so', async () => {
  open = await startHandDriven(echo)
  const { telegram, clock, said, passes } = open
  telegram.say(1, 'first')
  await passes(() => said(1).includes('You said: first.'))
  telegram.push('message', {
    ...{ message_id: 700_000, date: Math.floor(clock.now() / 1000) - 600, text: '/new Another' },
    ...{ chat: { id: 1, type: 'private' }, from: { id: 1, is_bot: false, first_name: 'Ann' } },
    entities: [{ type: 'bot_command', offset: 0, length: 4 }],
  })
  await passes(() => said(1).some((text) => text.startsWith('This command was sent while the bridge was down')))
  telegram.say(1, '/sessions')
  await passes(() => said(1).some((text) => text.startsWith('Sessions:')))
  expect(said(1).join()).toContain('This command was sent while the bridge was down, so it was not run.')
  expect(said(1).join()).not.toContain('The next message starts')
})

test('a chat without a server is told its id for the routes, and nothing runs', async () => {
  open = await startHandDriven(echo, { routes: { 'telegram:1': 'home' } })
  const { telegram, heard, said, passes } = open
  telegram.say(2, 'lost')
  telegram.say(2, '/fork')
  await passes(() => said(2).length === 2)
  const cure = 'No server is configured for this chat. Ask the operator to add telegram:2 to routes in the config.'
  expect(said(2)).toEqual([cure, cure])
  telegram.say(1, 'found')
  await passes(() => said(1).includes('You said: found.'))
  expect(heard).toEqual(['found'])
})

test('the commands stand in the menu of a platform that has one', async () => {
  open = await startHandDriven(echo)
  await open.passes(() => open.telegram.commands.length > 0)
  const names = open.telegram.commands.map(({ command }) => command)
  open.telegram.say(1, '/help')
  await open.passes(() => open.said(1).length > 0)
  for (const name of names) expect(open.said(1)[0]).toContain(`/${name}`)
  expect(names).toEqual(expect.arrayContaining(['start', 'help', 'new', 'sessions', 'switch', 'current', 'status']))
  expect(names).toEqual(expect.arrayContaining(['logs', 'list', 'cancel', 'stop', 'interrupt', 'queue', 'steer']))
  expect(names).toEqual(expect.arrayContaining(['fork', 'undo', 'compact', 'model', 'agent', 'verbose']))
})

test('a bridge whose state another process took over runs nothing that it hears then', async () => {
  const ends: string[] = []
  let isTaken = false
  open = await startHandDriven(echo, {
    onEnd: () => ends.push('ended'),
    storeOf: (store) => ({
      ...store,
      beat: async (request) => (isTaken ? { type: 'refused', reason: 'full' } : await store.beat(request)),
      commit: async (writes, lease, options) =>
        isTaken ? { type: 'fenced' } : await store.commit(writes, lease, options),
    }),
  })
  const { telegram, heard, said, passes } = open
  telegram.say(1, 'before')
  await passes(() => said(1).includes('You said: before.'))
  isTaken = true
  telegram.say(1, 'after')
  await passes(() => ends.length > 0)
  expect(ends).toEqual(['ended'])
  expect(heard).toEqual(['before'])
  expect(said(1)).not.toContain('You said: after.')
})

test('a list keeps its buttons if a press on it fails, so that the person can try again', async () => {
  const fails = { server: false, state: false }
  open = await startHandDriven(echo, {
    changed: (opencode) => ({
      ...opencode,
      sessions: async (...given) => {
        if (fails.server) throw new ReplyError('unreachable', 'no network')
        return await opencode.sessions(...given)
      },
    }),
    storeOf: (store) => ({
      ...store,
      commit: async (writes, ...more) => {
        if (fails.state && writes.some((write) => 'key' in write && write.key.includes('pressed/')))
          throw new StoreError('failed', 'The disk is full.')
        return await store.commit(writes, ...more)
      },
    }),
  })
  const { telegram, said, passes } = open
  for (let nth = 1; nth <= 9; nth++) {
    telegram.say(1, '/new')
    telegram.say(1, `nth ${nth}`)
    await passes(() => said(1).includes(`You said: nth ${nth}.`))
  }
  telegram.say(1, '/sessions')
  const list = () => telegram.screen(1).find(({ text }) => text.startsWith('Sessions'))
  await passes(() => list() !== undefined)
  const press = async (label: string): Promise<void> => {
    const pressed = telegram.press(1, list()?.messageId ?? 0, label)
    await passes(() => pressed.status !== 'waiting')
  }
  const failures = (): readonly string[] => said(1).filter((text) => text.startsWith('That failed'))
  const labels = list()?.buttons

  fails.server = true
  await press('Older ›')
  await passes(() => failures().length === 1)
  await press('2')
  await passes(() => failures().length === 2)
  fails.server = false
  fails.state = true
  await press('2')
  await passes(() => failures().length === 3)
  fails.state = false
  expect(list()?.buttons).toEqual(labels)
  expect(failures().join()).toMatch(/server can’t be reached.*server can’t be reached.*can’t use its state/)

  await press('Older ›')
  await passes(() => list()?.text.includes('2 of 2') === true)
  await press('9')
  await passes(() => said(1).some((text) => text.startsWith('This chat now continues')))
  expect(list()).toBeUndefined()
})
