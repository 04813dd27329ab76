import { callTool, type Scripts, sayText, scenarioToken } from '@reply/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type BridgeStage, crowdIn, startStage } from './stage.ts'

const scripts: Scripts = {
  hello: { steps: [[sayText('Hello to you.')]], summary: [sayText(`They said hello. ${scenarioToken('hello')}`)] },
  again: { steps: [[sayText('Again, hello.')]] },
  write: {
    steps: [
      [callTool('write', { filePath: 'src/new file.txt', content: 'one\ntwo\n' })],
      [callTool('write', { filePath: 'made.txt', content: 'three\n' })],
      [sayText('Both are there.')],
    ],
  },
  tool: { steps: [[callTool('bash', { command: 'echo sum | tr a-z A-Z', description: 'Say' })], [sayText('Said.')]] },
}

const chats = Array.from({ length: 12 }, (_, index) => 401 + index)
const group = -1900
const ann = { id: 1, name: 'Ann' }
const bob = { id: 2, name: 'Bob' }

let stage: BridgeStage
let chat = 400

beforeAll(async () => {
  stage = await startStage({ scripts, ...crowdIn(chats, [group]) })
  await stage.start()
})
beforeEach(() => {
  stage.errors.length = 0
})
afterAll(async () => await stage.close())

/** Sends a text and waits for the bot's next message with these words. */
async function ask(sent: string, words: string, id: number, from?: typeof ann): Promise<string> {
  const before = stage.telegram.screen(id).length
  stage.telegram.say(id, sent, from && { from })
  return await stage.seen(id, (screen) => {
    return screen.slice(before).find((message) => message.from === 'bot' && message.text.includes(words))?.text
  })
}

/** Prompts, and waits until the run is over: the answer is shown a moment before. */
async function prompted(sent: string, words: string, id: number, from = ann): Promise<void> {
  await ask(sent, words, id, from)
  while (!(await ask('/status', '·', id, from)).includes('Complete')) {}
}

async function sessionOf(id: number): Promise<string> {
  return /ses_\w+/.exec(await ask('/current', 'ses_', id))?.[0] ?? ''
}

/** The same in the next private chat of Ann. */
function inNextChat() {
  chat += 1
  const id = chat
  return {
    chat: id,
    ask: async (sent: string, words: string) => await ask(sent, words, id),
    prompted: async (sent: string, words: string) => await prompted(sent, words, id),
    sessionOf: async () => await sessionOf(id),
  }
}

interface Stored {
  readonly info: { readonly role: string; readonly agent?: string; readonly model?: object }
  readonly parts: readonly { readonly text?: string }[]
}

async function storedIn(sessionID: string): Promise<readonly Stored[]> {
  const address = new URL(`/session/${sessionID}/message`, stage.server.url)
  address.searchParams.set('directory', stage.server.directory)
  return (await (await fetch(address)).json()) as readonly Stored[]
}

async function promptsIn(sessionID: string): Promise<readonly string[]> {
  const messages = await storedIn(sessionID)
  return messages.flatMap(({ info, parts }) => (info.role === 'user' ? parts.flatMap((part) => part.text ?? []) : []))
}

describe('in a private chat', { concurrent: true }, () => {
  test('/fork continues a copy, and leaves the session as it was', async ({ expect }) => {
    const { ask, sessionOf } = inNextChat()
    await ask('Hi [scenario:hello]', 'Hello to you.')
    const before = await sessionOf()
    await ask('/fork', 'This chat now continues the copy')
    const after = await sessionOf()
    expect(after).not.toBe(before)
    await ask('More [scenario:again]', 'Again, hello.')
    expect(await promptsIn(before)).toEqual(['Hi [scenario:hello]'])
    expect(await promptsIn(after)).toEqual(['Hi [scenario:hello]', 'More [scenario:again]'])
  })

  test('/model and /agent choose who answers, until they are reset', async ({ expect }) => {
    const { ask, prompted, sessionOf } = inNextChat()
    const models = await ask('/model', 'Model: the default')
    const [, model = ''] = /^- (\S+\/\S+)$/m.exec(models) ?? /• (\S+\/\S+)/.exec(models) ?? []
    expect(model).not.toBe('')
    await ask(`/model ${model}`, 'The next prompts go to')
    await ask('/model nobody/nothing', 'is not a model of the server')
    expect(await ask('/agent', 'Agent: the default')).toContain('plan')
    await ask('/AGENT Plan', 'The next prompts go to plan')
    await prompted('Hi [scenario:hello]', 'Hello to you.')
    const sessionID = await sessionOf()
    const prompts = async () => (await storedIn(sessionID)).flatMap(({ info }) => (info.role === 'user' ? [info] : []))
    const [providerID, modelID] = model.split('/')
    expect(await prompts()).toEqual([expect.objectContaining({ agent: 'plan', model: { providerID, modelID } })])
    const current = await ask('/current', 'ses_')
    expect(current).toContain('Agent: plan')
    expect(current).toContain(`Model: ${model}`)
    await ask('/agent default', 'The next prompts go to the default')
    await ask('/model default', 'The next prompts go to the default')
    expect(await ask('/current', 'ses_')).toContain('Agent: the default')
    await prompted('More [scenario:again]', 'Again, hello.')
    expect((await prompts())[1]?.agent).toBe('build')
  })

  test('/verbose shows the output of tools until it is turned off', async ({ expect }) => {
    const { chat, ask, prompted } = inNextChat()
    const outputs = async (): Promise<readonly string[]> => {
      const before = stage.said(chat).length
      await prompted('Say [scenario:tool]', 'Said.')
      return stage
        .said(chat)
        .slice(before)
        .filter((said) => said.includes('SUM'))
    }
    expect(await outputs()).toEqual([])
    await ask('/verbose', 'with their output')
    expect(await outputs()).toEqual([expect.stringContaining('echo sum')])
    await ask('/verbose', 'briefly')
    await ask('/verbose on', 'with their output')
    await ask('/verbose off', 'briefly')
    expect(await outputs()).toEqual([])
  })

  test('/switch and the list’s buttons continue an earlier session', async ({ expect }) => {
    const { chat, ask, sessionOf } = inNextChat()
    await ask('Hi [scenario:hello]', 'Hello to you.')
    const first = await sessionOf()
    await ask('/new Second', 'starts the session “Second”')
    await ask('More [scenario:again]', 'Again, hello.')
    const second = await sessionOf()
    await ask(`/switch ${first}`, 'This chat now continues')
    expect(await sessionOf()).toBe(first)
    stage.telegram.say(chat, '/sessions')
    const list = await stage.seen(chat, (screen) => screen.find((message) => message.text.startsWith('Sessions')))
    expect(list.text).toContain('Second')
    const line = /^(\d+)\. Second/m.exec(list.text)?.[1] ?? ''
    stage.telegram.press(chat, list.messageId, line)
    await stage.seen(chat, (screen) => screen.some((message) => message.text.includes('continues “Second”')))
    expect(await sessionOf()).toBe(second)
    await ask('/switch ses_ofanother', 'is not a session of this chat')
  })

  test('a reply to a note continues the session that the note was about', async ({ expect }) => {
    const { chat, ask, prompted, sessionOf } = inNextChat()
    await prompted('Hi [scenario:hello]', 'Hello to you.')
    const first = await sessionOf()
    stage.telegram.say(chat, '/compact')
    const note = await stage.seen(chat, (screen) => screen.find((message) => message.text.includes('being compacted')))
    await ask('/new', 'starts a new session')
    await ask('Other [scenario:again]', 'Again, hello.')
    expect(await sessionOf()).not.toBe(first)
    const before = stage.telegram.screen(chat).length
    stage.telegram.say(chat, 'Back [scenario:again]', { replyTo: note.messageId })
    await stage.seen(chat, (screen) => screen.slice(before).some((message) => message.text.includes('Again, hello.')))
    expect((await promptsIn(first)).at(-1)).toBe('Back [scenario:again]')
  })
})

test('/undo takes back the last prompt, and is for its author', async () => {
  await prompted('@fake_bot hi [scenario:hello]', 'Hello to you.', group)
  await ask('/undo', 'requires the right', group, bob)
  await ask('/undo', 'were undone', group, ann)
  await ask('@fake_bot more [scenario:again]', 'Again, hello.', group, bob)
  expect(await promptsIn(await sessionOf(group))).toEqual(['more [scenario:again]'])
})

test('/undo again does not take back what another person’s prompt did', async () => {
  await prompted('@fake_bot hi [scenario:hello]', 'Hello to you.', group, ann)
  await prompted('@fake_bot more [scenario:again]', 'Again, hello.', group, bob)
  await ask('/undo', 'were undone', group, bob)
  await ask('/undo', 'requires the right', group, bob)
  await ask('/compact', 'requires the right', group, bob)
})

test('/undo works for the author long after the run left the list', async () => {
  await prompted('@fake_bot hi [scenario:hello]', 'Hello to you.', group, bob)
  await stage.stop()
  await stage.start({ aheadMs: 7_200_000, router: { backlogAfterMs: 86_400_000 } })
  await ask('/undo', 'were undone', group, bob)
  await stage.stop()
  await stage.start()
})

test('/compact replaces the history by a summary', async () => {
  const { ask, prompted } = inNextChat()
  await prompted('Hi [scenario:hello]', 'Hello to you.')
  await ask('/compact', 'being compacted')
  await stage.stored('"type":"compaction"')
  await expect.poll(stage.isAtRest).toBe(true)
  await ask('More [scenario:again]', 'Again, hello.')
  expect(stage.errors).toEqual([])
})

test('a run that changed files ends with their number, and its button and /diff send the session’s diff', async () => {
  const { chat, ask, prompted, sessionOf } = inNextChat()
  await prompted('Go [scenario:write]', 'Both are there.')
  const line = await stage.seen(chat, (screen) => screen.find(({ text }) => text.includes('2 files · +3 −0')))
  expect(line.buttons.flat().map(({ text }) => text)).toEqual(['Diff'])
  expect(await ask('/diff x', 'not a file')).toContain('src/new file.txt +2 −0')
  expect(await ask('/diff new file.txt', '+one')).toContain('+two')
  const sessionID = await sessionOf()
  const documents = async (count: number) =>
    await stage.seen(chat, (screen) => {
      const found = screen.flatMap(({ document, text }) => (document ? [{ ...document, text }] : []))
      return found.length === count ? found : undefined
    })
  stage.telegram.say(chat, '/diff')
  await documents(1)
  // A later run in another session of the chat does not change what the button is about.
  await ask('/new', 'starts a new session')
  await stage.stop()
  await stage.start()
  await stage.telegram.press(chat, line.messageId, 'Diff').settled
  for (const { name, bytes, text } of await documents(2)) {
    expect([name, text]).toEqual([`session-${sessionID}.diff`, expect.stringContaining('2 files · +3 −0: ')])
    expect(new TextDecoder().decode(bytes)).toContain('+++ b/src/new file.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n')
  }
  await ask('/diff', 'There is no session here yet.')
})
