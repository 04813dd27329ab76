import { connectSource, createLocalAgent } from '@reply/core/source'
import { createHandClock, type HandClock } from '@reply/testing'
import { type FakeWhatsApp, startWhatsApp } from '@reply/testing/whatsapp'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Chats, startChats } from './chats.ts'
import { answer } from './local-agent.ts'
import { whatsappOn } from './platforms.ts'

const ann = '15550000001'
let clock: HandClock
let whatsapp: FakeWhatsApp
let chats: Chats
/** The prompts: the text of each, and how many files it has. */
let prompts: (readonly [string, number])[]
/** Whether the agent ends its runs. */
let answers: boolean

beforeEach(async () => {
  clock = createHandClock()
  whatsapp = await startWhatsApp({ token: 'EAA-very-secret', clock })
  prompts = []
  answers = true
  const { source } = createLocalAgent({
    ...{ name: 'an agent in the test', clock },
    capabilities: () => ({ takesPromptsWhileBusy: true }),
    create: ({ directory }) => ({ sessionID: 'ses_1', directory }),
    prompt: async (run, { text = '', files = [] }) => {
      prompts.push([text, files.length])
      if (answers) answer(run, 'Seen.')
    },
    cancel: (run) => run.end({ type: 'aborted' }),
  })
  chats = await startChats({
    platforms: [whatsappOn(whatsapp)],
    connectTo: () => connectSource(source, { clock }),
  })
  await chats.start({ clock })
})
afterEach(async () => {
  let isClosed = false
  void chats.close().then(() => {
    isClosed = true
  })
  await passes(() => isClosed)
})

/** Lets time pass until it is so. */
async function passes(isSo: () => boolean): Promise<void> {
  const began = clock.now()
  while (!isSo()) {
    if (clock.now() - began > 60_000) throw new Error(`It never happened: ${isSo}`)
    for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(100)
  }
}

/** Sends a picture, and resolves once the bridge has taken it. */
async function send(text = ''): Promise<void> {
  const file = { name: '', bytes: new TextEncoder().encode(`picture ${text}`), mime: 'image/png', isPicture: true }
  whatsapp.say(ann, text, { file })
  const isTaken = () => whatsapp.webhookCalls.every(({ status }) => status === 200)
  await expect.poll(isTaken).toBe(true)
}

test('pictures that a slow phone sends seconds apart are one prompt', async () => {
  await send('What are these?')
  for (let nth = 1; nth < 5; nth++) {
    await clock.advance(3000)
    await send()
  }
  await passes(() => prompts.length > 0)
  expect(prompts).toEqual([['What are these?', 5]])
})

describe('a picture that comes after its album began', () => {
  beforeEach(async () => {
    answers = false
    await send('What are these?')
    await passes(() => prompts.length === 1)
  })

  test('joins the run if it has no text', async () => {
    await send()
    await passes(() => prompts.length === 2)
    expect(prompts).toEqual([
      ['What are these?', 1],
      ['', 1],
    ])
  })

  test('waits for the end of the run if it has a text of its own', async () => {
    await send('And this?')
    const queuedAs = () => whatsapp.screen(ann).filter(({ from }) => from === 'business')
    await passes(() => queuedAs().length > 0)
    await clock.advance(10_000)
    expect(prompts).toEqual([['What are these?', 1]])
  })
})
