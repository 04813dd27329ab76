import { type Client, connect, type PermissionAsk, type Reply, toolsOf } from '@reply/core'
import { type AnswerPiece, callTool, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const [chat, home] = [1, 1000]

/** A call that starts a sub-agent, which plays a script. */
const task = (description: string, script: string): AnswerPiece =>
  callTool('task', { description, prompt: `Do your part. [scenario:${script}]`, subagent_type: 'general' })

let stage: BridgeStage
/** The program at the desk. */
let desk: Client
/** What the desk was told of. */
const seen: string[] = []

beforeAll(async () => {
  stage = await startStage({
    scripts: {
      hello: { steps: [[sayText('Hello to you.')]] },
      reviewed: {
        steps: [[callTool('bash', { command: 'touch review.txt', description: 'Touch' })], [sayText('All is well.')]],
      },
      deep: { steps: [[task('Go deep', 'child')], [sayText('The deep is explored.')]] },
      child: { steps: [[task('Go deeper', 'grandchild')], [sayText('Deeper was fine.')]] },
      grandchild: {
        steps: [
          [callTool('bash', { command: 'touch deep.txt', description: 'Touch' })],
          [sayText('Nothing lives here.')],
        ],
      },
    },
    extra: () => ({
      agent: { general: { permission: { task: 'allow' } } },
      subagent_depth: 2,
    }),
    commands: {
      check: { template: 'Review. [scenario:reviewed]', description: 'Review', agent: 'general', subtask: true },
    },
    chats: [chat, home].map((id) => ({ id, type: 'private', title: 'Ann' }) as const),
  })
  const { url, directory } = stage.server
  desk = connect({ url, directory, onError: ({ message }) => seen.push(message) })
  for (const type of ['replyStarted', 'phaseChanged', 'permissionAsked', 'permissionReplied', 'replySettled'] as const)
    desk.on(type, ({ reply }) => void seen.push(`${type} ${reply.phase} in ${reply.sessionID}`))
  await desk.ready
  await stage.start({ server: { homeChat: `tg:${home}` } })
})
afterEach(() => {
  stage.errors.length = 0
  seen.length = 0
})
afterAll(async () => {
  await desk.close()
  await stage.close()
})

/** Rejects with what hangs, and what the server and the desk know, before the limit of a test ends it without a word. */
async function unlessHung<T>(what: string, waited: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const hung = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const { url, directory } = stage.server
      fetch(`${url}/permission?directory=${encodeURIComponent(directory)}`)
        .then(async (response) => await response.text())
        .catch(String)
        .then((waiting) => {
          const known = `The server waits for ${waiting}. The desk saw: ${seen.join(', ')}.`
          reject(new Error(`${what} hangs. ${known} Of the bridge: ${stage.errors.join(', ')}`))
        })
    }, 50_000)
  })
  return await Promise.race([waited, hung]).finally(() => clearTimeout(timer))
}

/** Resolves with the next request that the desk sees. */
async function nextAsk(): Promise<PermissionAsk> {
  const asked = new Promise<PermissionAsk>((resolve) => {
    const stop = desk.on('permissionAsked', ({ ask }) => {
      stop()
      resolve(ask)
    })
  })
  return await unlessHung('The request', asked)
}

/** Lets the desk prompt a session, and resolves with the request of the sub-agent of its sub-agent. */
async function askDeep(sessionID?: string) {
  const asking = nextAsk()
  const stream = desk.prompt({ text: 'Go [scenario:deep]', ...(sessionID !== undefined && { sessionID }) })
  return { stream, ask: await asking }
}

const requests = (where: number) =>
  stage.telegram.screen(where).filter(({ from, text }) => from === 'bot' && text.includes('touch deep.txt'))

/** How the calls of a reply and of all its sub-agents ended, the outer ones first. */
const ends = (reply: Reply): readonly string[] => [
  ...toolsOf(reply).map(({ tool, state }) => `${tool} ${state.status}`),
  ...reply.children.flatMap((child) => ends(child.reply)),
]

test("a request of a sub-agent's sub-agent of the desk reaches the chat of its session, and is answered there once", async () => {
  stage.telegram.say(chat, 'Hi [scenario:hello]')
  await stage.answered(chat, 'Hello to you.')
  await stage.statusIs(chat, '✅')
  const sessionID = await stage.sessionOf(chat)
  const { stream, ask } = await askDeep(sessionID)
  expect(ask.path).toHaveLength(3)
  await stage.allow(chat)
  const reply = await unlessHung('The reply', stream.result)
  expect([reply.outcome, ends(reply)]).toEqual(['completed', ['task completed', 'task completed', 'bash completed']])
  await stage.seen(chat, (screen) => screen.every(({ buttons }) => buttons.length === 0))
  expect([requests(chat).length, requests(home).length]).toEqual([1, 0])
  expect(requests(chat)[0]?.text).toContain('Allow once · Ann')
  expect(stage.errors).toEqual([])
})

test('one in a session of no chat reaches the home chat, and is closed there once it is answered at the desk', async () => {
  const before = requests(chat).length
  const { stream, ask } = await askDeep()
  const { messageId } = await stage.seen(home, (screen) => screen.find(({ buttons }) => buttons.length > 0))
  await desk.answer(ask, 'once')
  expect((await unlessHung('The reply', stream.result)).outcome).toBe('completed')
  await stage.seen(home, (screen) => screen.find((one) => one.messageId === messageId && one.buttons.length === 0))
  expect([requests(chat).length - before, requests(home).length]).toEqual([0, 1])
  expect(stage.errors).toEqual([])
})

test('a command at the desk that starts a sub-agent is the desk’s: with /follow none, the chat shows nothing of it', async () => {
  stage.telegram.say(chat, '/follow none')
  await stage.answered(chat, 'shows nothing of runs')
  const sessionID = await stage.sessionOf(chat)
  const asking = nextAsk()
  const stream = desk.command({ command: 'check', sessionID })
  const ask = await asking
  // Until the bridge has handled what the desk did before.
  stage.telegram.say(chat, '/follow')
  await expect.poll(() => stage.said(chat).filter((text) => text.includes('shows nothing of runs')).length).toBe(2)
  await desk.answer(ask, 'once')
  const reply = await unlessHung('The reply', stream.result)
  expect([reply.outcome, ends(reply)]).toEqual(['completed', ['task completed', 'bash completed']])
  await expect.poll(stage.isAtRest).toBe(true)
  expect(stage.said(chat).join()).not.toContain('review')
  expect(stage.errors).toEqual([])
})
