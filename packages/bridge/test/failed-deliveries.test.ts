import { afterEach, expect, test } from 'vitest'
import type { BridgeEvent } from '../src/events/event.ts'
import { StoreError } from '../src/store/store.ts'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

let open: HandDriven
afterEach(async () => await open.chats.close())

const post = /^send(Rich)?Message$/
const missing = 'may be missing here'

async function opened(
  events: BridgeEvent[] = [],
  options: Parameters<typeof startHandDriven>[1] = {},
): Promise<HandDriven> {
  open = await startHandDriven((run, text) => answer(run, `You said: ${text}.`), {
    ...options,
    observers: [(event) => events.push(event)],
  })
  return open
}

const notices = ({ said }: HandDriven): readonly string[] => said(1).filter((text) => text.includes(missing))
const copies = ({ said }: HandDriven): readonly string[] => said(1).filter((text) => text.includes('You said: one.'))
const listed = (events: readonly BridgeEvent[]): readonly number[] =>
  events.flatMap((event) => (event.type === 'failures' ? [event.deliveries] : []))

test('an answer whose posts had no result is told in its chat, which may have it posted again, once', async () => {
  const events: BridgeEvent[] = []
  const { telegram, chats, said, passes } = await opened(events)
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: post, times: 2 })
  telegram.say(1, 'one')
  await passes(() => notices(open).length > 0)
  expect(copies(open)).toEqual([])
  expect(chats.errors.filter((error) => 'type' in error && error.type === 'delivery')).toHaveLength(1)
  expect(listed(events)).toEqual([0, 1])
  telegram.say(1, '/resend')
  await passes(() => copies(open).length > 0)
  telegram.say(1, '/resend')
  await passes(() => said(1).includes('No answer is known to be missing here.'))
  expect([copies(open).length, notices(open).length]).toEqual([1, 1])
  expect(listed(events)).toEqual([0, 1, 0])
})

test('a run is listed as not delivered until its answer is posted again', async () => {
  const { telegram, said, passes } = await opened()
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: post, times: 2 })
  telegram.say(1, 'one')
  await passes(() => notices(open).length > 0)
  telegram.say(1, '/status')
  await passes(() => said(1).some((text) => text.startsWith('⚠️ Not delivered')))
  telegram.say(1, '/resend')
  await passes(() => copies(open).length > 0)
  telegram.say(1, '/status')
  await passes(() => said(1).some((text) => text.startsWith('✅ Complete')))
})

test('a chat that answers nothing is told by the next process, once it answers', async () => {
  const { telegram, chats, clock, passes } = await opened()
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: post, times: 8 })
  telegram.say(1, 'one')
  await passes(() => chats.errors.some((error) => 'type' in error && error.type === 'delivery'))
  await open.stop()
  expect(notices(open)).toEqual([])
  await chats.start({ clock })
  await passes(() => notices(open).length > 0)
  telegram.say(1, '/resend')
  await passes(() => copies(open).length > 0)
  expect([notices(open).length, copies(open).length]).toEqual([1, 1])
})

test('a person of the chat without the right to prompt there has nothing posted again', async () => {
  const { telegram, chats, said, passes } = await opened()
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: post, times: 2 })
  telegram.say(1, 'one')
  await passes(() => notices(open).length > 0)
  chats.setPeople({ ann: { ids: ['telegram:1'], may: ['admin'] } })
  telegram.say(1, '/resend')
  await passes(() => said(1).some((text) => text.includes('right `prompt`') || text.includes('right prompt')))
  expect(copies(open)).toEqual([])
})

test('what can’t be posted again stays listed', async () => {
  const { telegram, said, passes } = await opened()
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: post, times: 2 })
  telegram.say(1, 'one')
  await passes(() => notices(open).length > 0)
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: post })
  telegram.say(1, '/resend')
  await passes(() => said(1).some((text) => text.startsWith('It could not be posted, so it stays in the list')))
  expect(copies(open)).toEqual([])
  telegram.say(1, '/resend')
  await passes(() => copies(open).length > 0)
})

test('an answer is posted again once, also if the state can not be written right after', async () => {
  let failures = 2
  const { telegram, said, passes } = await opened([], {
    storeOf: (store) => ({
      ...store,
      commit: async (writes, lease, how) => {
        const isDone = writes.some((write) => write.type === 'remove' && write.key.startsWith('failed/'))
        if (isDone && failures-- > 0) throw new StoreError('failed', 'The disk is full.')
        return await store.commit(writes, lease, how)
      },
    }),
  })
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: post, times: 2 })
  telegram.say(1, 'one')
  await passes(() => notices(open).length > 0)
  telegram.say(1, '/resend')
  await passes(() => failures < 0)
  telegram.say(1, '/resend')
  await passes(() => said(1).includes('No answer is known to be missing here.'))
  expect([copies(open).length, said(1).filter((text) => text.startsWith('It could not'))]).toEqual([1, []])
})

test('an answer that a group misses is posted again where the group became a supergroup', async () => {
  const { telegram, said, passes } = await opened([], { groups: [-5, -1005] })
  telegram.inject({ type: 'status', code: 502, chatId: -5, method: post, times: 2 })
  const ann = { id: 1, name: 'Ann' }
  telegram.say(-5, '@fake_bot one', { from: ann })
  await passes(() => said(-5).some((text) => text.includes(missing)))
  telegram.upgrade(-5, -1005)
  telegram.push('message', {
    ...{ message_id: 900, date: 1_767_225_600, from: { id: 1, is_bot: false, first_name: 'Ann' } },
    ...{ chat: { id: -5, type: 'group', title: 'Shop' }, migrate_to_chat_id: -1005 },
  })
  telegram.say(-1005, '/resend@fake_bot', { from: ann })
  await passes(() => said(-1005).some((text) => text.includes('You said: one.')))
  expect(said(-1005)).toEqual([expect.stringContaining('You said: one.')])
})

test('the words of a run that failed are kept like an answer if the chat does not take them', async () => {
  open = await startHandDriven(() => {}, {
    changed: (opencode) => ({
      ...opencode,
      prompt: () => {
        throw new Error('The agent is out of order.')
      },
    }),
  })
  const { telegram, chats, said, passes } = open
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: post })
  telegram.say(1, 'one')
  await passes(() => notices(open).length > 0)
  expect(said(1)).toEqual(notices(open))
  expect(chats.errors.filter((error) => 'type' in error && error.type === 'delivery')).toHaveLength(1)
  telegram.say(1, '/resend')
  await passes(() => said(1).some((text) => text.includes('The agent is out of order.')))
})

test('a prompt that may have run before a restart counts as failed until its person decides', async () => {
  const events: BridgeEvent[] = []
  const prompts = () => events.flatMap((event) => (event.type === 'failures' ? [event.prompts] : []))
  const observers = [(event: BridgeEvent) => void events.push(event)]
  open = await startHandDriven(() => {}, {
    changed: (opencode) => ({ ...opencode, resume: async () => ({ type: 'unknown' }) }),
  })
  const { telegram, chats, clock, heard, said, passes } = open
  telegram.say(1, 'one')
  await passes(() => heard.length > 0)
  await open.stop()
  await chats.start({ clock, observers })
  await passes(() => said(1).some((text) => text.endsWith('Run it again?')))
  await passes(() => prompts().length > 0)
  const asked = telegram.screen(1).find(({ text }) => text.endsWith('Run it again?'))
  telegram.press(1, asked?.messageId ?? 0, 'Leave it')
  await passes(() => prompts().at(-1) === 0)
  // Each shard is counted once it is restored, and most have no failures.
  expect(prompts()).toEqual([0, 1, 0])
})
