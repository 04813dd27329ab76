import { type AnswerPiece, callTool, holdAnswer, type Scripts, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const chats = Array.from({ length: 10 }, (_, index) => 901 + index)

/** Gives a task to a sub-agent that goes on after the turn. */
function background(script: string): AnswerPiece {
  const prompt = `Do your part. [scenario:${script}]`
  const input = { description: 'Work on your own', prompt, subagent_type: 'general', background: true }
  return callTool('task', input)
}

const scripts: Scripts = {
  hello: { steps: [[sayText('Hello to you.')]] },
  ...Object.fromEntries(
    chats.flatMap((chat) => [
      [`work${chat}`, { steps: [[background(`child${chat}`)], [sayText('It works in the background now.')]] }],
      [`child${chat}`, { steps: [[holdAnswer(`child${chat}`), sayText(`It is done. [scenario:after${chat}]`)]] }],
      [
        `after${chat}`,
        { steps: [[sayText('The background work'), holdAnswer(`after${chat}`), sayText(` is done, I hear ${chat}.`)]] },
      ],
      [`ask${chat}`, { steps: [[background(`asking${chat}`)], [sayText('It works in the background now.')]] }],
      [
        `asking${chat}`,
        {
          steps: [
            [
              holdAnswer(`child${chat}`),
              callTool('bash', { command: `touch allowed${chat}.txt`, description: 'Touch' }),
            ],
            [sayText(`It is done. [scenario:after${chat}]`)],
          ],
        },
      ],
    ]),
  ),
}

let stage: BridgeStage
let chat = 900

beforeAll(async () => {
  stage = await startStage({
    scripts,
    env: { OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS: 'true' },
    people: { ann: { ids: chats.map((id) => `tg:${id}`), may: ['prompt', 'approve'] } },
    chats: chats.map((id) => ({ id, type: 'private', title: 'Ann' }) as const),
  })
})
beforeEach(() => {
  chat += 1
  stage.errors.length = 0
})
afterEach(async () => await stage.stop())
afterAll(async () => await stage.close())

const answered = async (words: string) => await stage.answered(chat, words)

/** Its background work ends while there is no bridge. */
async function endWhileStopped(): Promise<void> {
  await stage.start()
  stage.telegram.say(chat, `Go [scenario:work${chat}]`)
  await answered('It works in the background now.')
  await stage.statusIs(chat, '✅')
  await stage.stop()
  stage.model.release(`child${chat}`)
  stage.model.release(`after${chat}`)
  await stage.stored(`is done, I hear ${chat}.`)
}

test('what the agent says when its background work is done comes to the chat that began it, once', async () => {
  await stage.start()
  stage.telegram.say(chat, `Go [scenario:work${chat}]`)
  await answered('It works in the background now.')
  stage.model.release(`child${chat}`)
  stage.model.release(`after${chat}`)
  const { messageId } = await answered(`is done, I hear ${chat}.`)
  await stage.statusIs(chat, '✅')
  expect(stage.said(chat).filter((said) => said.includes(`is done, I hear ${chat}.`))).toHaveLength(1)
  stage.telegram.say(chat, '/new')
  await answered('starts a new session')
  stage.telegram.say(chat, 'Hi [scenario:hello]', { replyTo: messageId })
  await answered('Hello to you.')
  stage.telegram.say(chat, '/list')
  const list = (await answered('Recent executions')).text
  expect(list.match(/✅ Complete/g)).toHaveLength(3)
  expect(stage.errors).toEqual([])
})

test('a permission that background work asks for reaches the chat, and is allowed there', async () => {
  await stage.start()
  stage.telegram.say(chat, `Go [scenario:ask${chat}]`)
  await answered('It works in the background now.')
  await stage.statusIs(chat, '✅')
  stage.model.release(`child${chat}`)
  stage.model.release(`after${chat}`)
  const asked = await stage.seen(chat, (screen) =>
    screen.find(({ buttons }) => buttons.flat().some(({ text: label }) => label === 'Allow once')),
  )
  expect(asked.text).toContain(`touch allowed${chat}.txt`)
  stage.telegram.press(chat, asked.messageId, 'Allow once')
  await answered(`is done, I hear ${chat}.`)
  expect(stage.errors).toEqual([])
})

test('what ended while the bridge was down is delivered after its start, once', async () => {
  await endWhileStopped()
  await stage.start()
  await answered(`is done, I hear ${chat}.`)
  await stage.statusIs(chat, '✅')
  await stage.stop()
  await stage.start()
  await stage.statusIs(chat, '✅')
  expect(stage.said(chat).filter((said) => said.includes(`is done, I hear ${chat}.`))).toHaveLength(1)
  expect(stage.errors).toEqual([])
})

test('what ends long after its run left the list is delivered after a restart, too', async () => {
  await endWhileStopped()
  await stage.start({ aheadMs: 7_200_000 })
  await answered(`is done, I hear ${chat}.`)
  expect(stage.errors).toEqual([])
})

test('what was shown in part is finished in the same message after a restart', async () => {
  await stage.start()
  stage.telegram.say(chat, `Go [scenario:work${chat}]`)
  await answered('It works in the background now.')
  stage.model.release(`child${chat}`)
  await answered('The background work')
  await stage.stop()
  await stage.start()
  stage.model.release(`after${chat}`)
  await answered(`is done, I hear ${chat}.`)
  await stage.statusIs(chat, '✅')
  expect(stage.said(chat).filter((said) => said.includes('The background work'))).toHaveLength(1)
})

test('/stop ends what goes on by itself, and a prompt waits for its end', async () => {
  await stage.start()
  stage.telegram.say(chat, `Go [scenario:work${chat}]`)
  await answered('It works in the background now.')
  stage.model.release(`child${chat}`)
  await answered('The background work')
  stage.telegram.say(chat, 'Hi [scenario:hello]')
  await answered('Queued, number 1.')
  stage.telegram.say(chat, '/stop')
  await answered('Stopped.')
  await answered('Hello to you.')
  expect(stage.said(chat).join()).not.toContain(`is done, I hear ${chat}.`)
})

test('a permission of background work that is asked for after a restart is answered, and one in the chat by its old button', async () => {
  await stage.start()
  stage.telegram.say(chat, `Go [scenario:ask${chat}]`)
  await answered('It works in the background now.')
  await stage.statusIs(chat, '✅')
  await stage.stop()
  await stage.start()
  stage.model.release(`child${chat}`)
  stage.model.release(`after${chat}`)
  const asks = (screen: readonly { readonly buttons: readonly (readonly { readonly text: string }[])[] }[]) =>
    screen.filter(({ buttons }) => buttons.flat().some(({ text: label }) => label === 'Allow once'))
  await stage.seen(chat, (screen) => asks(screen).length === 1)
  await stage.stop()
  await stage.start()
  const [asked] = await stage.seen(chat, (screen) =>
    asks(screen).length > 0 ? screen.filter((one) => asks([one]).length > 0) : false,
  )
  // Refused as long as the bot does not know that all of it is on the screen.
  const press = async (): Promise<number> => {
    const shown = asks(stage.telegram.screen(chat)).length
    if (shown > 0) await stage.telegram.press(chat, asked?.messageId ?? 0, 'Allow once').settled
    return shown
  }
  await expect.poll(press).toBe(0)
  await answered(`is done, I hear ${chat}.`)
  expect(stage.said(chat).filter((said) => said.includes('Allow this?'))).toHaveLength(1)
})

test('what goes on by itself without progress ends after the time of the config', async () => {
  await stage.start({ router: { timeoutMs: 5000 } })
  stage.telegram.say(chat, `Go [scenario:work${chat}]`)
  await answered('It works in the background now.')
  stage.model.release(`child${chat}`)
  await answered('The background work')
  await stage.statusIs(chat, '❌')
  expect(stage.said(chat).at(-1)).toContain('Timed out')
  expect(stage.said(chat).join()).not.toContain('is done, I hear')
})

test('what the agent says while a prompt waits for its file is shown, and so is the answer, each once', async () => {
  await stage.start()
  stage.telegram.say(chat, `Go [scenario:work${chat}]`)
  await answered('It works in the background now.')
  await stage.statusIs(chat, '✅')
  stage.telegram.inject({ type: 'delay', delayMs: 5000, method: 'getFile' })
  const file = { fileId: 'notes', name: 'notes.txt', bytes: new TextEncoder().encode('Notes.') }
  stage.telegram.say(chat, 'Read this [scenario:hello]', { file })
  await stage.statusIs(chat, '⏳')
  stage.model.release(`child${chat}`)
  stage.model.release(`after${chat}`)
  await Promise.all([answered(`is done, I hear ${chat}.`), answered('Hello to you.')])
  await stage.statusIs(chat, '✅')
  const said = stage.said(chat).join()
  for (const words of [`is done, I hear ${chat}.`, 'Hello to you.']) expect(said.split(words)).toHaveLength(2)
  expect(stage.errors).toEqual([])
})

test('a command that a person runs in the session elsewhere is not shown as the agent’s work', async () => {
  await stage.start()
  stage.telegram.say(chat, 'Hi [scenario:hello]')
  await answered('Hello to you.')
  await stage.statusIs(chat, '✅')
  const ask = async (path: string, init?: RequestInit): Promise<ReturnType<typeof JSON.parse>> =>
    await (await fetch(`${stage.server.url}${path}?directory=${stage.server.directory}`, init)).json()
  const [{ id }] = await ask('/session')
  const body = JSON.stringify({ agent: 'build', command: 'echo from elsewhere' })
  await ask(`/session/${id}/shell`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  await stage.stored('from elsewhere')
  const before = stage.said(chat).length
  stage.telegram.say(chat, 'Hi again [scenario:hello]')
  await expect.poll(() => stage.said(chat).slice(before)).toContain('Hello to you.')
  await stage.statusIs(chat, '✅')
  expect(stage.said(chat).join()).not.toContain('elsewhere')
  stage.telegram.say(chat, '/list')
  expect((await answered('Recent executions')).text.match(/✅ Complete/g)).toHaveLength(2)
})
