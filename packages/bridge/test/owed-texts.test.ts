import { afterEach, expect, test } from 'vitest'
import { type HandDriven, startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

let open: HandDriven
afterEach(async () => await open.chats.close())

const post = /^send(Rich)?Message$/

test('a run that failed while its chat did not answer is told by the next process', async () => {
  open = await startHandDriven(() => {}, {
    changed: (opencode) => ({
      ...opencode,
      prompt: () => {
        throw new Error('The agent is out of order.')
      },
    }),
  })
  const { telegram, chats, clock, said, passes } = open
  telegram.inject({ type: 'stall', chatId: 1, method: post })
  telegram.say(1, 'one')
  await passes(() => telegram.calls.some(({ method }) => post.test(method)))
  await open.stop()
  await chats.start({ clock })
  await passes(() => said(1).length > 0)
  telegram.say(1, '/resend')
  await passes(() => said(1).some((text) => text.includes('The agent is out of order.')))
  expect(said(1).filter((text) => text.includes('The agent is out of order.'))).toHaveLength(1)
})

test('a prompt that waited and is not run is told by the next process, if its chat did not answer', async () => {
  let end = (): void => {}
  open = await startHandDriven((run) => {
    end = () => answer(run, 'Done.')
  })
  const { telegram, chats, clock, heard, said, passes } = open
  telegram.say(1, 'one')
  await passes(() => heard.length === 1)
  telegram.say(1, 'two')
  await passes(() => said(1).some((text) => text.startsWith('Queued')))
  chats.setPeople({ bob: { ids: ['telegram:2'], may: ['prompt'] } })
  // The answer's own post, and then the words.
  telegram.inject({ type: 'stall', chatId: 1, method: post, nth: 2 })
  const before = telegram.calls.filter(({ method }) => post.test(method)).length
  end()
  await passes(() => telegram.calls.filter(({ method }) => post.test(method)).length === before + 2)
  await open.stop()
  await chats.start({ clock })
  await passes(() => said(1).some((text) => text.includes('may be missing here')))
  telegram.say(1, '/resend')
  await passes(() => said(1).some((text) => text.includes('Not run')))
  expect(said(1).filter((text) => text.includes('Not run'))).toHaveLength(1)
})

test('the question whether to run a prompt again has its buttons also if it is posted again', async () => {
  open = await startHandDriven(() => {}, {
    changed: (opencode) => ({ ...opencode, resume: async () => ({ type: 'unknown' }) }),
  })
  const { telegram, chats, clock, heard, said, passes } = open
  telegram.say(1, 'one')
  await passes(() => heard.length === 1)
  await open.stop()
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: post })
  await chats.start({ clock })
  await passes(() => said(1).some((text) => text.includes('may be missing here')))
  telegram.say(1, '/resend')
  await passes(() => said(1).some((text) => text.includes('Run it again?')))
  const [question] = telegram.screen(1).filter(({ text }) => text.includes('Run it again?'))
  telegram.press(1, question?.messageId ?? 0, 'Run it again')
  await passes(() => heard.length === 2)
  expect(heard).toEqual(['one', 'one'])
})
